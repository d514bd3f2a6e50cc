//! The original test's repetition: trials whose figures are known, and what the report compares with the original's.

use std::path::Path;

use crate::observed::{self, observe_planned};
use crate::samples::{conditions, sample};
use bench_analysis::original::reproduced;
use bench_model::config::ConfigDir;
use bench_model::load::Latency;
use bench_model::observation::{Observation, Sample};
use bench_model::plan::Plan;
use bench_model::plan::{self, Trial};
use bench_model::results::RunFolder;

fn planned() -> Plan {
    let config = ConfigDir::of_repository();
    let (campaign, _) = config.campaign("original").unwrap();
    Plan {
        workloads: campaign.workloads.iter().map(|name| config.workload(name).unwrap()).collect(),
        servers: campaign.servers.iter().map(|name| campaign.server(&config, name).unwrap()).collect(),
        trials: plan::trials(&campaign),
        threads: 2,
        campaign,
        ..Plan::default()
    }
}

/// Ten seconds in which 250 of 500 connections were served in 80 ms each, and the others ran into the timeout.
fn starved() -> Sample {
    let mut sample = sample(31_250.0, 300.0);
    sample.load.time_taken_s = 10.0;
    sample.load.failed.insert("timeout".to_owned(), 1_250);
    sample.load.latency_us =
        Latency { mean: 153e3, p50: 80e3, p90: 90e3, p99: 2e6, p999: Some(2e6), max: 2.05e6 };
    sample.load.quantiles = vec![(0.5, 80e3), (0.95, 140e3), (0.99, 2e6), (1.0, 2.05e6)];
    (sample.load.bytes_read, sample.load.bytes_written) = (20 << 20, Some(10 << 20));
    sample
}

/// The same without a connection that waits, at twice the rate.
fn served() -> Sample {
    let mut sample = starved();
    sample.load.succeeded = 65_000;
    sample.server_requests = Some(65_000);
    sample.load.failed.clear();
    sample.load.latency_us.p99 = 100e3;
    sample
}

fn observe(plan: &Plan) -> Vec<Observation> {
    let gave = |trial: &Trial| if trial.server == "legacy-original" { starved() } else { served() };
    let observed = observe_planned(plan, gave).into_iter();
    observed.map(|observation| Observation { took_s: 12.0, ..observation }).collect()
}

/// A results folder of known observations.
fn folder(dir: &Path, plan: &Plan) -> RunFolder {
    let conditions = conditions("just bench-all original");
    observed::folder(dir, &plan.campaign.name, plan, &conditions, observe(plan))
}

#[test]
fn every_trial_of_an_arm_is_read_as_bombardier_prints_it() {
    let plan = planned();
    let found = reproduced(&plan, &observe(&plan));
    assert_eq!(found.len(), plan.trials.iter().filter(|trial| trial.block == 1).count());
    let of =
        |server: &str| found.iter().find(|of| of.server == server && of.workload == "getBlocks").unwrap();
    let base = of("legacy-original").printed;
    assert_eq!(
        (base.requests_per_second, base.answered_per_second, base.timeouts),
        (3_250.0, 3_125.0, Some(1_250.0))
    );
    assert_eq!(
        (base.p95_us, base.at_work(), base.bytes_per_second),
        (Some(140e3), Some(250.0), Some(3_145_728.0))
    );
    assert_eq!(of("legacy-workers-2").printed.timeouts, Some(0.0));
}

#[test]
fn the_report_compares_the_original_with_the_run_and_each_change_with_its_arm() {
    let plan = planned();
    let dir = tempfile::tempdir().unwrap();
    let folder = folder(dir.path(), &plan);
    let run = bench_report::write(&folder).unwrap();
    assert!(run.left() == 0, "one block of every trial is all that is planned");
    let text = std::fs::read_to_string(folder.0.join("report.md")).unwrap();
    let squeezed = text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    for needed in [
        "### getBlocks at 500 connections",
        "| legacy-workers-2 | legacy | as legacy-original, but 2 workers |",
        "| master (jsonrpc-core) | the original | 3,315 | 3,236 | 1,293 | 150 ms | 75.7 ms | 136 ms | 2.00 s | 2.03 s \
         | 27.43 | 245 |",
        "| master (jsonrpc-core) | here: legacy as master | 3,250 | 3,125 | 1,250 | 153 ms | 80.0 ms | 140 ms | 2.00 \
         s | 2.05 s | 3.00 | 250 |",
        "| master (jsonrpc-core) | legacy as master / the original | 0.98 | 0.97 | 0.97 | 1.02 | 1.06 |",
        "- legacy as master, global queue interval 8: 2.08 times the answers/s, timeouts 1,250 to 0, p50 80.0 ms to \
         80.0 ms, p99 2.00 s to 100 ms.",
        "**predicted and not measured**",
        "| legacy as master | getBlocks at 500 |",
        "--global-queue-interval=61 --walk-ns-per-slot=129",
    ] {
        assert!(squeezed.contains(needed), "the report lacks {needed:?}:\n{text}");
    }
    assert!(!text.contains("throughput.svg"), "15 arms at one load each are no lines of a chart:\n{text}");
    let read = |name: &str| std::fs::read_to_string(folder.0.join(name));
    assert!(read("throughput.svg").is_err() && read("quantiles.svg").is_err());
    let chart = read("original-getBlocks.svg").unwrap();
    for needed in [
        "master (jsonrpc-core)",
        "here: legacy as master",
        "but 2 workers",
        "1,293",
        "1,250",
        "2.00 s",
        "500: answered/s",
    ] {
        assert!(chart.contains(needed), "the chart lacks {needed:?}");
    }
    assert!(text.contains("](original-getBlocks.svg)") && text.contains("](original-getBalance.svg)"));
}
