//! Do all servers answer well-formed requests as the contract says? Each test starts every server, a process of its
//! own, and uses a real socket. [`malformed`] and [`fuzz`] send what is not well-formed, [`clients`] what Solana's own clients send.
//!
//! What a method means is tested in `validator-state`, without a socket.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

mod ajj;
mod cases;
mod clients;
mod counters;
mod fuzz;
mod lifecycle;
mod malformed;
mod oracle;
mod pressure;
mod verdict;
mod websocket;

use std::panic::{AssertUnwindSafe, catch_unwind};

use conformance::servers::{self, Server, all};

/// Makes a test of each check, which every server must pass.
macro_rules! test_every_server {
    ($($name:ident: $check:path),* $(,)?) => {
        $(#[test] fn $name() { on_every_server($check); })*
    };
}

test_every_server! {
    keeps_the_table_of_cases: cases::hold,
    answers_as_the_recorded_node: oracle::replay,
    counts_what_it_answered: counters::count,
    keeps_the_table_of_cases_over_websocket: websocket::holds_cases,
    answers_as_the_recorded_node_over_websocket: websocket::replays,
    answers_malformed_calls_over_websocket_as_over_http: websocket::answers_malformed_calls,
    has_no_subscriptions_over_http: websocket::has_no_subscriptions_over_http,
    ends_with_idle_connections: lifecycle::ends_with_idle_connections,
    finishes_what_it_began: lifecycle::finishes_what_it_began,
    keeps_connections: lifecycle::keeps_connections,
    refuses_a_port_in_use: lifecycle::refuses_a_port_in_use,
    answers_on_every_thread: lifecycle::answers_on_every_thread,
    answers_as_shipped: lifecycle::answers_as_shipped,
}

/// Runs a check on one server after the other, also after one that failed.
fn on_every_server(check: fn(&Server)) {
    let fails = |server: &&Server| {
        let failed = catch_unwind(AssertUnwindSafe(|| check(server))).is_err();
        println!("{}: {}", server.name, if failed { "FAILED, see above" } else { "passed" });
        failed
    };
    let failed: Vec<&str> = all().iter().filter(fails).map(|server| server.name.as_str()).collect();
    assert!(failed.is_empty(), "these servers failed: {}", failed.join(", "));
}
