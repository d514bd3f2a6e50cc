//! What reports say of head-of-line blocking and of held connections: the shipped campaigns on synthetic samples with a
//! known truth; and which campaigns are refused.

use std::path::Path;

use bench_measure::run;
use bench_model::config::ConfigDir;
use bench_model::load::sample_details::{Connects, Details, MethodLatency};
use bench_model::load::{Latency, LoadTool};
use bench_model::observation::{Observation, Sample};
use bench_model::plan::{Plan, Trial, trials_at};
use bench_model::results::RunFolder;
use bench_model::transport::Transport;
use bench_report::Run;
use bench_system::probe::process_usage::CpuTime;
use bench_system::probe::resources::ResourceSample;
use serde_json::json;
use tempfile::TempDir;

use crate::observed::{self, all, cells, observe_planned, section};
use crate::samples::sample;

/// The plan of a shipped campaign, with its rates where it has any.
fn plan(name: &str) -> Plan {
    let config = ConfigDir::of_repository();
    let (mut plan, _) = run::resolve(&config, name).unwrap();
    plan.campaign.max_extra_blocks = Some(0);
    if let Some(open) = &plan.campaign.open {
        plan.rates = open.levels(|_| Some(LoadTool::RpcLoad));
        plan.trials = trials_at(&plan.campaign, &plan.rates);
    }
    plan
}

fn put(folder: &RunFolder, plan: &Plan, gave: &dyn Fn(&Plan, &Trial) -> Sample) {
    let tool = plan.campaign.tool.name();
    let conditions = json!({
        "started_at": "2026-11-23T00:00:00Z", "command": "just bench-all", "servers": {},
        "host": { "cpu": "test", "cores": 2, "open_files": 1_000 },
        "tool": { "name": tool, "version": "0.1.0", "source": "pinned", "sha256": "" },
    });
    let observed = observe_planned(plan, |trial| gave(plan, trial)).into_iter();
    let at_once = observed.map(|observation| Observation { took_s: 0.001, ..observation });
    observed::fill(folder, plan, &conditions.to_string(), at_once);
}

/// A run of a shipped campaign that gave these samples, and its report.
fn reported(name: &str, gave: impl Fn(&Plan, &Trial) -> Sample) -> (Run, String, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(name);
    let folder = RunFolder::create(dir.path(), name).unwrap();
    folder.write_new("campaign.toml", "").unwrap();
    put(&folder, &plan, &gave);
    if let Some(duets) = plan.duets() {
        put(&RunFolder::create_inside(&folder, "duets").unwrap(), &duets, &gave);
    }
    let (_, text) = observed::reported(&folder);
    let before = text.clone();
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
    (run, text, dir)
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

/// An open loop's window: as many requests as were due.
fn at_rate(trial: &Trial, cpu_us: f64, us: f64) -> Sample {
    let rate = trial.rate.unwrap();
    let mut sample = sample(rate.into(), cpu_us);
    sample.load.latency_us = all(us);
    sample.load.open = Some(observed::at_rate(rate, 1.0, us));
    sample
}

#[test]
fn a_short_call_behind_a_long_answer_is_compared_by_way() {
    let (run, report, _dir) = reported("head-of-line", |plan, trial| {
        let is_one = trial.server.contains("in-flight-64");
        let in_mix = if is_one { 8_000.0 } else { 400.0 };
        let alone = 200.0 * wobble(trial);
        if trial.workload == "getBalance" {
            return at_rate(trial, 30.0, alone);
        }
        let mut sample = at_rate(trial, 60.0, if is_websocket(plan, trial) { 900.0 } else { 950.0 });
        let method = |method: &str, us: f64| MethodLatency {
            method: method.to_owned(),
            requests: 100,
            failed: 0,
            latency_us: all(us),
        };
        sample.load.details.methods =
            vec![method("getBalance", in_mix * wobble(trial)), method("getBlocks", 9_000.0)];
        sample
    });
    assert_eq!(run.summary.views.len(), 3);
    let text = section(&report, "Short calls behind long answers");
    assert!(
        text.contains("Latency is of getBalance alone") && text.contains("getBlocks with [0, 99999]"),
        "{text}"
    );
    let (one, several) = ("64 in flight on a connection", "1 in flight on a connection");
    let in_mix =
        |flight: &str| row(text, &[&format!("{flight}, over WebSocket"), "actix-web", "balancesAndBlocks"]);
    let behind = in_mix(one);
    assert!(behind[3].starts_with("8.0") && behind[4].starts_with("40.00 [40.00, 40.00]"), "{behind:?}");
    assert!(in_mix(several)[4].starts_with("2.00 [2.00, 2.00]"), "{text}");
    let ways = section(&report, "On one WebSocket or on 64");
    assert!(row(ways, &["actix-web", one])[3].starts_with("20.00 [20.00, 20.00]"), "{ways}");
    let http = section(&report, "Over WebSocket or over HTTP");
    assert!(row(http, &["over WebSocket", "jsonrpc-core", one])[4].starts_with("20.00 ["), "{http}");
    assert!(!text.contains("control"), "the ceiling is no part of it: {text}");
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
    let (run, report, dir) = reported("connections", held);
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

/// The shipped campaigns are refused where they ask for what can't be: one line, and what to do.
#[test]
fn a_campaign_that_can_not_be_is_refused() {
    let said = |name: &str, good: &str, bad: &str| {
        let shipped = ConfigDir::of_repository();
        let text = std::fs::read_to_string(shipped.named("campaigns", name).unwrap()).unwrap();
        assert!(text.contains(good), "{good}");
        let dir = tempfile::tempdir().unwrap();
        for folder in ["workloads", "campaigns"] {
            std::fs::create_dir(dir.path().join(folder)).unwrap();
            for (name, path) in shipped.files(folder).unwrap() {
                std::fs::copy(path, dir.path().join(format!("{folder}/{name}.toml"))).unwrap();
            }
        }
        std::fs::copy(shipped.0.join("servers.toml"), dir.path().join("servers.toml")).unwrap();
        std::fs::write(dir.path().join(format!("campaigns/{name}.toml")), text.replacen(good, bad, 1))
            .unwrap();
        let config = ConfigDir(dir.path().to_owned());
        let said = format!("{:#}", run::resolve(&config, name).unwrap_err());
        assert_eq!(said.lines().count(), 1, "{said}");
        said
    };
    let over = "over = { transport = \"http\" }";
    for (name, good, bad, field) in [
        ("connections", "hold = true", "hold = true\nbaseline = \"legacy\"", "field hold"),
        ("connections", "tool = \"rpc-load\"", "", "bombardier can't hold"),
        (
            "connections",
            "[\"http\", \"websocket\"]",
            "[\"http\", \"websocket\"]\nin_flight = [4]",
            "in_flight",
        ),
        ("batches", "batch       = [1, 10, 100]", "batch = [0, 1]", "batch"),
        ("batches", "tool = \"rpc-load\"", "tool = \"vegeta\"", "vegeta"),
        (
            "head-of-line",
            "method   = \"getBalance\"",
            "method = \"getBalances\"",
            "no workload calls \"getBalances\"",
        ),
        ("head-of-line", "in_flight = [1, 64]", "in_flight = [1, 64]\nbatch = [2]", "leave batch out"),
        ("websocket", over, "over = { transport = \"ipc\" }", "field over.transport"),
        ("websocket", over, "over = { workload = \"getBalance\" }", "field over.workload"),
        ("websocket", "max_blocks", "baseline = \"legacy\"\nmax_blocks", "fields baseline and over"),
        ("curves", "headline =", "over = { server = \"legacy\" }\nheadline =", "field over"),
    ] {
        let said = said(name, good, bad);
        assert!(said.contains(field), "{bad:?} gave {said:?}");
    }
}
