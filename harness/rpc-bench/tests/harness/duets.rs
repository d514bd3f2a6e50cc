//! Duets at a rate: both servers of a pair get as many requests, and what one needs more for each is seen.

use std::fs;

use serde_json::Value;

use crate::bench::{Bench, entry};

/// Requests a second of the duets in `setups/duets`.
const RATE: u64 = 100;

/// One server under three names. Under one of them it keeps its thread busy for a millisecond in each request.
fn with_a_planted_difference() -> Option<Bench> {
    let bench = Bench::of("duets", &[])?;
    let walk = ["--walk-ns-per-slot", "20000"];
    let servers = [("plain", &[][..]), ("same", &[]), ("slow", &walk)];
    let entries = servers.map(|(name, flags)| entry(name, &bench.path("server-actix"), flags));
    bench.write("servers.toml", &entries.concat());
    bench.add_workload("getBlocks");
    Some(bench)
}

#[test]
fn a_planted_difference_is_seen_at_a_rate_and_none_of_a_server_with_itself() {
    let Some(bench) = with_a_planted_difference() else { return };
    bench.succeeds(&["run", "tiny"]);
    let at_rate: Vec<Value> = bench.observations_in("duets");
    let at_rate: Vec<&Value> = at_rate.iter().filter(|trial| trial["rate"] == RATE).collect();
    assert_eq!(at_rate.len(), 12, "three blocks of two pairs");
    for trial in at_rate {
        let open = &trial["outcome"]["load"]["open"];
        assert_eq!((&trial["tool"], &open["requested_rate"]), (&"rpc-load".into(), &(RATE as f64).into()));
    }
    let summary: Value =
        serde_json::from_slice(&fs::read(bench.folder().join("duets/summary.json")).unwrap()).unwrap();
    let report = bench.report();
    let ratio = |server: &str| {
        let is_it = |pair: &&Value| pair["server"] == server && pair["rate"] == RATE;
        let pairs = summary["comparisons"].as_array().unwrap();
        pairs.iter().find(is_it).unwrap()["findings"]["cpu_us_per_request"]["ratio"]["value"]
            .as_f64()
            .unwrap()
    };
    let (slow, same) = (ratio("slow"), ratio("same"));
    assert!(slow > 1.3 && (1.0 / 1.3..1.3).contains(&same), "{slow} and {same}: {report}");
    // The label is the load at which it was measured.
    let row = report
        .lines()
        .find(|line| line.contains(&format!("getBlocks at {RATE}/s")) && line.contains("slow /"));
    let shown = format!(" {slow:.2}");
    assert!(row.is_some_and(|row| row.contains(&shown)), "{shown}: {report}");
}
