//! Gateways on synthetic samples: CPU and memory of both sides by rate, what a cache saves, and where a limit shows.

use std::path::Path;

use bench_measure::run;
use bench_model::config::{Campaign, ConfigDir};
use bench_model::load::LoadTool;
use bench_model::observation::{Sample, UpstreamUse};
use bench_model::plan::{self, Plan, Trial};
use bench_model::results::RunFolder;
use bench_system::probe::process_usage::CpuTime;
use serde_json::json;

use crate::observed::{self, all, cells, folder, observe_planned, section};
use crate::samples::sample;

/// 30 µs of CPU for a request in a gateway and 20 µs in the server behind it, to which a cache lets nothing through;
/// and of 1,500 requests a second a limit refuses what is above 1,000.
fn at_rate(trial: &Trial) -> Sample {
    let rate = trial.rate.unwrap();
    let cpu_us = if trial.server.starts_with("gateway") { 30.0 } else { 20.0 };
    let mut sample = sample(f64::from(rate), cpu_us * (1.0 + 0.002 * f64::from(trial.block % 3)));
    sample.server_peak_memory_bytes = Some(40 << 20);
    sample.load.latency_us = all(300.0);
    sample.load.open = Some(observed::at_rate(rate, 1.0, 299.0));
    if trial.server.starts_with("gateway") {
        sample.server_requests = None;
        let behind_us = if trial.server.starts_with("gateway-cache") { 0.0 } else { 20.0 };
        let cpu = CpuTime { user_s: f64::from(rate) * behind_us / 1e6, system_s: 0.0 };
        sample.upstream = Some(UpstreamUse { cpu, peak_memory_bytes: Some(25 << 20) });
    }
    if trial.server.starts_with("gateway-limit") && rate > 1_000 {
        sample.load.succeeded = 1_000;
        sample.load.failed.insert("HTTP 4xx".to_owned(), u64::from(rate) - 1_000);
    }
    sample
}

fn plan() -> Plan {
    let config = ConfigDir::of_repository();
    let (plan, _) = run::resolve(&config, "gateway").unwrap();
    // The samples are of one second.
    let campaign = Campaign { window_ms: 1_000, ..plan.campaign };
    let rates = campaign.open.as_ref().unwrap().levels(|_| Some(LoadTool::RpcLoad));
    let trials = plan::trials_at(&campaign, &rates);
    Plan { trials, rates, campaign, ..plan }
}

fn reported(dir: &Path) -> (RunFolder, String) {
    let plan = plan();
    let conditions = json!({
        "started_at": "2026-11-23T00:00:00Z", "command": "just bench-all gateway", "servers": {},
        "host": { "cpu": "test", "cores": 2, "open_files": 1_000 },
        "tool": { "name": "rpc-load", "version": "0.1.0", "source": "pinned", "sha256": "" },
    });
    let observed = observe_planned(&plan, at_rate);
    let folder = folder(dir, "gateway", &plan, &conditions.to_string(), observed);
    let (_, report) = observed::reported(&folder);
    (folder, report)
}

#[test]
fn both_sides_of_a_gateway_are_drawn_and_the_cache_and_the_limit_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, report) = reported(dir.path());
    let row = |heading: &str, first: &[&str]| -> Vec<String> {
        let section = section(&report, heading);
        let mut rows = section.lines().map(cells);
        let row = rows.find(|row| row.len() > first.len() && row[1..=first.len()] == *first);
        row.unwrap_or_else(|| panic!("{first:?} in {section}"))
    };
    let sides = row(
        "CPU time of the gateway, and of the server behind it",
        &["over HTTP", "gateway, HTTP behind it", "1,000 requests/s"],
    );
    assert!(sides[4].starts_with("30.") && sides[5].starts_with("20.0 µs"), "{sides:?}");
    let memory = row(
        "Memory of the gateway, and of the server behind it",
        &["over WebSocket", "gateway, one WebSocket behind it", "100 requests/s"],
    );
    assert!(memory[4].starts_with("40.0 MiB") && memory[5].starts_with("25.0 MiB"), "{memory:?}");
    for chart in 1..=5 {
        assert!(folder.0.join(format!("view-{chart}.svg")).is_file(), "{chart}");
    }
    // 50 µs for both together without the cache, and 30 µs with it.
    let cache = row("What the cache saves", &["gateway with a cache", "1,000 requests/s"]);
    assert!(cache[3].starts_with("30.1 µs") && cache[4].starts_with("0.60"), "{cache:?}");
    let limited = row("At which rate the limit shows", &["gateway with a rate limit", "4,000 requests/s"]);
    assert_eq!([&limited[3][..5], &limited[5]], ["1,000", "18,000"], "{limited:?}");
    let unlimited = row("At which rate the limit shows", &["gateway with a rate limit", "1,000 requests/s"]);
    assert_eq!(unlimited[5], "0", "{unlimited:?}");
}
