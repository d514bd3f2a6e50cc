//! Several load hosts, which here are agents on one machine: their shares and their merge, and everything that can be
//! wrong with one of them. The launcher is a script of the test's own, which a fault can be written into.

use std::fs;
use std::process::Output;

use serde_json::Value;

use crate::bench::{self, Bench, stderr};

/// A campaign over actix and a pool of three hosts, started by `launch`, to which a line that begins with the rank is
/// `fault`.
fn three_hosts(load: &str, fault: &str) -> Option<Bench> {
    Bench::of("hosts", &[("LOAD", load), ("FAULT", fault)])
}

fn run(bench: &Bench) -> Output {
    let output = bench.run(&["run", "small", "--hosts", "three"]);
    bench.nothing_is_left_running();
    output
}

/// What was measured, of a run that was measured throughout.
fn measured(bench: &Bench) -> Vec<Value> {
    let output = run(bench);
    assert!(output.status.success(), "{}", stderr(&output));
    let observations = bench.observations();
    assert!(bench.outcomes().iter().all(|outcome| outcome == "completed"), "{observations:?}");
    observations.into_iter().map(|observation| observation["outcome"].clone()).collect()
}

const OPEN: &str = "connections = []\n[open]\nrates = [100]\nconnections = 7\ntools = [\"rpc-load\"]";
const CLOSED: &str = "connections = [7]\ntool = \"rpc-load\"";

#[test]
#[ignore = "takes minutes on a busy machine: just test-long"]
fn three_hosts_send_a_rate_together_and_their_requests_are_merged() {
    let Some(bench) = three_hosts(OPEN, "") else { return };
    for sample in measured(&bench) {
        let load = &sample["load"];
        assert_eq!(load["succeeded"], 100, "{load}");
        assert_eq!((&load["open"]["intended"], &load["open"]["sent"]), (&100.into(), &100.into()), "{load}");
        let hosts = load["details"]["hosts"].as_array().unwrap();
        let shares: Vec<u64> = hosts.iter().map(|host| host["succeeded"].as_u64().unwrap()).collect();
        assert_eq!(shares, [34, 33, 33], "the remainder is the first host's");
        assert!(sample["server_requests"].as_u64().unwrap() >= 100, "{sample}");
        assert!(hosts.iter().all(|host| host["clock_ahead_us"].is_number()), "{hosts:?}");
    }
    let report = bench.report();
    assert!(report.contains("3 hosts of the pool three"), "{report}");
    // Resumed, it has the same hosts.
    bench.resume_without_the_last_in("", |_| ());
    let again = bench.observations();
    assert_eq!(
        again[1]["outcome"]["load"]["details"]["hosts"].as_array().map(Vec::len),
        Some(3),
        "{again:?}"
    );
    let kept: Vec<String> = fs::read_dir(bench.folder().join("tool-output"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(kept.iter().any(|name| name.ends_with("rpc-load.records.csv.gz")), "{kept:?}");
    let folder = kept.iter().find(|name| name.ends_with("rpc-load.hosts")).unwrap();
    for name in ["rank-0.json", "rank-2.records.csv.gz"] {
        assert!(bench.folder().join("tool-output").join(folder).join(name).is_file(), "{name}");
    }
    bench.packs();
}

/// Each fault is named with its host, nothing wrong is merged, and the run goes on to its end.
#[test]
fn a_host_that_is_lost_late_or_of_another_build_is_named_and_voids_its_trials_alone() {
    let other = "cp \"$1\" \"$0-other\"; echo >> \"$0-other\"; shift; set -- \"$0-other\" \"$@\"";
    for (fault, said) in [
        ("{ sleep 3.5; kill -9 $$; } & :", "host 1 (b): lost: its launcher ended with killed"),
        ("sleep 4", "host 1 (b): it was not placed within 3.0 s"),
        (other, "host 1 (b): its rpc-bench is another build"),
        (
            "echo no such node >&2; exit 3",
            "host 1 (b): lost: its launcher ended with exit code 3: no such node",
        ),
    ] {
        let Some(bench) = three_hosts(CLOSED, &format!("if [ $rank = 1 ]; then {fault}; fi")) else { return };
        let output = run(&bench);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert_eq!(bench.outcomes(), ["tool_failed"; 2], "{:?}", bench.observations());
        let report = bench.report();
        assert!(report.contains(said), "{report}");
    }
}

#[test]
fn a_clock_that_is_wrong_is_named() {
    if bench_core::machine::on_path("faketime").is_none() {
        eprintln!("SKIPPED: faketime is not installed");
        return;
    }
    // By the host's own clock the start is 300 ms later than by the others'.
    let behind = "if [ $rank = 2 ]; then set -- faketime -f -0.3 \"$@\"; fi";
    let Some(bench) = three_hosts(CLOSED, behind) else { return };
    assert_eq!(run(&bench).status.code(), Some(1));
    assert_eq!(bench.outcomes(), ["tool_failed"; 2]);
    let report = bench.report();
    assert!(
        report.contains("host 2 (c): its clock is") && report.contains("behind the harness'"),
        "{report}"
    );
}

#[test]
fn a_wrong_call_is_one_line() {
    let Some(bench) = three_hosts(CLOSED, "") else { return };
    let refused = |args: &[&str], said: &str| {
        assert_eq!(bench::refused(&bench.run(args), &[said]).trim().lines().count(), 1, "{args:?}");
    };
    refused(&["run", "small", "--hosts", "none"], "there are: three");
    bench.replace("hosts.toml", "lead_ms = 3000", "lead_ms = 1");
    refused(&["run", "small", "--hosts", "three"], "field lead_ms");
    bench.replace("hosts.toml", "lead_ms = 1", "lead_ms = 3000");
    bench.replace("campaigns/small.toml", "connections = [7]", "connections = [2]");
    refused(&["run", "small", "--hosts", "three"], "field connections: 2 can't be divided among 3 hosts");
    bench.replace(
        "campaigns/small.toml",
        "connections = [2]\ntool = \"rpc-load\"",
        &OPEN.replace("[100]", "[2]"),
    );
    refused(&["run", "small", "--hosts", "three"], "field open.rates: 2 can't be divided");
    bench.replace("campaigns/small.toml", &OPEN.replace("[100]", "[2]"), CLOSED);
    bench.replace("campaigns/small.toml", "[environment]", "[environment]\nplacement = \"one-core\"");
    refused(&["run", "small", "--hosts", "three"], "placement is for a load tool on the server's machine");
    let plan = bench.path("plan.json");
    let agent = |plan: &str| {
        ["agent", "--plan", plan, "--rank", "0", "--start-at", "2026-01-01T00:00:00Z", "--out", "."]
            .map(str::to_owned)
    };
    let args = agent(plan.to_str().unwrap());
    refused(&args.each_ref().map(String::as_str), "can't read");
    fs::write(&plan, "{\"what\": 1}").unwrap();
    refused(&args.each_ref().map(String::as_str), "is not this version's plan");
}
