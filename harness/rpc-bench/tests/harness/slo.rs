//! A search for a rate in small, on real processes: a server that can answer no more than 500 requests a second, since
//! each one holds its only thread for 2 ms. A search that was stopped by Ctrl-C goes on where it was.

use std::fs;

use serde_json::Value;

use crate::bench::{Bench, ENVIRONMENT, stderr};

/// What the server can answer at most, in requests a second.
const CAPACITY: u64 = 500;

const CAMPAIGN: &str = "why = \"a test\"\nservers = [\"faulty\", \"control\"]\nceiling = \"control\"\nworkloads = \
    [\"getBalance\"]\nconnections = []\nseed = 1\n\
    warmup_ms = 150\nwindow_ms = 500\ntimeout_ms = 3000\n\
    [search]\nfrom = 200\nmost = 3200\nwidth = \"30%\"\nconfirmations = 1\nwindow_ms = 1000\nmost_trials = 25\n\
    [search.along.rate]\np99_ms = 500\nshortfall = \"50%\"\ntool = \"vegeta\"\nconnections = 10\nshort_window_ms = 500\n";

fn small() -> Option<Bench> {
    let bench = Bench::new(1)?;
    if !bench.link_vegeta() {
        return None;
    }
    bench.write("campaigns/rate.toml", &format!("{CAMPAIGN}{ENVIRONMENT}"));
    bench.add_faulty(&["--threads", "1", "--sleep-us", "2000"]);
    Some(bench)
}

#[test]
#[ignore = "takes minutes on a busy machine: just test-long"]
fn a_server_of_known_capacity_is_never_said_to_sustain_more_and_a_stopped_search_goes_on() {
    let Some(bench) = small() else { return };
    let mut harness = bench.start(&["run", "rate"]);
    harness.wait_for_observations(&bench, "search", 2);
    harness.signal(libc::SIGINT);
    assert_eq!(harness.exit_code(), Some(130));
    bench.nothing_is_left_running();
    let kept = bench.observations_in("search");
    let log = fs::read_to_string(bench.path("log")).unwrap();
    assert!(log.contains(&format!("{} trials are kept; resume the run with", kept.len())), "{log}");
    let run = bench.folder();
    let run = run.to_str().unwrap();
    assert!(bench.run(&["report", run]).status.success());
    assert!(bench.report().contains("**Incomplete: 0 searches have ended"), "{}", bench.report());
    assert!(!bench.run(&["check"]).status.success());

    let resumed = bench.run(&["run", "--resume", run]);
    assert!(resumed.status.success(), "{}", stderr(&resumed));
    bench.nothing_is_left_running();
    let all = bench.observations_in("search");
    assert_eq!(all[..kept.len()], kept, "nothing that was tried is lost");
    assert!(all.iter().all(|trial| trial["rate"].is_u64() && trial["tool"] == "vegeta"), "{all:?}");

    let text = fs::read_to_string(bench.folder().join("summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(summary["search"]["left"], 0, "{summary}");
    let search = &summary["search"]["searches"][0];
    let rate = |end: &str| search.pointer(&format!("/found/{end}/at")).and_then(Value::as_u64);
    // At twice the capacity half of the requests of a second wait half a second and more.
    assert!(rate("holds").is_none_or(|holds| holds < 2 * CAPACITY), "{search}");
    assert!(rate("fails").is_some_and(|fails| fails <= 4 * CAPACITY), "{search}");

    let report = bench.report();
    for needed in ["## Where it starts to fail", "](search.svg)", "### Why it fails there"] {
        assert!(report.contains(needed), "the report lacks {needed:?}:\n{report}");
    }
    let checked = bench.run(&["check"]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    let before = (report, text);
    assert!(bench.run(&["report", run]).status.success());
    let again = fs::read_to_string(bench.folder().join("summary.json")).unwrap();
    assert_eq!((bench.report(), again), before, "from the folder alone, the same again");
}
