//! Observations with a known truth, and what the summary makes of them.

mod bounds;
mod lost_blocks;

use bench_core::machine::ForeignCpu;
use std::collections::{BTreeMap, HashSet};

use crate::observed::{completed, observation, two_servers};
use crate::samples::sample;
use bench_core::block_counts::planned_block_counts;
use bench_core::config::{Campaign, ConfigDir, PassRule, Placement};
use bench_core::figure::Figure;
use bench_core::observation::{Observation, Outcome};
use bench_core::plan::{self, Trial};
use bench_core::stats::{Estimate, FAMILY_ERROR, least_count, nominal_level};
use bench_core::{Comparison, Comparisons, Finding, Lost, Mark, Observed, Summary, Verdict, summarize};

fn campaign(blocks: u32) -> Campaign {
    Campaign { max_blocks: blocks, max_extra_blocks: None, ..two_servers() }
}

/// What the summary makes of these at the campaign's loads.
fn summarized(campaign: &Campaign, observations: &[Observation]) -> Summary {
    summarize(campaign, &campaign.connections, &plan::trials(campaign), observations)
}

fn observe(campaign: &Campaign, outcome: impl Fn(&Trial) -> Outcome) -> Vec<Observation> {
    let trials = plan::trials(campaign);
    let planned = trials.iter().filter(|trial| trial.block <= campaign.max_blocks);
    planned.map(|trial| observation(trial, outcome(trial))).collect()
}

/// What the summary makes of a campaign whose planned trials gave this.
fn of(campaign: &Campaign, outcome: impl Fn(&Trial) -> Outcome) -> Summary {
    summarized(campaign, &observe(campaign, outcome))
}

/// A machine that gets half as fast from block to block, and actix `faster` times legacy, give or take `noise`: what is
/// found of rates and of CPU time.
fn drifting(blocks: u32, faster: f64, noise: f64) -> [Finding; 2] {
    let summary = of(&campaign(blocks), |trial| {
        let machine = 100_000.0 / f64::from(trial.block);
        let wobble = 1.0 + noise * if trial.block % 2 == 0 { 1.0 } else { -1.0 };
        let rate = if trial.server == "actix" { machine * faster * wobble } else { machine };
        completed(sample(rate, 1e6 / rate))
    });
    rate_and_cpu(actix_over_legacy(&summary))
}

fn actix_over_legacy(summary: &Summary) -> &Comparison {
    summary.comparison("actix", "legacy", "getBalance", 125).unwrap()
}

fn rate_and_cpu(pair: &Comparison) -> [Finding; 2] {
    [Figure::RequestsPerSecond, Figure::CpuUsPerRequest].map(|figure| pair.findings[&figure])
}

/// A run to its end, stopped and resumed now and then or not.
struct Ran {
    observations: Vec<Observation>,
    summary: Summary,
}

impl Ran {
    fn through(campaign: &Campaign, gave: &dyn Fn(&Trial) -> Outcome) -> Self {
        let observations = run_in_stints(campaign, usize::MAX, gave);
        let summary = summarized(campaign, &observations);
        assert_eq!(summary.left, 0);
        Self { observations, summary }
    }

    /// The blocks of a server's trials.
    fn blocks(&self, server: &str) -> Vec<u32> {
        let of = self.observations.iter().filter(|observation| observation.trial.server == server);
        of.map(|observation| observation.trial.block).collect()
    }
}

#[test]
fn pairs_see_through_a_machine_that_drifts() {
    let [rate, cpu] = drifting(8, 1.10, 0.01);
    assert_eq!((rate.verdict, cpu.verdict), (Verdict::Faster, Verdict::Faster));
    let (low, high) = rate.ratio.interval.unwrap();
    assert!(low < 1.10 && 1.10 < high && high - low < 0.04, "{rate:?}");
    assert!(cpu.ratio.value < 1.0);
}

#[test]
fn each_of_the_five_verdicts_comes_from_observations() {
    for (faster, noise, verdict) in [
        (1.10, 0.01, Verdict::Faster),
        (0.90, 0.01, Verdict::Slower),
        (1.01, 0.002, Verdict::DifferentButSmall),
        (1.00, 0.005, Verdict::Equivalent),
        (1.00, 0.20, Verdict::Inconclusive),
    ] {
        assert_eq!(drifting(12, faster, noise)[0].verdict, verdict);
    }
    let [few, _] = drifting(5, 2.00, 0.00);
    assert_eq!((few.verdict, few.blocks_needed), (Verdict::Inconclusive, Some(6)), "five give no interval");
}

/// What a run of `campaign` observes, stopped and resumed after every `stint` trials.
fn run_in_stints(campaign: &Campaign, stint: usize, gave: &dyn Fn(&Trial) -> Outcome) -> Vec<Observation> {
    let trials = plan::trials(campaign);
    let mut observations: Vec<Observation> = Vec::new();
    loop {
        let observed = Observed::new(&observations);
        let done: HashSet<u32> = observations.iter().map(|observation| observation.trial.number).collect();
        let levels: Vec<_> = campaign.connections.iter().copied().map(Into::into).collect();
        let standing = Comparisons::new(campaign, &levels, &trials, &observed);
        let next: Vec<Trial> = standing.needed(&trials, &done).into_iter().take(stint).cloned().collect();
        if next.is_empty() {
            return observations;
        }
        observations.extend(next.iter().map(|trial| observation(trial, gave(trial))));
    }
}

/// Three servers at two loads: actix is resolved at once, jsonrpsee is not.
fn mixed() -> (Campaign, impl Fn(&Trial) -> Outcome) {
    let campaign = Campaign {
        servers: ["legacy", "jsonrpsee", "actix", "control"].map(String::from).to_vec(),
        ceiling: Some("control".into()),
        connections: vec![125, 500],
        precision: Some("1%".parse().unwrap()),
        ..campaign(40)
    };
    let gave = |trial: &Trial| {
        let wobble = 1.0 + 0.2 * ((f64::from(trial.number) * 0.618_034).fract() - 0.5);
        let rate = 100_000.0 * if trial.server == "actix" { 2.0 } else { wobble };
        completed(sample(rate, 1e6 / rate))
    };
    (campaign, gave)
}

/// Trials of a second each. What is never resolved ends at the last planned analysis that fits, and nothing is left to
/// run.
#[test]
fn a_limit_of_time_ends_a_run_at_a_planned_analysis() {
    let (unlimited, gave) = mixed();
    let last = |max_minutes: Option<u64>, stint: usize| {
        let campaign = Campaign { max_minutes, ..unlimited.clone() };
        let observations = run_in_stints(&campaign, stint, &gave);
        let summary = summarized(&campaign, &observations);
        assert_eq!(summary.left, 0);
        let last = observations.iter().map(|observation| observation.trial.block).max().unwrap();
        assert!(summary.block_counts.contains(&last), "{last} of {:?}", summary.block_counts);
        if let Some(minutes) = max_minutes {
            assert!(
                observations.len() as u64 <= minutes * 60 || last == summary.block_counts[0],
                "{minutes}"
            );
        }
        last
    };
    let in_minutes = [1, 2, 3, 600].map(|minutes| last(Some(minutes), usize::MAX));
    let block_counts = planned_block_counts(4, 40, true);
    assert_eq!(in_minutes[0], block_counts[0], "the first analysis is always reached");
    assert!(
        in_minutes.is_sorted() && block_counts[0] < in_minutes[1] && in_minutes[1] < 40,
        "{in_minutes:?}"
    );
    assert_eq!((in_minutes[3], last(None, usize::MAX)), (40, 40));
    assert_eq!(last(Some(2), 7), in_minutes[1], "the same where it is stopped and resumed");
}

#[test]
fn what_is_resolved_stops_costing_time() {
    let (campaign, gave) = mixed();
    let ran = Ran::through(&campaign, &gave);
    let blocks = |server| *ran.blocks(server).last().unwrap();
    assert_eq!(blocks("actix"), ran.summary.block_counts[0]);
    assert_eq!((blocks("jsonrpsee"), blocks("legacy")), (40, 40));
    assert!(blocks("control") <= 6, "the ceiling is compared with nobody");
}

#[test]
fn cells_that_are_not_compared_cost_less() {
    let (campaign, gave) = mixed();
    let headline = BTreeMap::from([("getBalance".to_owned(), 500)]);
    let campaign = Campaign { compare_headline_only: true, curve_blocks: None, headline, ..campaign };
    let Ran { observations, summary } = Ran::through(&campaign, &gave);
    let trials = plan::trials(&campaign);
    let levels: HashSet<u32> = summary.comparisons.iter().map(|pair| pair.level.connections).collect();
    assert_eq!((levels, summary.comparisons.len()), (HashSet::from([500]), 2));
    let blocks =
        |server: &str, connections: u32| summary.cell(server, "getBalance", connections).unwrap().completed;
    assert_eq!((blocks("jsonrpsee", 500), blocks("jsonrpsee", 125)), (40, 6));
    let curve = Campaign { curve_blocks: Some(3), ..campaign.clone() };
    let of_curve = run_in_stints(&curve, usize::MAX, &gave);
    let at_125 = |observation: &&Observation| {
        (observation.trial.server.as_str(), observation.trial.connections) == ("jsonrpsee", 125)
    };
    assert_eq!(of_curve.iter().filter(at_125).count(), 3, "a curve's points are made as often as it says");
    let all = Campaign { compare_headline_only: false, ..campaign.clone() };
    let block_counts = |campaign: &Campaign| {
        summarize(campaign, &campaign.connections, &trials, &observations).block_counts[0]
    };
    assert!(block_counts(&campaign) <= block_counts(&all), "fewer comparisons share the error");
}

#[test]
fn a_resumed_run_makes_the_same_trials() {
    let lost = lost_blocks::spoiled(6, |block| block % 4 == 1);
    let uncompared = lost_blocks::uncompared(|trial| trial.server == "actix" && trial.block <= 2);
    let (plain, gave) = mixed();
    let gave: [&dyn Fn(&Trial) -> Outcome; 3] = [&gave, &lost.1, &uncompared.1];
    for (campaign, gave) in [&plain, &lost.0, &uncompared.0].into_iter().zip(gave) {
        let through = run_in_stints(campaign, usize::MAX, gave);
        for stint in [1, 2, 7, 50] {
            assert_eq!(run_in_stints(campaign, stint, gave), through, "the same, in the same order");
        }
        assert!(summarized(campaign, &through[..through.len() / 2]).left > 0, "it is known at any point");
    }
}

#[test]
fn a_failed_trial_is_named_and_its_block_leaves_the_pairs() {
    let summary = of(&campaign(7), |trial| match (trial.server.as_str(), trial.block) {
        ("actix", 3) => Outcome::one_wrong_answer("before the window", "HTTP 500".into()),
        ("actix", _) => completed(sample(120_000.0, 8.0)),
        _ => completed(sample(100_000.0, 10.0)),
    });
    let cell = summary.cell("actix", "getBalance", 125).unwrap();
    assert_eq!((cell.completed, summary.failed.len(), &cell.marks[..]), (6, 1, &[Mark::FailedTrials][..]));
    assert_eq!(rate_and_cpu(actix_over_legacy(&summary))[0].blocks, 6);
    assert_eq!(cell.figure(Figure::RequestsPerSecond).unwrap().value, 120_000.0, "a failure is no zero");
    let unmeasured = of(&campaign(1), |_| Outcome::ServerDied { reason: "signal 9".into(), after_s: None });
    let cell = unmeasured.cell("legacy", "getBalance", 125).unwrap();
    assert!(cell.figures.is_empty() && cell.completed == 0 && cell.marks == [Mark::FailedTrials]);
    assert_eq!(unmeasured.comparisons, []);
}

/// With too few blocks for its comparisons no difference, however large, could be shown.
#[test]
fn every_shipped_campaign_has_enough_blocks() {
    let config = ConfigDir::of_repository();
    for name in ["quick", "crossed", "allocators", "adapter-cost", "rates", "mixes", "isolation"] {
        let (campaign, _) = config.campaign(name).unwrap();
        let all: Vec<Campaign> = std::iter::once(campaign.clone()).chain(campaign.duet_campaign()).collect();
        for campaign in all {
            let loads = match &campaign.open {
                Some(open) => open.rates.len() * if open.background.is_some() { 2 } else { 1 },
                None => campaign.connections.len(),
            };
            let loads = if campaign.compare_headline_only { 1 } else { loads };
            let family = campaign.compared().len() * campaign.workloads.len() * loads;
            let block_counts =
                planned_block_counts(family, campaign.max_blocks, campaign.precision.is_some());
            let level = nominal_level(&block_counts, FAMILY_ERROR / family as f64);
            let least = least_count(level);
            assert!(
                least <= block_counts[0] as usize,
                "{}: {family} comparisons, block_counts {block_counts:?}, {least} needed",
                campaign.name
            );
        }
    }
}
