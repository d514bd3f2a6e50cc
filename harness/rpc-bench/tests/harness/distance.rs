//! A campaign over a network that the harness makes, with the real server and the real load tool.

use serde_json::Value;

use crate::bench::{Bench, stderr};

/// What the tests delay packets by each way; a round trip takes twice as long at least.
const DELAY_MS: f64 = 3.0;

#[test]
fn a_trial_over_a_network_takes_a_round_trip_for_each_request() {
    let Some(bench) = Bench::new(1) else { return };
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: network namespaces need root");
        return;
    }
    let network = format!("[environment]\nnetwork = {{ delay_ms = {DELAY_MS} }}");
    bench.replace("campaigns/tiny.toml", "[environment]", &network);
    let output = bench.run(&["run", "tiny"]);
    let said = stderr(&output);
    if output.status.code() == Some(2) && said.contains("netem") {
        assert_eq!(said.lines().filter(|line| line.starts_with("rpc-bench: ")).count(), 1, "{said}");
        eprintln!("SKIPPED: {said}");
        return;
    }
    assert!(output.status.success(), "{said}");
    bench.nothing_is_left_running();
    assert_eq!(bench.outcomes(), ["completed", "completed"]);
    for observation in bench.observations() {
        check(&observation["outcome"]);
    }
    let report = bench.report();
    assert!(report.contains("are in network namespaces of their own"), "{report}");
    assert!(report.contains("## Rate by "), "{report}");
}

fn check(sample: &Value) {
    let number = |pointer: &str| sample.pointer(pointer).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let round_trip_us = 2e3 * DELAY_MS;
    for of in ["/link/round_trip_us", "/load/latency_us/p50", "/means/alone_us"] {
        assert!(number(of) >= round_trip_us, "{of}: {sample}");
    }
    // Three connections, each with one request in a round trip at most.
    let most = 3.0 * (number("/load/time_taken_s") * 1e6 / round_trip_us + 1.0);
    let succeeded = number("/load/succeeded");
    assert!(0.0 < succeeded && succeeded <= most, "{succeeded} of {most}");
    // The server's process is the harness's own, in whichever namespace it is.
    assert!(number("/server_cpu/user_s") + number("/server_cpu/system_s") > 0.0, "{sample}");
    assert!(number("/server_requests") >= succeeded, "its metrics are read over the network");
    assert!((3..=4).contains(&sample["established"].as_u64().unwrap()), "{sample}");
    // Both sides' connections are counted.
    assert!(number("/network/passive_opens") >= 3.0 && number("/network/active_opens") >= 3.0, "{sample}");
}
