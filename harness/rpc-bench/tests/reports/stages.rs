//! Users in stages on synthetic samples: what stands in the headline, the views and the course of a trial.

use std::path::Path;

use bench_measure::run;
use bench_model::config::ConfigDir;
use bench_model::load::Latency;
use bench_model::load::k6::{Second, Staged};
use bench_model::observation::{Outcome, Sample};
use bench_model::plan::{Plan, Trial};
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
