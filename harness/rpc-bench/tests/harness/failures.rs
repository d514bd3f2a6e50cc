//! What goes wrong while measuring: it is written down with its reason, the run goes on, and nothing is left running.

use std::fs;

use crate::bench::{Bench, kill, stderr, until};

#[test]
fn a_load_tool_and_a_server_that_are_killed_are_observations() {
    let Some(bench) = Bench::new(2) else { return };
    let harness = bench.start(&["run", "tiny"]);
    let load_after = |trials: usize| {
        until("a trial ends", || (bench.observations().len() == trials).then_some(()));
        until("a load is on", || bench.running("bombardier").first().copied())
    };
    kill(load_after(1), libc::SIGKILL);
    load_after(2);
    let server = [bench.running("server-actix"), bench.running("server-control")].concat();
    server.iter().for_each(|pid| kill(*pid, libc::SIGKILL));
    let code = harness.exit_code();
    let log = fs::read_to_string(bench.path("log")).unwrap();
    assert!(code == Some(1) && log.contains(" ended by itself (killed by signal 9) after "), "{log}");
    assert!(log.contains("exit code 1: "), "{log}");
    bench.nothing_is_left_running();
    let outcomes = bench.outcomes();
    assert_eq!(outcomes.len(), 4, "the run went on");
    assert_eq!(outcomes.iter().filter(|kind| *kind == "completed").count(), 2);
    let failed = bench.observations().into_iter().find(|o| o["outcome"]["kind"] == "tool_failed").unwrap();
    assert!(failed["outcome"]["reason"].as_str().unwrap().contains("killed by signal 9"));
    let died = bench.observations().into_iter().find(|o| o["outcome"]["kind"] == "server_died").unwrap();
    assert_eq!(died["outcome"]["reason"], "killed by signal 9");
    assert!(bench.report().contains("server died: killed by signal 9"));
    assert!(!bench.run(&["check"]).status.success());
}

#[test]
fn a_killed_server_of_a_duet_ends_the_other_trial() {
    let Some(bench) = Bench::new(2) else { return };
    bench.replace("campaigns/tiny.toml", "[environment]", "[environment]\nplacement = \"duet\"");
    let harness = bench.start(&["run", "tiny"]);
    until("the first block ends", || (bench.observations().len() >= 2).then_some(()));
    until("both loads are on", || (bench.running("bombardier").len() == 2).then_some(()));
    bench.running("server-actix").iter().for_each(|pid| kill(*pid, libc::SIGKILL));
    assert_eq!(harness.exit_code(), Some(1), "{}", fs::read_to_string(bench.path("log")).unwrap());
    bench.nothing_is_left_running();
    let outcome = |kind: &str| {
        let of = |observation: &serde_json::Value| observation["outcome"]["kind"] == kind;
        bench.observations().into_iter().filter(of).collect::<Vec<_>>()
    };
    assert_eq!(outcome("completed").len(), 2);
    let (died, left) = (outcome("server_died"), outcome("invalid"));
    assert_eq!((died.len(), left.len()), (1, 1), "{:?}", bench.observations());
    assert_eq!(died[0]["server"], "actix");
    assert_eq!(left[0]["outcome"]["reason"], "the paired trial failed");
}

#[test]
fn duets_come_before_a_sweep_and_are_resumed_after_ctrl_c() {
    let Some(bench) = Bench::new(1) else { return };
    let duets = "[duets]\nconnections = 3\nmax_blocks = 2\nprecision = \"1%\"\nwarmup_ms = 250\nwindow_ms = \
        500\n[environment]";
    bench.replace("campaigns/tiny.toml", "[environment]", duets);
    let harness = bench.start(&["run", "tiny"]);
    until("the run begins", || bench.path("results").read_dir().ok()?.next().map(drop));
    let inner = || fs::read_to_string(bench.folder().join("duets/observations.ndjson")).unwrap_or_default();
    until("the first duet ends", || (inner().lines().count() == 2).then_some(()));
    harness.signal(libc::SIGINT);
    assert_eq!(harness.exit_code(), Some(130));
    bench.nothing_is_left_running();
    assert_eq!(bench.observations().len(), 0, "the sweep comes later");
    let folder = bench.folder();
    let run = folder.to_str().unwrap();
    assert!(!bench.run(&["check", run]).status.success(), "it is not whole");
    let kept = inner();

    bench.succeeds(&["run", "--resume", run]);
    assert!(inner().starts_with(&kept) && inner().lines().count() == 4, "{}", inner());
    let report = bench.report();
    assert!(
        report.contains("CPU per request, side by side")
            && report.contains("the two servers of a pair run at the same time on one core"),
        "{report}"
    );
    assert!(report.contains("Nothing: all 6 trials that ran"), "{report}");
    bench.succeeds(&["check", run]);
    bench.packs();
}

#[test]
fn ctrl_c_keeps_what_was_measured_and_resume_completes_it() {
    let Some(bench) = Bench::new(2) else { return };
    let harness = bench.start(&["run", "tiny"]);
    until("the first trial ends", || (!bench.observations().is_empty()).then_some(()));
    until("a load is on", || bench.running("bombardier").first().copied());
    harness.signal(libc::SIGINT);
    assert_eq!(harness.exit_code(), Some(130));
    bench.nothing_is_left_running();
    let kept = bench.observations();
    assert!(!kept.is_empty() && kept.len() < 4, "{}", kept.len());
    let log = fs::read_to_string(bench.path("log")).unwrap();
    assert!(log.contains("trials are kept; resume the run with: cargo rpc-bench run --resume"), "{log}");

    let folder = bench.folder();
    bench.succeeds(&["run", "--resume", folder.to_str().unwrap()]);
    let all = bench.observations();
    assert_eq!(all[..kept.len()], kept, "nothing that was measured is lost");
    let numbers: Vec<u64> = all.iter().map(|o| o["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    assert!(bench.report().contains("Nothing: all 4 trials that ran"));
}

#[test]
fn a_full_disk_ends_the_run_with_one_line_and_keeps_the_rest() {
    let Some(bench) = Bench::new(1) else { return };
    bench.succeeds(&["run", "tiny"]);
    let observations = bench.folder().join("observations.ndjson");
    let kept = fs::read(&observations).unwrap();
    fs::remove_file(&observations).unwrap();
    // A device that is always full stands for a disk that is.
    std::os::unix::fs::symlink("/dev/full", &observations).unwrap();
    let folder = bench.folder();
    let output = bench.run(&["run", "--resume", folder.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("can't add to") && said.contains("No space left"), "{said}");
    bench.nothing_is_left_running();
    assert!(!kept.is_empty());
}
