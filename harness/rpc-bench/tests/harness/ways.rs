//! Batches, mixes on one socket and held connections in small, on real processes and the real load generator.

use std::iter;
use std::process::Output;

use serde_json::Value;

use crate::bench::{Bench, stderr};

/// The campaigns of `setups/ways` over actix. `None` without a load tool.
fn small() -> Option<Bench> {
    let bench = Bench::of("ways", &[])?;
    bench.replace("servers.toml", "metrics = \"/metrics\"", "metrics = \"/metrics\", ws = \"/ws\"");
    Some(bench)
}

/// The observations of the campaign, which ran to its end. A busy machine may let no load tool send a rate: then again.
fn ran(bench: &Bench, campaign: &str) -> Vec<Value> {
    let run = || bench.run(&["run", campaign]);
    let was_too_busy = |output: &Output| stderr(output).contains("no load tool can send");
    let output = iter::repeat_with(run).take(3).find(|output| !was_too_busy(output));
    let output = output.expect("a rate that a load tool can send");
    assert!(output.status.success(), "{}", stderr(&output));
    bench.nothing_is_left_running();
    let observations = bench.observations();
    assert!(bench.outcomes().iter().all(|outcome| outcome == "completed"), "{observations:?}");
    observations
}

fn of<'a>(observations: &'a [Value], server: &str) -> &'a Value {
    let found = observations.iter().find(|observation| observation["server"] == server);
    &found.unwrap()["outcome"]
}

#[test]
fn a_request_has_a_connection_of_its_own_where_none_is_kept() {
    let Some(bench) = small() else { return };
    let observations = ran(&bench, "closing");
    let (closing, kept) = (of(&observations, "actix-keep-alive-false"), of(&observations, "actix"));
    let (answered, opened) =
        (closing["load"]["succeeded"].as_u64(), closing["network"]["passive_opens"].as_u64());
    assert!(answered > Some(10) && opened >= answered, "{closing}");
    assert_eq!(
        (closing["connecting"].is_null(), kept["connecting"]["held"].as_u64()),
        (true, Some(4)),
        "{kept}"
    );
    assert!(bench.report().contains("a connection for each request"), "{}", bench.report());
}

#[test]
fn the_calls_of_a_batch_are_those_that_the_server_counted() {
    let Some(bench) = small() else { return };
    let observations = ran(&bench, "batches");
    for server in ["actix-batch-10", "actix-batch-10-transport-websocket"] {
        let sample = of(&observations, server);
        let (messages, counted) =
            (sample["load"]["succeeded"].as_u64().unwrap(), sample["server_requests"].as_u64().unwrap());
        assert_eq!(sample["load"]["details"]["batch"], 10, "{sample}");
        assert!(messages > 0 && counted >= 10 * messages, "{messages} messages, {counted} calls");
    }
    assert!(of(&observations, "actix")["load"]["details"]["batch"].is_null());
    assert!(bench.report().contains("calls/s"), "{}", bench.report());
}

#[test]
fn a_mix_at_a_rate_has_the_latency_of_each_method() {
    let Some(bench) = small() else { return };
    let observations = ran(&bench, "mix");
    let mixes = observations.iter().filter(|observation| observation["workload"] == "mix");
    let mut seen = 0;
    for sample in mixes.map(|observation| &observation["outcome"]) {
        let methods = sample["load"]["details"]["methods"].as_array().unwrap();
        let names: Vec<&str> = methods.iter().map(|of| of["method"].as_str().unwrap()).collect();
        assert_eq!(names, ["getBalance", "getBlocks"]);
        let requests: u64 = methods.iter().map(|of| of["requests"].as_u64().unwrap()).sum();
        assert_eq!(requests, 100, "200 a second for half a second");
        assert!(methods[0]["requests"].as_u64() > methods[1]["requests"].as_u64());
        seen += 1;
    }
    assert_eq!(seen, 3, "the ceiling, too");
    let report = bench.report();
    assert!(
        report.contains("## What others do to getBalance")
            && report.contains("Latency is of getBalance alone"),
        "{report}"
    );
}

#[test]
fn connections_are_held_without_a_request() {
    let Some(bench) = small() else { return };
    let observations = ran(&bench, "held");
    assert_eq!(observations.len(), 6);
    for observation in &observations {
        let (sample, connections) = (&observation["outcome"], observation["connections"].as_u64().unwrap());
        assert_eq!(sample["established"].as_u64(), Some(connections), "{sample}");
        assert_eq!(
            (&sample["load"]["succeeded"], &sample["load"]["details"]["held"]),
            (&0.into(), &true.into())
        );
        assert_eq!(sample["server_requests"], 0, "{sample}");
        assert!(sample["load"]["details"]["connects"]["each_us"]["p99"].as_f64().unwrap() > 0.0);
    }
    let report = bench.report();
    assert!(
        report.contains("## Memory of connections that carry nothing") && !report.contains("requests/s"),
        "{report}"
    );
}
