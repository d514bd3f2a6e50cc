//! A short run of the fuzzer.

use std::io::Write;
use std::time::Duration;

use conformance::fuzz::run::{Plan, Subjects};
use conformance::servers::all;

/// The seed of the short run; a long one takes another by itself.
const SEED: u64 = 20_261_122;

#[test]
fn no_server_has_a_fault() {
    let subjects = Subjects::start(all());
    let time = Duration::from_secs(6);
    let outcome = subjects.run(Plan { seed: SEED, first: 0, cases: 6_000, time, workers: 4 });
    let (bodies, raw, websocket) = outcome.cases;
    let unsteady = outcome.unsteady;
    let counts = format!(
        "fuzz: seed {SEED}, {bodies} bodies, {raw} scripts, {websocket} conversations over WebSocket, {unsteady} unsteady"
    );
    // Shown even where the test runner hides what tests print.
    let _nobody_reads_it = writeln!(std::io::stderr(), "{counts}");
    assert!(bodies > 0 && raw > 0 && websocket > 0, "{counts}");
    let findings: Vec<&str> = outcome.findings.iter().map(|finding| finding.text.as_str()).collect();
    assert!(findings.is_empty(), "{counts}\n{}", findings.join("\n"));
}
