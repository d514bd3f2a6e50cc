//! Planted faults: each is named by the report of a real run, and nothing else is.

use bench_core::diagnosis::CauseKind;
use serde_json::Value;

use crate::bench::{self, Bench, listen_queues_in_turn, stderr};

/// A campaign of two trials on one faulty server: `connections` connections, `args` and `entry` in its entry.
fn faulty(connections: u32, args: &[&str], entry: &str) -> Option<Bench> {
    let bench = Bench::of("faulty", &[("CONNECTIONS", &connections.to_string())])?;
    bench.write("servers.toml", &(bench::entry("faulty", &bench.link_faulty(), args) + entry));
    Some(bench)
}

/// Runs it and gives the kinds of causes that the summary names, and the report.
fn named(bench: &Bench) -> (Vec<CauseKind>, String) {
    let output = bench.run(&["run", "tiny"]);
    assert!(bench.folder().join("summary.json").is_file(), "{}", stderr(&output));
    bench.nothing_is_left_running();
    let summary = bench.summary();
    let cells = summary["causes"].as_array().cloned().unwrap_or_default();
    let causes = cells.iter().flat_map(|cell| cell["diagnosis"]["causes"].as_array().unwrap().clone());
    let kinds = causes.map(|cause| serde_json::from_value(cause["kind"].clone()).unwrap()).collect();
    (kinds, bench.report())
}

/// The fault is named, alone, in these words.
fn names_only(bench: &Bench, kind: CauseKind, words: &[&str]) -> String {
    let (kinds, report) = named(bench);
    assert_eq!(kinds, [kind], "{report}\n{:#?}", bench.observations());
    has_words(&report, words)
}

/// The report's section on causes, which has these words.
fn has_words(report: &str, words: &[&str]) -> String {
    let section = report.split("## Why it fails").nth(1).and_then(|rest| rest.split("\n## ").next());
    let section = section.unwrap_or_else(|| panic!("no section in {report}"));
    for word in words {
        assert!(section.contains(word), "lacks {word:?}: {section}");
    }
    section.to_owned()
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[test]
fn a_healthy_server_has_nothing_to_explain() {
    let Some(bench) = faulty(60, &[], "") else { return };
    let (kinds, report) = named(&bench);
    assert_eq!(kinds, [], "{report}");
    assert!(!report.contains("## Why it fails"), "{report}");
    assert_eq!(bench.outcomes(), ["completed", "completed"]);
}

#[test]
fn an_accept_loop_that_stopped_is_named() {
    let Some(bench) = faulty(60, &["--stop-accepting-after", "30"], "") else { return };
    let words = ["the server accepts no connections any more", "connections stood in the listen queue"];
    names_only(&bench, CauseKind::AcceptStalled, &words);
    assert!(
        bench.outcomes().iter().all(|kind| kind == "no_success" || kind == "silent"),
        "{:?}",
        bench.outcomes()
    );
}

#[test]
fn a_server_without_an_answer_after_the_window_says_why() {
    // Enough for the warm-up, and for some of the window's connections.
    let Some(bench) = faulty(60, &["--stop-accepting-after", "100"], "") else { return };
    bench.replace("campaigns/tiny.toml", "blocks = 2", "blocks = 1");
    let (_, report) = named(&bench);
    assert_eq!(bench.outcomes(), ["silent"]);
    assert!(report.contains("no answer after the window (no answer from 127.0.0.1:"), "{report}");
    assert!(report.contains("no whole answer came within 5 s), in which"), "{report}");
}

#[test]
fn few_open_files_are_named() {
    let Some(bench) = faulty(120, &[], "open_files = 60") else { return };
    names_only(
        &bench,
        CauseKind::OpenFiles,
        &["the server may open 60 files", "of 120 connections it never held"],
    );
}

#[test]
#[ignore = "takes minutes on a busy machine: just test-long"]
fn a_remedy_that_helps_confirms_and_one_that_does_not_refutes() {
    let Some(bench) = faulty(120, &[], "open_files = 60") else { return };
    bench.replace("campaigns/tiny.toml", "blocks = 2", "blocks = 1\nremedy_trials = 3");
    let section = names_only(&bench, CauseKind::OpenFiles, &["**confirmed**: the server may open 60 files"]);
    let counts = "With 240 open files, 0 of 3 trials failed; without it 3 of 3";
    assert!(section.contains(counts), "{section}");

    // From the folder alone, the same again.
    let before = bench.report();
    let run = bench.folder();
    bench.succeeds(&["report", run.to_str().unwrap()]);
    assert_eq!(bench.report(), before);

    // 300 connections don't fit into 240 files either.
    let Some(bench) = faulty(300, &[], "open_files = 60") else { return };
    bench.replace("campaigns/tiny.toml", "blocks = 2", "blocks = 1\nremedy_trials = 2");
    names_only(&bench, CauseKind::OpenFiles, &["**refuted**", "With 240 open files, 2 of 2 trials failed"]);
    bench.packs();
}

#[test]
fn a_handler_that_waits_is_named() {
    // Long beside what a busy machine takes to wake a thread.
    let Some(bench) = faulty(20, &["--sleep-us", "20000"], "") else { return };
    names_only(&bench, CauseKind::SlowHandler, &["one request by itself takes", "the handler waits"]);
}

#[test]
fn one_thread_is_named() {
    if cores() < 2 {
        eprintln!("SKIPPED: one thread is all that one core can use");
        return;
    }
    let Some(bench) = faulty(60, &["--threads", "1"], "") else { return };
    let words = ["it answers with 1 thread", &format!("on a machine of {} cores", cores())];
    names_only(&bench, CauseKind::TooFewThreads, &words);
}

/// One worker that takes from the global queue once in 61 polls, and more connections than its own queue holds.
#[test]
fn a_scheduler_that_starves_connections_is_named() {
    if cores() < 2 {
        eprintln!("SKIPPED: on one core the load tool waits for the worker");
        return;
    }
    for _ in 0..3 {
        let Some(bench) = starving() else { return };
        let turn = listen_queues_in_turn();
        let (kinds, report) = named(&bench);
        drop(turn);
        // Where other processes keep the load tool from its turn, the worker empties its queue and no connection
        // starves: half of the requests are then slow, not a few. The worker itself has a whole processor else.
        let observations = bench.observations();
        let outcome = &observations[0]["outcome"];
        let number = |at: &str| outcome.pointer(at).and_then(Value::as_f64).unwrap_or(0.0);
        let cores =
            (number("/server_cpu/user_s") + number("/server_cpu/system_s")) / number("/load/time_taken_s");
        if number("/load/latency_us/p50") > 200_000.0 || cores < 0.8 {
            continue;
        }
        assert_eq!(kinds, [CauseKind::SchedulerStarved], "{report}\n{observations:#?}");
        let words = ["starved by the scheduler", "of 500 connections", "its 1 worker", "once in 61 polls"];
        has_words(&report, &words);
        return;
    }
    eprintln!("SKIPPED: other processes had the processors in three trials, so that no connection starved");
}

/// One worker that takes connections from the other queue once in 61 polls, under many of them.
fn starving() -> Option<Bench> {
    let bench = Bench::of("starving", &[])?;
    let flags = ["--threads", "1", "--global-queue-interval", "61", "--walk-ns-per-slot", "5000"];
    bench.write("servers.toml", &bench::entry("starving", &bench.link("server-axum"), &flags));
    bench.add_workload("getBlocks");
    Some(bench)
}

#[test]
fn a_short_listen_queue_is_named() {
    let Some(bench) = faulty(400, &["--backlog", "1"], "") else { return };
    let _turn = listen_queues_in_turn();
    let section =
        names_only(&bench, CauseKind::AcceptQueueFull, &["its listen queue holds 1;", "found it full"]);
    assert!(section.contains("likely"), "nobody tried a remedy: {section}");
}
