//! What `just pressure` does in minutes, in seconds: fewer connections, shorter floods, memory read sooner. No speeds are compared, because
//! the machine may be busy with other things.

use std::thread;
use std::time::Instant;

use conformance::pressure::{Check, Plan, press};
use conformance::servers::{Server, all, one_of_each_program};

/// Servers that are pressed at the same time. Checks wait for half of their time; more at once would slow the end of a server, which may
/// take 5 s.
const AT_ONCE: usize = 2;

#[test]
#[ignore = "takes minutes on a busy machine: just test-long"]
fn servers_hold_under_pressure() {
    let servers = &one_of_each_program(all());
    let failed: Vec<String> = thread::scope(|scope| {
        let part =
            |first: usize| servers.iter().skip(first).step_by(AT_ONCE).copied().flat_map(failures).collect();
        let parts: Vec<_> = (0..AT_ONCE).map(|first| scope.spawn(move || part(first))).collect();
        let joined =
            parts.into_iter().map(|part| part.join().expect("a check that panics is one that fails"));
        joined.collect::<Vec<Vec<String>>>().concat()
    });
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// The checks that a server does not pass.
fn failures(server: &Server) -> Vec<String> {
    let start = Instant::now();
    let report = |check: &Check| println!("{} {} {:?}", server.name, check.name, start.elapsed());
    let checks = press(server, &Plan::SHORT, report);
    checks
        .iter()
        .filter(|check| !check.passed())
        .map(|check| format!("{}: {check:#?}", server.name))
        .collect()
}
