//! A search in small, on real processes: a server that may open few files fails from some count on, and a search that
//! was stopped by Ctrl-C ends in the same answer.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread;

use serde_json::Value;

use crate::bench::{Bench, stderr, until};

/// Files that the server may open; some of them are its own.
const FILES: u32 = 60;

/// A campaign that only searches, and whose server starts under a limit of open files.
fn small() -> Option<Bench> {
    let bench = Bench::of("search", &[])?;
    let program = format!("{:?}", bench.path("server-actix"));
    bench.replace("servers.toml", &format!("program = {program}"), "program = \"/bin/sh\"");
    let limited = format!("args = [\"-c\", 'ulimit -n {FILES}; exec \"$0\" \"$@\"', {program}, \"--listen\"");
    bench.replace("servers.toml", "args = [\"--listen\"", &limited);
    Some(bench)
}

/// The folder of the only run's searches.
fn inner(bench: &Bench) -> PathBuf {
    bench.folder().join("search")
}

fn found(bench: &Bench) -> Value {
    let summary = bench.summary();
    assert_eq!(summary["search"]["left"], 0, "{summary}");
    summary["search"]["searches"][0].clone()
}

#[test]
#[ignore = "takes minutes on a busy machine: just test-long"]
fn a_search_that_was_stopped_ends_in_the_same_answer_and_the_report_needs_its_folder_alone() {
    let (Some(stopped), Some(whole)) = (small(), small()) else { return };
    let mut harness = stopped.start(&["run", "search"]);
    harness.wait_for_observations(&stopped, "search", 3);
    harness.signal(libc::SIGINT);
    assert_eq!(harness.exit_code(), Some(130));
    stopped.nothing_is_left_running();
    let kept = stopped.observations_in("search");
    let log = fs::read_to_string(stopped.path("log")).unwrap();
    assert!(log.contains(&format!("{} trials are kept; resume the run with", kept.len())), "{log}");

    // What there is can be reported, and says that it is not all.
    let run = stopped.folder();
    let run = run.to_str().unwrap();
    assert!(stopped.run(&["report", run]).status.success());
    assert!(stopped.report().contains("**Incomplete: 0 searches have ended"), "{}", stopped.report());
    assert!(!stopped.run(&["check"]).status.success());

    let (resumed, output) = thread::scope(|scope| {
        let whole = scope.spawn(|| whole.run(&["run", "search"]));
        (stopped.run(&["run", "--resume", run]), whole.join().unwrap())
    });
    assert!(resumed.status.success(), "{}", stderr(&resumed));
    assert!(output.status.success(), "{}", stderr(&output));
    stopped.nothing_is_left_running();
    whole.nothing_is_left_running();

    let all = stopped.observations_in("search");
    assert_eq!(all[..kept.len()], kept, "nothing that was tried is lost");
    let numbers: Vec<u64> = all.iter().map(|trial| trial["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=all.len() as u64).collect::<Vec<_>>());
    let (one, other) = (found(&stopped), found(&whole));
    for end in ["holds", "fails", "ending"] {
        assert_eq!(one["found"][end], other["found"][end], "{end}: {one} and {other}");
    }
    reads_well(&whole, &other);
}

fn reads_well(bench: &Bench, search: &Value) {
    let count = |pointer: &str| search.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    assert_eq!(search["found"]["ending"], "interval", "{search}");
    let (low, high) = (count("/found/holds/at"), count("/found/fails/at"));
    assert!(low >= 8 && high > low && high <= 64, "{search}");
    assert!(high > u64::from(FILES) / 2, "a server with {FILES} files holds some: {search}");
    assert!(search["complaints"].as_object().is_some_and(|kinds| !kinds.is_empty()), "{search}");

    let report = bench.report();
    bench.report_has(&[
        "## Where it starts to fail".to_owned(),
        format!("{low} (0/5 failed)"),
        format!("{high} (5/5 failed"),
        format!("**actix** holds {low} connections (0/5 failed), fails at {high} connections (5/5 failed"),
    ]);
    let checked = bench.run(&["check"]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));

    // Raw output stays where a trial failed, and goes where it passed.
    let raw = fs::read_dir(inner(bench).join("tool-output")).unwrap();
    let names: Vec<String> = raw.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().any(|name| name.contains(&format!("-c{high}.bombardier.json"))), "{names:?}");
    assert!(!names.iter().any(|name| name.contains(&format!("-c{low}.bombardier.json"))), "{names:?}");

    // Again, in another place: the same bytes.
    let before = (report, fs::read(bench.folder().join("summary.json")).unwrap());
    let again = bench.run(&["report", bench.folder().to_str().unwrap()]);
    assert!(again.status.success(), "{}", stderr(&again));
    assert_eq!((bench.report(), fs::read(bench.folder().join("summary.json")).unwrap()), before);
}

#[test]
#[ignore = "takes minutes on a busy machine: just test-long"]
fn a_remedy_that_helps_is_searched_with_again() {
    let Some(bench) = Bench::of("search", &[]) else { return };
    // A request that another test held up for half a second is not to be late, and one late trial of six changes
    // no verdict.
    for (from, to) in [
        ("window_ms = 600\ntimeout_ms = 500", "window_ms = 1100\ntimeout_ms = 1000"),
        ("\nseed = 1\n", "\nseed = 1\nremedy_trials = 6\n"),
        ("from = 8", "from = 32"),
    ] {
        bench.replace("campaigns/search.toml", from, to);
    }
    bench.replace("servers.toml", "name = \"actix\"", &format!("name = \"actix\"\nopen_files = {FILES}"));
    let output = bench.run(&["run", "search"]);
    assert!(output.status.success(), "{}", stderr(&output));
    bench.nothing_is_left_running();

    let summary = bench.summary();
    let search = &summary["search"];
    let confirmation = &search["remedies"][0]["confirmation"];
    assert_eq!(confirmation["standing"], "confirmed", "{search}");
    // A trial that found the machine busy is in neither count.
    let tally = |trials: &str| {
        let Value::Object(tally) = &confirmation[trials] else {
            panic!("no trials {trials}: {confirmation}")
        };
        format!("{} of {}", tally["bad"], tally["of"])
    };
    let again = &search["remedied"]["searches"][0];
    assert_eq!(again["server"], "actix-files-240", "{search}");
    assert_eq!(again["found"]["fails"], Value::Null, "{again}");
    bench.report_has(&[
        "**confirmed**: the server may open 60 files".to_owned(),
        format!("With 240 open files, {} trials failed; without it {}", tally("after"), tally("before")),
        "searched again with 240 open files: **actix** holds 64 connections (0/5 failed)".to_owned(),
    ]);
    bench.packs();
}

#[test]
fn a_sweep_is_followed_by_its_search_and_a_server_that_dies_is_named() {
    let Some(bench) = Bench::new(1) else { return };
    let table = "[search]\nalong = \"connections\"\nfrom = 3\nmost = 3\nwidth = \"50%\"\nconfirmations = 5\nmost_trials = \
        12\nwindow_ms = 1500\n\
        [environment]";
    bench.replace("campaigns/tiny.toml", "[environment]", table);
    let harness = bench.start(&["run", "tiny"]);
    until("the search's first trial ends", || (!bench.observations_in("search").is_empty()).then_some(()));
    until("a load is on", || {
        let server = bench.running("server-actix").first().copied()?;
        bench.running("bombardier").first().map(|_| server)
    });
    for server in bench.running("server-actix") {
        crate::bench::kill(server, libc::SIGKILL);
    }
    assert_eq!(harness.exit_code(), Some(1), "{}", fs::read_to_string(bench.path("log")).unwrap());
    assert_eq!(bench.outcomes(), ["completed", "completed"], "the sweep");
    let report = bench.report();
    let ended = "## Headline\n\n- **actix ended by itself (killed by signal 9) after ";
    assert!(report.contains(ended) && report.contains("in 1 of "), "{report}");
    assert!(report.contains("requests/s") && report.contains("## Where it starts to fail"), "{report}");
}

#[test]
fn a_count_that_was_not_held_is_not_tried_though_no_request_is_bad() {
    let Some(bench) = Bench::of("search", &[]) else { return };
    // A load tool that makes fewer connections than requested.
    let (tool, real) = (bench.path("bombardier"), bench.path("bombardier-real"));
    fs::rename(&tool, &real).unwrap();
    let script = format!(
        "#!/bin/sh\nif [ \"$1 $2\" = \"-c 64\" ]; then shift 2; set -- -c 40 \"$@\"; fi\nexec {} \"$@\"\n",
        real.display()
    );
    bench.write("bombardier", &script);
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let output = bench.run(&["run", "search"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let search = found(&bench);
    assert_eq!(search["found"]["ending"], "not_reached", "{search}");
    assert_eq!(search["found"]["holds"]["at"], 32, "{search}");
    assert_eq!(search["found"]["fails"], Value::Null, "{search}");
    assert_eq!(search["found"]["not_reached"][0]["at"], 64, "{search}");
    let all = bench.observations_in("search");
    let kinds = |of: &dyn Fn(u64) -> bool| -> Vec<&str> {
        let of_them = all.iter().filter(|trial| of(trial["connections"].as_u64().unwrap()));
        of_them.map(|trial| trial["outcome"]["kind"].as_str().unwrap()).collect()
    };
    assert_eq!(kinds(&|count| count == 64), ["not_held", "not_held"]);
    assert!(kinds(&|count| count < 64).iter().all(|kind| *kind == "completed"), "{}", stderr(&output));
    let held = all.iter().filter(|trial| trial["connections"] == 32);
    for trial in held {
        let (connecting, took_s) =
            (&trial["outcome"]["connecting"], &trial["outcome"]["load"]["time_taken_s"]);
        assert!(connecting["took_ms"].as_u64().is_some(), "{trial}");
        assert!(took_s.as_f64().unwrap() >= 0.55, "the window begins once they are held: {trial}");
    }
    let report = bench.report();
    // What the server holds is read from its open files, so a connection of the harness may be among them.
    let said = |held: u32| {
        format!(
            "**actix** holds 32 connections (0/5 failed): 64 connections were not reached ({held} were, with "
        )
    };
    assert!((40..=42).any(|held| report.contains(&said(held))), "{report}");
}
