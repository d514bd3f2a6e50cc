//! A calibration in small, on real processes: sized, stopped by Ctrl-C, resumed, reported again.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::bench::{Bench, stderr, until};

/// Two blocks to size by and short windows; what it finds does not matter here.
fn small() -> Option<Bench> {
    let bench = Bench::new(1)?;
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-scripts/calibration.toml");
    fs::copy(shipped, bench.path("calibration.toml")).unwrap();
    for (from, to) in [
        ("connections = 25", "connections = 3"),
        ("sizing_blocks = 40", "sizing_blocks = 2"),
        // Other tests run on the same processors.
        ("accounts = 100000", "max_foreign_cpu = \"100%\"\nmax_steal = \"100%\"\naccounts = 50"),
        ("slots = 1500", "slots = 50"),
        ("connections = 125", "connections = 3"),
        ("handicaps = [\"10%\", \"30%\"]", "handicaps = [\"30%\"]"),
    ] {
        bench.replace("calibration.toml", from, to);
    }
    Some(bench)
}

#[test]
fn a_server_without_a_handicap_build_is_refused() {
    let Some(bench) = small() else { return };
    let refused = bench.run(&["calibrate"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    let said = stderr(&refused);
    assert!(said.contains("server actix") && said.contains("field handicap"), "{said}");
}

/// The whole lines of the observations of rates so far; none where they have not begun.
fn of_rates(bench: &Bench) -> Vec<Value> {
    bench.observations_in("rates-fresh")
}

#[test]
#[ignore = "takes minutes on a busy machine: just test-long"]
fn rates_are_calibrated_and_resumed() {
    let Some(bench) = small() else { return };
    bench.link_handicap_build();
    let harness = bench.start(&["calibrate", "--only", "rates"]);
    // The base, its twin and one handicapped server.
    let block = 3;
    until("a block ends", || (of_rates(&bench).len() >= block).then_some(()));
    harness.signal(libc::SIGINT);
    assert_eq!(harness.exit_code(), Some(130));
    bench.nothing_is_left_running();
    let rates = of_rates(&bench);
    for observation in &rates[..block] {
        assert_eq!(observation["outcome"]["kind"], "completed", "{observation}");
    }
    assert!(bench.observations().is_empty(), "CPU time is not measured");

    let folder = bench.folder();
    let run = folder.to_str().unwrap();
    let resumed = bench.start(&["calibrate", "--resume", run, "--only", "rates"]);
    until("another block ends", || (of_rates(&bench).len() >= rates.len() + block).then_some(()));
    resumed.signal(libc::SIGINT);
    assert_eq!(resumed.exit_code(), Some(130));
    assert_eq!(of_rates(&bench)[..rates.len()], rates, "what was observed stays");
    let report = bench.run(&["report", run]);
    assert!(report.status.success(), "{}", stderr(&report));
    let text = fs::read_to_string(folder.join("report.md")).unwrap();
    for needed in ["## False verdicts and power", "| rate ", "## What a minute resolves"] {
        assert!(text.contains(needed), "the report lacks {needed:?}:\n{text}");
    }
    bench.packs();
}

#[test]
#[ignore = "takes minutes on a busy machine: just test-long"]
fn a_calibration_can_be_stopped_and_reported_and_refuses_to_be_resumed_as_a_run() {
    let Some(bench) = small() else { return };
    let handicapped = bench.link_handicap_build();
    let harness = bench.start(&["calibrate", "--only", "cpu"]);
    until("three trials end", || (bench.observations().len() >= 3).then_some(()));
    harness.signal(libc::SIGINT);
    assert_eq!(harness.exit_code(), Some(130));
    bench.nothing_is_left_running();
    let log = fs::read_to_string(bench.path("log")).unwrap();
    assert!(log.contains("resume with: cargo rpc-bench calibrate --resume"), "{log}");

    let folder = bench.folder();
    let run = folder.to_str().unwrap();
    let plan: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.join("plan.json")).unwrap()).unwrap();
    let programs: Vec<_> =
        plan["servers"].as_array().unwrap().iter().map(|server| &server["program"]).collect();
    assert!(programs.iter().all(|program| **program == *handicapped.to_str().unwrap()), "{programs:?}");
    let report = bench.run(&["report", run]);
    assert!(report.status.success(), "{}", stderr(&report));
    let text = fs::read_to_string(folder.join("report.md")).unwrap();
    for needed in ["# Calibration report", "none (twin)", "+10 % CPU", "## The common way", "a round "] {
        assert!(text.contains(needed), "the report lacks {needed:?}:\n{text}");
    }
    assert!(!text.contains("power.svg") && !folder.join("power.svg").exists(), "no comparison was finished");
    let kept: Vec<String> = fs::read_dir(folder.join("tool-output"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("0001-"))
        .collect();
    assert_eq!(kept, [""; 0], "raw output of a good trial goes");

    let wrong = bench.run(&["run", "--resume", run]);
    assert_eq!(wrong.status.code(), Some(2), "{}", stderr(&wrong));
    assert!(stderr(&wrong).contains("calibrate --resume"), "{}", stderr(&wrong));
}
