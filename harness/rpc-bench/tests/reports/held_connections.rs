//! What reports say of held connections: the shipped campaign on synthetic samples with a known truth.

use std::path::Path;

use bench_measure::run;
use bench_model::config::ConfigDir;
use bench_model::load::Latency;
use bench_model::load::sample_details::{Connects, Details};
use bench_model::observation::Sample;
use bench_model::plan::{Plan, Trial};
use bench_model::transport::Transport;
use bench_report::Run;
use bench_system::probe::process_usage::CpuTime;
use bench_system::probe::resources::ResourceSample;
use tempfile::TempDir;

use crate::observed::{self, all, cells, observe_planned, section};
use crate::samples::{conditions, sample};

/// A run of the shipped campaign that gave these samples, and its report.
fn reported() -> (Run, String, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let (mut plan, _) = run::resolve(&ConfigDir::of_repository(), "connections").unwrap();
    plan.campaign.max_extra_blocks = Some(0);
    let observed = observe_planned(&plan, |trial| held(&plan, trial));
    let folder = observed::folder(dir.path(), "connections", &plan, &conditions("just bench-all"), observed);
    let (_, before) = observed::reported(&folder);
    // A packed run gives the same report, but for charts that were folded away.
    folder.pack().unwrap();
    let run = bench_report::write(&folder).unwrap();
    bench_report::write_brief(&folder).unwrap();
    let after = std::fs::read_to_string(folder.0.join("report.md")).unwrap();
    assert_eq!(without_charts(&after), without_charts(&before));
    let is_shown =
        |path: &Path| after.contains(&format!("({})", path.file_name().unwrap().to_str().unwrap()));
    let charts = std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().path());
    let charts: Vec<_> =
        charts.filter(|path| path.extension().is_some_and(|ending| ending == "svg")).collect();
    assert!(!charts.is_empty() && charts.iter().all(|path| is_shown(path)), "{charts:?}");
    (run, before, dir)
}

/// A report's lines, but for those of the section with all charts.
fn without_charts(report: &str) -> Vec<&str> {
    let mut is_of_charts = false;
    let is_kept = |line: &&str| {
        if line.starts_with("## ") {
            is_of_charts = *line == "## Charts";
        }
        !is_of_charts && !line.is_empty() && !line.starts_with("<")
    };
    report.lines().filter(is_kept).collect()
}

/// The cells of the only row whose first cells are these; the text has other tables, too.
fn row(text: &str, first: &[&str]) -> Vec<String> {
    let rows: Vec<Vec<String>> = text.lines().map(cells).collect();
    let is_it = |row: &&Vec<String>| row.len() > first.len() && row[1..=first.len()] == *first;
    let found: Vec<&Vec<String>> = rows.iter().filter(is_it).collect();
    assert_eq!(found.len(), 1, "{first:?} in\n{text}");
    found[0][1..].to_vec()
}

/// What differs from block to block, by a percent at most.
fn wobble(trial: &Trial) -> f64 {
    1.0 + 0.002 * f64::from(trial.block % 5)
}

fn is_websocket(plan: &Plan, trial: &Trial) -> bool {
    plan.environment_of(plan.server(&trial.server).unwrap()).transport() == Transport::WebSocket
}

/// 10 MiB, and 8 KiB for each connection over HTTP and 40 KiB over WebSocket.
fn held(plan: &Plan, trial: &Trial) -> Sample {
    let each = if is_websocket(plan, trial) { 40 << 10 } else { 8 << 10 };
    let memory = (10 << 20) + each * u64::from(trial.connections);
    let mut sample = sample(1.0, 1.0);
    sample.load.succeeded = 0;
    sample.load.latency_us = all(0.0);
    let each_us = Latency { p99: 30_000.0, ..all(2_000.0 * wobble(trial)) };
    let connects = Some(Connects { all_s: 0.05, each_us });
    sample.load.details = Details { held: true, connects, ..Details::default() };
    let reading = ResourceSample { t_ms: 100, memory_bytes: Some(memory), ..ResourceSample::default() };
    Sample {
        server_cpu: Some(CpuTime { user_s: 0.01 * f64::from(trial.connections) / 1e3, system_s: 0.0 }),
        server_requests: Some(0),
        established: Some(trial.connections.into()),
        memory_before_bytes: Some(9 << 20),
        resources: vec![reading],
        ..sample
    }
}

#[test]
fn held_connections_have_a_line_of_memory_and_times_to_connect_and_no_rate() {
    let (run, report, dir) = reported();
    let text = section(&report, "Connections that carry nothing");
    let (_, lines) = text.split_once("### Lines").unwrap();
    let (http, websocket) =
        (row(lines, &["over HTTP", "jsonrpc-core"]), row(lines, &["over WebSocket", "jsonrpc-core"]));
    assert!(http[2].starts_with("10.0"), "{http:?}");
    assert_eq!(http[3], "8.00 KiB [8.00 KiB, 8.00 KiB]");
    assert_eq!(websocket[3], "40.0 KiB [40.0 KiB, 40.0 KiB]");
    assert_eq!(websocket[5], run.plan.campaign.max_blocks.to_string(), "blocks");
    let storms = section(&report, "Connecting all at once");
    let storm = row(storms, &["over WebSocket", "axum", "2,000 connections"]);
    assert!(storm[3].starts_with("30.0 ms [") && storm[4].starts_with("2.0"), "{storm:?}");
    assert!(storm[5].starts_with("50.0 ms [") && storm[6].starts_with("10.0 µs ["), "{storm:?}");
    for of_requests in ["requests/s", "p99.9", "CPU µs/request", "NaN", "inf"] {
        assert!(!report.contains(of_requests), "{of_requests} in {report}");
    }
    assert!(report.contains("--hold") && !report.contains("Incomplete"), "{report}");
    assert!(dir.path().join(&run.name).join("view-1.svg").is_file());
    let summary = std::fs::read_to_string(dir.path().join(&run.name).join("summary.json")).unwrap();
    for not_measured in ["requests_per_second", "\"value\": null"] {
        assert!(!summary.contains(not_measured), "{not_measured}: there were no requests");
    }
}
