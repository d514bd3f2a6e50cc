//! A campaign with users in stages in small, on real processes and the real k6: both transports of actix.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use bench_core::load::LoadTool;
use bench_core::load::toolchain::Tool;

use crate::bench::{Bench, program, stderr};

/// `None`, reported, where k6 is not built: that takes minutes.
pub(crate) fn small() -> Option<Bench> {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-scripts/tools");
    let Some(k6) = Tool::find_built(LoadTool::K6, &tools).unwrap() else {
        eprintln!("SKIPPED: k6 is not built; `just tools k6` builds it");
        return None;
    };
    let bench = Bench::of("stages", &[])?;
    symlink(fs::canonicalize(k6.path).unwrap(), bench.path("k6")).unwrap();
    bench.replace("servers.toml", "metrics = \"/metrics\"", "metrics = \"/metrics\", ws = \"/ws\"");
    Some(bench)
}

/// The names of what tools wrote.
fn tool_output(bench: &Bench) -> Vec<String> {
    let entries = fs::read_dir(bench.folder().join("tool-output")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn users_come_and_go_over_both_transports() {
    let Some(bench) = small() else { return };
    let output = bench.command(&["run", "small"]).env("K6", bench.path("k6")).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    bench.nothing_is_left_running();
    let observations = bench.observations();
    assert_eq!(observations.len(), 2);
    for observation in &observations {
        let outcome = &observation["outcome"];
        assert_eq!(outcome["kind"], "completed", "{observation}");
        let load = &outcome["load"];
        assert_eq!(load["failed"], serde_json::json!({}), "{load}");
        // 3 s with 8 users at most, each of whom sends at once and then each second.
        let succeeded = load["succeeded"].as_u64().unwrap();
        assert!((9..=24).contains(&succeeded), "{load}");
        let counted = outcome["server_requests"].as_u64().unwrap();
        assert!((succeeded..=succeeded + 8).contains(&counted), "{outcome}");
        let staged = &load["staged"];
        assert!(staged["connect_us"]["p50"].as_f64().unwrap() > 0.0, "{staged}");
        let seconds = staged["seconds"].as_array().unwrap();
        let sum = |field: &str| seconds.iter().filter_map(|second| second[field].as_u64()).sum::<u64>();
        assert_eq!((seconds.len(), sum("requests"), sum("failed")), (3, succeeded, 0), "{staged}");
        assert!(sum("users") > 0, "{staged}");
    }
    let written = tool_output(&bench);
    for ending in [".k6.json", ".k6.html"] {
        assert_eq!(written.iter().filter(|name| name.ends_with(ending)).count(), 2, "{written:?}");
    }
    assert!(written.contains(&"k6.js".to_owned()), "{written:?}");
    assert!(
        !written.iter().any(|name| name.ends_with(".requests") || name.ends_with(".answered")),
        "{written:?}"
    );

    let report = bench.report_has(&[
        "## Users in stages",
        "| over HTTP ",
        "| over WebSocket ",
        "## One transport over the other",
    ]);
    let chart = fs::read_to_string(bench.folder().join("resources.svg")).unwrap();
    assert!(chart.contains("open connections") && chart.contains("p99 latency (thin: median)"));
    bench.succeeds(&["check"]);

    let run = bench.folder();
    let run = run.to_str().unwrap();
    bench.succeeds(&["pack", run]);
    bench.succeeds(&["report", run]);
    let packed = bench.report();
    let (answer, _) = packed.split_once("## Charts").unwrap();
    assert!(answer.contains("## One transport over the other"), "{packed}");
    assert!(report.starts_with(answer), "a packed run has the same answer: {packed}");
    bench.packs();
}

/// A service of JSON-RPC 1.x has an error of null next to each result.
#[test]
fn an_error_of_null_is_none_to_users() {
    let Some(bench) = small() else { return };
    bench.set_up("null", &[("PROGRAM", program("examples/planted").to_str().unwrap())]);
    bench.replace("campaigns/small.toml", "[\"http\", \"websocket\"]", "[\"http\"]");
    bench.replace("campaigns/small.toml", "[\"actix\"]", "[\"old\"]");
    let output = bench.command(&["run", "small"]).env("K6", bench.path("k6")).output().unwrap();
    let observations = bench.observations();
    assert!(output.status.success(), "{}{observations:?}", stderr(&output));
    let load = &observations[0]["outcome"]["load"];
    assert_eq!(load["failed"], serde_json::json!({}), "{load}");
    // As many as 8 users send in 3 s: one that stops at an answer begins again at once, without a pause.
    assert!((9..=24).contains(&load["succeeded"].as_u64().unwrap()), "{load}");
}
