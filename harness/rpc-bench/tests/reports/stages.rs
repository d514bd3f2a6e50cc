//! Users in stages on synthetic samples: what stands in the headline, the table and the chart, and what is marked.

use std::path::Path;

use bench_measure::run;
use bench_model::config::ConfigDir;
use bench_model::load::Latency;
use bench_model::load::k6::{Second, Staged};
use bench_model::observation::{Observation, Outcome, Sample, UpstreamUse};
use bench_model::plan::{Plan, Trial};
use bench_model::results::{RunFolder, pretty};
use bench_system::probe::process_usage::CpuTime;
use serde_json::json;

use crate::samples::sample;

/// What a trial saw: 100 requests a second for two seconds, half of which are as slow over WebSocket as over HTTP.
fn staged(trial: &Trial) -> Sample {
    let is_websocket = trial.server.ends_with("-websocket");
    let p99_us = if is_websocket { 900.0 } else { 2_500.0 };
    let cpu_us = if is_websocket { 30.0 } else { 60.0 };
    let all = |us: f64| Latency { mean: us, p50: us, p90: us, p99: us, p999: Some(us), max: us };
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

/// A run's folder with its part, and its report.
fn reported(dir: &Path, gave: impl Fn(&Trial) -> Outcome) -> (RunFolder, String) {
    reported_of("stages", dir, gave)
}

fn reported_of(campaign: &str, dir: &Path, gave: impl Fn(&Trial) -> Outcome) -> (RunFolder, String) {
    let config = ConfigDir::of_repository();
    let (plan, text) = run::resolve(&config, campaign).unwrap();
    let folder = RunFolder::create(dir, campaign).unwrap();
    let part = run::stages_part(&plan, plan.campaign.stages.as_ref().unwrap());
    let inner = RunFolder::create_inside(&folder, "stages").unwrap();
    folder.write_new("campaign.toml", &text).unwrap();
    for (folder, plan) in [(&folder, &plan), (&inner, &part)] {
        folder.write_new("plan.json", &pretty(plan).unwrap()).unwrap();
        folder.write_new("environment.json", &conditions(plan)).unwrap();
    }
    for trial in part.trials.iter().filter(|trial| trial.block <= part.campaign.max_blocks) {
        let (started_at, took_s) = (String::new(), 1.0);
        inner
            .append(&Observation { trial: trial.clone(), started_at, took_s, outcome: gave(trial) })
            .unwrap();
    }
    bench_report::write(&folder).unwrap();
    let report = std::fs::read_to_string(folder.0.join("report.md")).unwrap();
    (folder, report)
}

fn conditions(plan: &Plan) -> String {
    let tool = plan.campaign.tool.name();
    json!({
        "started_at": "2026-11-23T00:00:00Z", "command": "just bench-all stages", "servers": {},
        "host": { "cpu": "test", "cores": 2, "open_files": 1_000 },
        "tool": { "name": tool, "version": "v2.2.0", "source": "pinned", "sha256": "" },
    })
    .to_string()
}

fn completed(sample: Sample) -> Outcome {
    Outcome::Completed(Box::new(sample))
}

/// The cells of the table's row of a server over a transport.
fn row(report: &str, server: &str, transport: &str) -> Vec<String> {
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let rows = report.lines().map(cells);
    let mut rows = rows.filter(|row| row.len() > 10 && row[1] == server && row[2] == transport);
    let row = rows.next().unwrap();
    assert!(rows.next().is_none(), "one row for each");
    row
}

#[test]
fn both_transports_stand_next_to_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, report) = reported(dir.path(), |trial| completed(staged(trial)));
    assert!(!report.contains("Incomplete"), "{report}");
    let headline = report.lines().find(|line| line.starts_with("- **jsonrpc-core**, getBalance")).unwrap();
    for part in ["over WebSocket: CPU per request 0.50", "p99 900 µs and not 2.50 ms", "no request failed"] {
        assert!(headline.contains(part), "{headline}");
    }
    let (http, websocket) = (row(&report, "jsonrpc-core", "HTTP"), row(&report, "jsonrpc-core", "WebSocket"));
    // Requests, failed, p50, p99, slowest, connect p50 and p99.
    assert_eq!(http[4..11], ["200", "0", "400 µs", "2.50 ms", "7.00 ms", "250 µs", "250 µs"]);
    assert_eq!(websocket[6..11], ["400 µs", "900 µs", "7.00 ms", "1.50 ms", "1.50 ms"]);
    // CPU per request, peak memory, k6's CPU of two cores, late, left, trials.
    assert_eq!(http[11..17], ["60.2 µs", "50.0 MiB", "30 %", "600 µs", "3", "3"]);
    assert!(report.contains("each 25% as long as in the original test"), "{report}");
    assert!(report.contains("500 after 30.0 s"), "{report}");
    assert!(!report.contains("**k**:") && !report.contains("s **k**"), "{report}");
    let chart = std::fs::read_to_string(folder.0.join("stages-getBalance.svg")).unwrap();
    for what in ["users", "requests/s", "p50", "p99"] {
        for transport in ["HTTP", "WebSocket"] {
            assert!(chart.contains(&format!("{transport}: {what}")), "{transport} {what}");
        }
    }
    let before = report;
    folder.pack().unwrap();
    bench_report::write(&folder).unwrap();
    assert_eq!(std::fs::read_to_string(folder.0.join("report.md")).unwrap(), before);
}

#[test]
fn a_busy_k6_and_failures_are_marked() {
    let dir = tempfile::tempdir().unwrap();
    let (_, report) = reported(dir.path(), |trial| {
        let mut sample = staged(trial);
        if trial.server == "actix-http" {
            sample.load.staged.as_mut().unwrap().busiest_cores = Some(1.7);
            sample.load.failed.insert("timeout".to_owned(), 4);
        }
        completed(sample)
    });
    assert!(report.contains("k6 used more than 80 % of the machine over HTTP (**k**)"), "{report}");
    let actix = row(&report, "actix-web + hand-written JSON-RPC", "HTTP");
    assert_eq!(actix[5..8], ["12", "400 µs **k**", "2.50 ms **k**"]);
    assert_eq!(actix[13], "85 %");
    assert!(report.contains("**failed requests: 12 over HTTP**"), "{report}");
    assert!(
        report.contains("actix-web + hand-written JSON-RPC, HTTP, getBalance: 12 times timeout"),
        "{report}"
    );
    assert!(!row(&report, "jsonrpc-core", "HTTP")[7].contains("**k**"));
}

#[test]
fn a_k6_that_failed_leaves_no_figure() {
    let dir = tempfile::tempdir().unwrap();
    let (_, report) = reported(dir.path(), |trial| {
        if trial.server == "axum-websocket" {
            return Outcome::ToolFailed { reason: "k6: killed (signal 9)".to_owned() };
        }
        completed(staged(trial))
    });
    let axum = row(&report, "axum + hand-written JSON-RPC", "WebSocket");
    assert_eq!(axum[4..17].iter().filter(|cell| *cell == "-").count(), 12, "{axum:?}");
    assert_eq!(axum[16], "0");
    assert!(report.contains("load tool failed: k6: killed (signal 9)"), "{report}");
}

#[test]
fn gateways_stand_over_the_transports_that_they_take_with_the_server_behind_them() {
    let dir = tempfile::tempdir().unwrap();
    let of = |trial: &Trial| {
        let mut sample = staged(trial);
        if trial.server.starts_with("gateway") {
            let cpu = CpuTime { user_s: 0.001, system_s: 0.001 };
            sample.upstream = Some(UpstreamUse { cpu, peak_memory_bytes: Some(30 << 20) });
        }
        sample
    };
    let (folder, report) = reported_of("gateway-stages", dir.path(), |trial| completed(of(trial)));
    assert!(!report.contains("Incomplete") && !report.contains("What a gateway adds"), "{report}");
    let through = row(&report, "gateway, one WebSocket behind it", "WebSocket");
    assert_eq!(through[3..5], ["balances", "200"]);
    assert_eq!(through[13..15], ["10.0 µs", "30.0 MiB"]);
    assert_eq!(row(&report, "actix-web + hand-written JSON-RPC", "WebSocket")[13..15], ["-", "-"]);
    assert_eq!(row(&report, "gateway, HTTP behind it", "HTTP")[14], "30.0 MiB");
    assert!(!report.contains("| gateway, HTTP behind it          | WebSocket"), "{report}");
    assert!(
        report.contains("**gateway, HTTP behind it**, balances, p99 2.50 ms over HTTP; no request failed"),
        "{report}"
    );
    assert!(report.contains("a wrong value: no trial had one"), "{report}");
    assert!(folder.0.join("stages-balances.svg").is_file());

    let dir = tempfile::tempdir().unwrap();
    let (_, report) = reported_of("gateway-stages", dir.path(), |trial| {
        if trial.server == "gateway-ws-http" && trial.block == 1 {
            let (when, answer) = ("under load".to_owned(), "1 x wrong value".to_owned());
            return Outcome::WrongAnswer { when, answer };
        }
        completed(of(trial))
    });
    assert!(report.contains("**trials that had one, and so give no figure: 1**"), "{report}");
    // Of two blocks.
    assert_eq!(row(&report, "gateway, one WebSocket behind it", "HTTP")[18], "1");
}
