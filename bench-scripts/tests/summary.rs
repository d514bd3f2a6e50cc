//! Observations with a known truth, and what the summary makes of them.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use rpc_bench::analysis::{Figure, Mark, Summary, Verdict, summarize};
use rpc_bench::config::{Campaign, ConfigDir, PassRule};
use rpc_bench::load::{Latency, LoadSample};
use rpc_bench::observation::{Observation, Outcome, Sample};
use rpc_bench::plan::{self, Trial};
use rpc_bench::probe::host::HostActivity;
use rpc_bench::probe::network::NetworkCounters;
use rpc_bench::probe::process::CpuTime;

/// Two servers, one request, one load.
fn campaign(blocks: u32) -> Campaign {
    let (quick, _) = ConfigDir(PathBuf::from(env!("CARGO_MANIFEST_DIR"))).campaign("quick").unwrap();
    Campaign {
        servers: vec!["legacy".into(), "actix".into()],
        ceiling: None,
        workloads: vec!["getBalance".into()],
        connections: vec![125],
        headline: BTreeMap::new(),
        blocks,
        ..quick
    }
}

/// A window of one second in which a server answered `rate` requests for `cpu_us` each.
fn sample(rate: f64, cpu_us: f64) -> Sample {
    let latency_us = Latency { mean: 1.0, p50: 1.0, p90: 1.0, p99: 1.0, p999: None, max: 1.0 };
    let load = LoadSample {
        succeeded: rate as u64,
        failed: BTreeMap::new(),
        time_taken_s: 1.0,
        bytes_read: 1,
        latency_us,
        quantiles: Vec::new(),
    };
    let used = rate * cpu_us / 1e6;
    Sample {
        load,
        server_cpu: CpuTime { user_s: used / 2.0, system_s: used / 2.0 },
        server_requests: Some(rate as u64),
        server_peak_memory_bytes: Some(1),
        client_cpu: CpuTime { user_s: 0.01, system_s: 0.01 },
        window_s: 1.0,
        network: NetworkCounters::default(),
        host: HostActivity::default(),
        answer_bytes: 100,
        server_errors: Some(0),
        memory_before_bytes: None,
        established: None,
        first_half: None,
        resources: Vec::new(),
        sampler_cpu_s: None,
    }
}

fn observe(campaign: &Campaign, outcome: impl Fn(&Trial) -> Outcome) -> Vec<Observation> {
    let observation = |trial: Trial| {
        let outcome = outcome(&trial);
        Observation { trial, started_at: String::new(), took_s: 1.0, outcome }
    };
    plan::trials(campaign).into_iter().map(observation).collect()
}

/// A machine that gets half as fast from block to block, and actix `faster` times legacy, give or take `noise`.
fn drifting(blocks: u32, faster: f64, noise: f64) -> Summary {
    let campaign = campaign(blocks);
    let observations = observe(&campaign, |trial| {
        let machine = 100_000.0 / f64::from(trial.block);
        let wobble = 1.0 + noise * if trial.block % 2 == 0 { 1.0 } else { -1.0 };
        let rate = if trial.server == "actix" { machine * faster * wobble } else { machine };
        Outcome::Completed(Box::new(sample(rate, 1e6 / rate)))
    });
    summarize(&campaign, &[125], observations.len(), &observations)
}

#[test]
fn pairs_see_through_a_machine_that_drifts() {
    let summary = drifting(8, 1.10, 0.01);
    let comparison = summary.comparison("actix", "legacy", "getBalance", 125).unwrap();
    assert_eq!((comparison.rate_verdict, comparison.cpu_verdict), (Verdict::Faster, Verdict::Faster));
    let (low, high) = comparison.rate_ratio.interval.unwrap();
    assert!(low < 1.10 && 1.10 < high && high - low < 0.04, "{comparison:?}");
    assert!(comparison.cpu_ratio.value < 1.0);
}

#[test]
fn the_other_way_round_is_slower_and_noise_is_no_verdict() {
    let verdict =
        |summary: Summary| summary.comparison("actix", "legacy", "getBalance", 125).unwrap().rate_verdict;
    assert_eq!(verdict(drifting(8, 0.90, 0.01)), Verdict::Slower);
    assert_eq!(verdict(drifting(8, 1.00, 0.05)), Verdict::CantTell);
    assert_eq!(verdict(drifting(5, 2.00, 0.00)), Verdict::CantTell, "five blocks give no interval");
}

#[test]
fn a_failed_trial_is_named_and_its_block_leaves_the_pairs() {
    let campaign = campaign(7);
    let observations = observe(&campaign, |trial| match (trial.server.as_str(), trial.block) {
        ("actix", 3) => Outcome::WrongAnswer { when: "before the window".into(), answer: "HTTP 500".into() },
        ("actix", _) => Outcome::Completed(Box::new(sample(120_000.0, 8.0))),
        _ => Outcome::Completed(Box::new(sample(100_000.0, 10.0))),
    });
    let summary = summarize(&campaign, &[125], observations.len(), &observations);
    let cell = summary.cell("actix", "getBalance", 125).unwrap();
    assert_eq!((cell.completed, summary.failed.len()), (6, 1));
    assert_eq!(cell.marks, [Mark::FailedTrials]);
    assert!(summary.has_wrong_answer());
    assert_eq!(summary.comparison("actix", "legacy", "getBalance", 125).unwrap().pairs, 6);
    assert_eq!(cell.figure(Figure::RequestsPerSecond).unwrap().value, 120_000.0, "a failure is no zero");
}

#[test]
fn a_server_that_was_never_measured_has_a_cell_and_no_figures() {
    let campaign = campaign(1);
    let observations = observe(&campaign, |_| Outcome::ServerDied { reason: "signal 9".into() });
    let summary = summarize(&campaign, &[125], observations.len(), &observations);
    let cell = summary.cell("legacy", "getBalance", 125).unwrap();
    assert!(cell.figures.is_empty() && cell.completed == 0);
    assert_eq!(cell.marks, [Mark::FailedTrials]);
    assert_eq!(summary.comparisons, []);
}

#[test]
fn a_bound_holds_or_breaks_and_never_passes_unmeasured() {
    let rule = |at_most| PassRule {
        figure: Figure::CpuUsPerRequest,
        server: "actix".into(),
        over: "legacy".into(),
        at_most,
    };
    let campaign = Campaign { pass: vec![rule(0.85), rule(0.75)], ..campaign(6) };
    let holds = |observations: &[Observation]| -> Vec<bool> {
        summarize(&campaign, &[125], 12, observations).bounds.iter().map(|bound| bound.holds).collect()
    };
    let measured = observe(&campaign, |trial| {
        Outcome::Completed(Box::new(sample(100_000.0, if trial.server == "actix" { 8.0 } else { 10.0 })))
    });
    assert_eq!(holds(&measured), [true, false]);
    assert_eq!(holds(&[]), [false, false]);
}
