//! What `just pressure` does in minutes, in seconds: fewer connections, shorter floods, memory read sooner. p99s are
//! compared by the best rounds alone, for the machine may be busy with other things.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use conformance::pressure::{Check, Plan, press};
use conformance::servers::{ACTIX, AXUM, JSONRPSEE, LEGACY, Server};

/// One server at a time: two that are pressed at once would press each other.
fn hold(server: &Server) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let start = Instant::now();
    let checks = press(server, &Plan::SHORT, |check| println!("{} {:?}", check.name, start.elapsed()));
    let failed: Vec<&Check> = checks.iter().filter(|check| !check.passed()).collect();
    assert!(failed.is_empty(), "{}: {failed:#?}", server.name);
}

#[test]
fn legacy_holds_under_pressure() {
    hold(&LEGACY);
}

#[test]
fn jsonrpsee_holds_under_pressure() {
    hold(&JSONRPSEE);
}

#[test]
fn actix_holds_under_pressure() {
    hold(&ACTIX);
}

#[test]
fn axum_holds_under_pressure() {
    hold(&AXUM);
}
