//! A why run in small, on real processes: stopped by Ctrl-C, resumed, reported again; and what is refused.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::bench::{Bench, stderr, until};
use bench_model::config::ConfigDir;

/// What a program in process prints, without running anything: the ladder's arithmetic is tested elsewhere.
const PRINTER: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in
    --server) server=$2 ;;
    --rung) rung=$2 ;;
    --requests) requests=$2 ;;
  esac
  shift
done
case "$rung" in
  state) ns=100 ;;
  *) ns=900 ;;
esac
echo "{\"server\":\"$server\",\"rung\":\"$rung\",\"requests\":$requests,\"cpu_ns_per_request\":$ns.5,\"wall_ns_per_request\":$ns.5}"
"#;

/// One block of short windows, and answers of up to 400 slots.
fn small(with_programs: bool) -> Option<Bench> {
    let bench = Bench::new(1)?;
    let shipped = &ConfigDir::of_repository().0;
    for file in ["why.toml", "workloads/getBlocks.toml", "workloads/getHealth.toml"] {
        fs::copy(shipped.join(file), bench.path(file)).unwrap();
    }
    for (from, to) in [
        ("connections = 500", "connections = 3"),
        ("blocks = 12", "blocks = 1"),
        ("blocks = 20", "blocks = 1"),
        ("blocks = 6", "blocks = 1"),
        ("warmup_ms = 500", "warmup_ms = 100"),
        ("warmup_ms = 250", "warmup_ms = 100"),
        ("window_ms = 2000", "window_ms = 500"),
        ("window_ms = 1000", "window_ms = 500"),
        ("counting_ms = 2000", "counting_ms = 300"),
        ("\nseed = ", "\nmax_extra_blocks = 0\nseed = "),
        ("[environment]", "[environment]\nmax_foreign_cpu = \"100%\"\nmax_steal = \"100%\""),
        ("accounts = 100000", "accounts = 50"),
        ("slots = 1500", "slots = 500"),
        ("[10, 100, 1000, 10000, 100000, 500000]", "[10, 100, 400]"),
    ] {
        bench.replace("why.toml", from, to);
    }
    let program = bench.path("in-process");
    fs::write(&program, PRINTER).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    if with_programs {
        for server in ["actix", "control"] {
            let name = format!("name = \"{server}\"\n");
            let in_process =
                format!("in_process = {{ program = {program:?}, args = [\"--server\", \"{server}\"] }}\n");
            bench.replace("servers.toml", &name, &format!("{name}{in_process}"));
        }
    }
    Some(bench)
}

fn lines(folder: &Path, name: &str) -> Vec<Value> {
    let path = folder.join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Takes the hypervisor's part out of a run's observations, and writes its report again. A trial that lost over 2 % of
/// the processors' time to others gives no figure, and of one block that is all there is; what a machine's neighbours
/// take is not what is tested here.
fn without_steal(bench: &Bench, run: &Path) {
    for folder in [run.to_owned(), run.join("ladder"), run.join("slope")] {
        let mut kept = String::new();
        for mut observation in lines(&folder, "observations.ndjson") {
            let steal_s = observation.pointer_mut("/outcome/host/steal_s").unwrap();
            *steal_s = Value::from(0.0);
            kept.push_str(&format!("{observation}\n"));
        }
        fs::write(folder.join("observations.ndjson"), kept).unwrap();
    }
    let reported = bench.run(&["report", run.to_str().unwrap()]);
    assert!(reported.status.success(), "{}", stderr(&reported));
}

#[test]
fn a_why_run_can_be_stopped_and_resumed_and_is_reported() {
    let Some(bench) = small(true) else { return };
    let harness = bench.start(&["why", "actix", "control", "getBlocks"]);
    until("the pair is measured", || (bench.observations().len() >= 2).then_some(()));
    harness.signal(libc::SIGINT);
    assert_eq!(harness.exit_code(), Some(130));
    bench.nothing_is_left_running();
    let log = fs::read_to_string(bench.path("log")).unwrap();
    assert!(log.contains("resume with: cargo rpc-bench why --resume"), "{log}");

    let folder = bench.folder();
    let run = folder.to_str().unwrap();
    let half = bench.run(&["report", run]);
    assert!(half.status.success(), "{}", stderr(&half));
    assert!(bench.report().contains("observations are still to be made"), "{}", bench.report());

    let whole = bench.run(&["why", "--resume", run]);
    assert!(whole.status.success(), "{}", stderr(&whole));
    bench.nothing_is_left_running();
    // Two servers; then two requests and three lengths, each over HTTP and in two rungs in process.
    assert_eq!((bench.observations().len(), folder.join("in-process.ndjson").exists()), (2, false));
    let inside = |name: &str| {
        let folder = folder.join(name);
        (lines(&folder, "observations.ndjson").len(), lines(&folder, "in-process.ndjson").len())
    };
    assert_eq!((inside("ladder"), inside("slope")), ((4, 8), (6, 12)));
    let counts = lines(&folder, "counts.ndjson");
    assert_eq!(counts.len(), 6, "{counts:?}");
    for count in &counts {
        let outcome = &count["outcome"];
        match outcome["kind"].as_str().unwrap() {
            "syscalls" | "instructions" => assert!(outcome["requests"].as_u64().unwrap() > 0, "{outcome}"),
            "unavailable" => assert!(!outcome["reason"].as_str().unwrap().is_empty()),
            other => panic!("{other}: the servers of this test count no allocations"),
        }
    }
    without_steal(&bench, &folder);
    let report = bench.report();
    for needed in [
        "# Why actix and control differ on getBlocks",
        "times as fast as control** at 3 connections",
        "parsing, dispatch, serialising",
        "](ladder.svg)",
        "](slope.svg)",
        "allocations of actix: servers.toml names no build of it that counts",
    ] {
        assert!(report.contains(needed), "the report lacks {needed:?}:\n{report}");
    }
    assert!(!report.contains("Incomplete"), "{report}");
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["left"], 0);
    let framework = &summary["ladder"]["Ok"]["parts"]["framework"]["a"]["value"];
    assert!((framework.as_f64().unwrap() - 0.8).abs() < 1e-9, "{framework}");

    // It is neither a campaign's run nor the newest of these.
    let wrong = bench.run(&["run", "--resume", run]);
    assert_eq!(wrong.status.code(), Some(2), "{}", stderr(&wrong));
    assert!(stderr(&wrong).contains("why --resume"), "{}", stderr(&wrong));
    assert!(stderr(&bench.run(&["check"])).contains("holds no run"));
    bench.packs();
}

#[test]
fn without_programs_in_process_the_rest_is_still_measured() {
    let Some(bench) = small(false) else { return };
    fs::rename(bench.path("workloads/getBalance.toml"), bench.path("workloads/my balance.toml")).unwrap();
    let output = bench.run(&["why", "actix", "control", "my balance", "--connections", "2"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let kept = fs::read_to_string(bench.folder().join("environment.json")).unwrap();
    let command = "\"command\": \"cargo rpc-bench why actix control 'my balance' --connections 2\"";
    assert!(kept.contains(command), "{kept}");
    let report = bench.report();
    for needed in [
        "**unavailable**: servers.toml names no in-process program for actix",
        "at 2 connections",
        "Not measured: why.toml names no request like my balance with answers of several lengths",
    ] {
        assert!(report.contains(needed), "the report lacks {needed:?}:\n{report}");
    }
}

#[test]
fn what_can_t_be_asked_is_one_line() {
    let Some(bench) = small(false) else { return };
    for (args, holds) in [
        (&["why", "actix", "nobody", "getBlocks"][..], "no server \"nobody\""),
        (&["why", "actix", "control", "nothing"], "no \"nothing\""),
        (&["why", "actix", "actix", "getBlocks"], "actix is given twice"),
        (&["why", "actix", "control", "getHealth"], "can't be compared with itself"),
        (&["why", "actix", "control", "getBlocks", "--connections", "59999"], "holds at most"),
        (&["why", "actix", "control"], "<WORKLOAD>"),
        (&["why", "--resume", "nowhere"], "nowhere is no results folder"),
    ] {
        let output = bench.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(holds), "{args:?}: {}", stderr(&output));
    }
    assert!(!bench.path("results").exists(), "nothing was begun");
}
