//! What `just pressure` does in minutes, in seconds: fewer connections, shorter floods, memory read sooner. p99s are
//! compared by the best rounds alone, because the machine may be busy with other things.

use std::time::Instant;

use conformance::pressure::{Check, Plan, press};
use conformance::servers::{all, one_of_each_program};

/// One server at a time: two under pressure at once would slow each other.
#[test]
fn servers_hold_under_pressure() {
    let mut failed = Vec::new();
    for server in one_of_each_program(all()) {
        let start = Instant::now();
        let report = |check: &Check| println!("{} {} {:?}", server.name, check.name, start.elapsed());
        let checks = press(server, &Plan::SHORT, report);
        failed.extend(checks.into_iter().filter(|check| !check.passed()).map(|check| (&server.name, check)));
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
