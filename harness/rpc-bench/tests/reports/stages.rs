//! Users in stages on synthetic samples: what stands in the headline, the views and the course of a trial.

use std::collections::BTreeSet;
use std::path::Path;

use bench_measure::run;
use bench_model::config::ConfigDir;
use bench_model::load::k6::{Second, Staged};
use bench_model::load::{Latency, LoadTool};
use bench_model::observation::{Outcome, Sample};
use bench_model::plan::{Plan, Trial, planned};
use bench_report::Run;

use crate::observed::{self, all, cells, completed, folder, observation, section};
use crate::samples::{conditions, sample};

/// What a trial saw: 100 requests a second for two seconds, half of which are as slow over WebSocket as over HTTP.
fn staged(trial: &Trial) -> Sample {
    let is_websocket = trial.server.ends_with("-websocket");
    let p99_us = if is_websocket { 900.0 } else { 2_500.0 };
    let cpu_us = if is_websocket { 30.0 } else { 60.0 };
    let mut sample = sample(200.0, cpu_us * (1.0 + 0.002 * f64::from(trial.block)));
    sample.load.latency_us = Latency { p50: 400.0, max: 7_000.0, ..all(p99_us) };
    sample.server_peak_memory_bytes = Some(50 << 20);
    let second = |users: u32, requests: u32| Second {
        users: Some(users),
        requests,
        failed: 0,
        p50_us: Some(400.0),
        p99_us: Some(p99_us),
    };
    sample.load.staged = Some(Box::new(Staged {
        connect_us: Some(all(if is_websocket { 1_500.0 } else { 250.0 })),
        send_lag_us: Some(all(600.0)),
        left: 1,
        busiest_cores: Some(0.6),
        seconds: vec![second(50, 40), second(500, 160)],
    }));
    sample
}

fn plan(campaign: &str) -> Plan {
    run::resolve(&ConfigDir::of_repository(), campaign).unwrap().0
}

/// A run of a campaign with users, and its report.
fn reported(campaign: &str, dir: &Path, gave: impl Fn(&Trial) -> Outcome) -> (Run, String) {
    let plan = plan(campaign);
    let observed = observed::planned(&plan).map(|trial| observation(trial, gave(trial)));
    let conditions = conditions("just bench-all stages");
    observed::reported(&folder(dir, campaign, &plan, &conditions, observed))
}

/// The cells of a view's row of a server over a transport.
fn row(report: &str, view: &str, server: &str, transport: &str) -> Vec<String> {
    let section = section(report, view);
    let rows = section.lines().map(cells);
    let mut rows = rows.filter(|row| row.len() > 5 && row[1] == server && row[2] == transport);
    let row = rows.next().unwrap_or_else(|| panic!("no {server} {transport} in {section}"));
    assert!(rows.next().is_none(), "one row for each");
    row[3..row.len() - 1].to_vec()
}

fn of_users(report: &str, server: &str, transport: &str) -> Vec<String> {
    row(report, "Users in stages", server, transport)
}

#[test]
fn every_server_is_measured_over_every_transport_within_each_block() {
    let plan = plan("stages");
    assert_eq!(plan.servers.len(), 8);
    assert_eq!(planned(&plan.campaign, &plan.trials), 8 * plan.campaign.max_blocks as usize);
    assert!(plan.trials.iter().all(|trial| trial.tool == LoadTool::K6 && trial.connections == 500));
    let first: BTreeSet<&str> = plan.trials[..8].iter().map(|trial| trial.server.as_str()).collect();
    let all: BTreeSet<&str> = plan.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(first, all);
}

#[test]
fn both_transports_stand_next_to_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let (run, report) = reported("stages", dir.path(), |trial| completed(staged(trial)));
    assert!(!report.contains("Incomplete") && !report.contains("busy load tool"), "{report}");
    for line in [
        "- **jsonrpc-core**: p99 from 2.50 ms over HTTP to 900 µs over WebSocket.",
        "- **jsonrpc-core**: CPU time per request over HTTP: 0.50 over WebSocket; too few blocks for an interval.",
    ] {
        assert!(report.contains(line), "{line} in {report}");
    }
    // p99, p50, slowest, connecting, CPU, memory, k6's processors, lateness, left, requests, failed, trials.
    let expected = [
        "2.50 ms", "400 µs", "7.00 ms", "250 µs", "250 µs", "60.2 µs", "50.0 MiB", "0.600", "600 µs", "1",
        "200", "0", "3",
    ];
    assert_eq!(of_users(&report, "jsonrpc-core", "over HTTP"), expected);
    let websocket = of_users(&report, "jsonrpc-core", "over WebSocket");
    assert_eq!(websocket[..5], ["900 µs", "400 µs", "7.00 ms", "1.50 ms", "1.50 ms"]);
    let compared = row(&report, "One transport over the other", "jsonrpc-core", "over WebSocket");
    assert_eq!(compared[1..4], ["0.50", "900 µs", "0.36"]);
    assert_eq!(row(&report, "One transport over the other", "jsonrpc-core", "over HTTP")[1], "-");

    let cell = run.summary.cells.iter().find(|cell| cell.server == "legacy-transport-http").unwrap();
    assert_eq!(cell.marks, [], "users wait between requests");
    let course: Vec<_> = cell.latency.iter().map(|at| (at.t_ms, at.p99_us, at.answered_per_s)).collect();
    assert_eq!(course, [(500.0, 2_500.0, Some(40.0)), (1_500.0, 2_500.0, Some(160.0))]);
    let page = std::fs::read_to_string(dir.path().join(&run.name).join("report.html")).unwrap();
    assert!(page.contains("[[10,2500],[200,7500],[500,30000]"), "by hand it is the same load");
}

#[test]
fn a_busy_k6_and_failures_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let (_, report) = reported("stages", dir.path(), |trial| {
        let mut sample = staged(trial);
        if trial.server == "actix-transport-http" {
            sample.load.staged.as_mut().unwrap().busiest_cores = Some(1.7);
            sample.load.failed.insert("timeout".to_owned(), 4);
        }
        completed(sample)
    });
    let busy = "> **A busy load tool:** it used more than 80 % of the machine at its busiest, so latencies may be its \
        own: actix-web + hand-written JSON-RPC, over HTTP, getBalance.";
    assert!(report.contains(busy), "{report}");
    let actix = of_users(&report, "actix-web", "over HTTP");
    assert_eq!([&actix[7], &actix[10], &actix[11]], ["1.70", "204", "12"]);
    assert!(
        report.contains("**12 requests failed**")
            && report.contains("timeout: 2 % of requests (12 of 612).**"),
        "{report}"
    );
}

#[test]
fn a_k6_that_failed_leaves_no_figure() {
    let dir = tempfile::tempdir().unwrap();
    let (_, report) = reported("stages", dir.path(), |trial| {
        if trial.server == "axum-transport-websocket" {
            return Outcome::ToolFailed { reason: "k6: killed by signal 9".to_owned() };
        }
        completed(staged(trial))
    });
    let axum = of_users(&report, "axum", "over WebSocket");
    assert!(axum[..11].iter().all(|cell| cell == "-") && axum[11..] == ["0", "0"], "{axum:?}");
    assert!(report.contains("load tool failed: k6: killed by signal 9"), "{report}");
}
