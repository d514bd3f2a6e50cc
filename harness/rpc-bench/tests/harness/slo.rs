//! A search along a rate in small, on real processes: a server that can answer no more than 500 requests a second,
//! since each one holds its only thread for 2 ms. That a stopped search goes on is tested along connections.

use serde_json::Value;

use crate::bench::{Bench, stderr};

/// What the server can answer at most, in requests a second.
const CAPACITY: u64 = 500;

#[test]
#[ignore = "takes minutes on a busy machine: just test-long"]
fn a_server_of_known_capacity_is_never_said_to_sustain_more() {
    let Some(bench) = Bench::of("search", &[]) else { return };
    if !bench.link_vegeta() {
        return;
    }
    bench.add_faulty(&["--threads", "1", "--sleep-us", "2000"]);
    let output = bench.run(&["run", "rate"]);
    assert!(output.status.success(), "{}", stderr(&output));
    bench.nothing_is_left_running();
    let all = bench.observations_in("search");
    assert!(all.iter().all(|trial| trial["rate"].is_u64() && trial["tool"] == "vegeta"), "{all:?}");
    let summary = bench.summary();
    let search = &summary["search"]["searches"][0];
    let rate = |end: &str| search.pointer(&format!("/found/{end}/at")).and_then(Value::as_u64);
    // At twice the capacity half of the requests of a second wait half a second and more.
    assert!(rate("holds").is_none_or(|holds| holds < 2 * CAPACITY), "{search}");
    assert!(rate("fails").is_some_and(|fails| fails <= 4 * CAPACITY), "{search}");
    bench.report_has(&["## Where it starts to fail", "](search.svg)", "### Why it fails there"]);
    bench.succeeds(&["check"]);
}
