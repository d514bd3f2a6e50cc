//! Observations with a known truth, and what the summary makes of them.

mod bounds;
mod lost_blocks;

use std::collections::{BTreeMap, HashSet};

use crate::observed::{completed, observation, two_servers};
use crate::samples::sample;
use bench_analysis::block_counts::planned_block_counts;
use bench_analysis::{Comparison, Comparisons, Lost, Mark, Observed, Summary, Verdict, summarize};
use bench_model::config::{Campaign, ConfigDir, PassRule, Placement};
use bench_model::figure::Figure;
use bench_model::observation::{Observation, Outcome};
use bench_model::plan::{self, Trial};
use bench_stats::{Estimate, FAMILY_ERROR, least_count, nominal_level};
use bench_system::probe::other_processes::ForeignCpu;

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

/// A machine that gets half as fast from block to block, and actix `faster` times legacy, give or take `noise`.
fn drifting(blocks: u32, faster: f64, noise: f64) -> Summary {
    let campaign = campaign(blocks);
    let observations = observe(&campaign, |trial| {
        let machine = 100_000.0 / f64::from(trial.block);
        let wobble = 1.0 + noise * if trial.block % 2 == 0 { 1.0 } else { -1.0 };
        let rate = if trial.server == "actix" { machine * faster * wobble } else { machine };
        completed(sample(rate, 1e6 / rate))
    });
    summarized(&campaign, &observations)
}

fn actix_over_legacy(summary: &Summary) -> &Comparison {
    summary.comparison("actix", "legacy", "getBalance", 125).unwrap()
}

#[test]
fn pairs_see_through_a_machine_that_drifts() {
    let summary = drifting(8, 1.10, 0.01);
    let comparison = actix_over_legacy(&summary);
    assert_eq!(
        (
            comparison.findings[&Figure::RequestsPerSecond].verdict,
            comparison.findings[&Figure::CpuUsPerRequest].verdict
        ),
        (Verdict::Faster, Verdict::Faster)
    );
    let (low, high) = comparison.findings[&Figure::RequestsPerSecond].ratio.interval.unwrap();
    assert!(low < 1.10 && 1.10 < high && high - low < 0.04, "{comparison:?}");
    assert!(comparison.findings[&Figure::CpuUsPerRequest].ratio.value < 1.0);
}

#[test]
fn each_of_the_five_verdicts_comes_from_observations() {
    let verdict = |faster, noise| {
        actix_over_legacy(&drifting(12, faster, noise)).findings[&Figure::RequestsPerSecond].verdict
    };
    assert_eq!(verdict(1.10, 0.01), Verdict::Faster);
    assert_eq!(verdict(0.90, 0.01), Verdict::Slower);
    assert_eq!(verdict(1.01, 0.002), Verdict::DifferentButSmall);
    assert_eq!(verdict(1.00, 0.005), Verdict::Equivalent);
    assert_eq!(verdict(1.00, 0.20), Verdict::Inconclusive);
    let few = drifting(5, 2.00, 0.00);
    assert_eq!(
        actix_over_legacy(&few).findings[&Figure::RequestsPerSecond].verdict,
        Verdict::Inconclusive,
        "five blocks give no interval"
    );
    assert_eq!(actix_over_legacy(&few).findings[&Figure::RequestsPerSecond].blocks_needed, Some(6));
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
    let observations = run_in_stints(&campaign, usize::MAX, &gave);
    let blocks = |server: &str| {
        let of = |observation: &&Observation| observation.trial.server == server;
        observations.iter().filter(of).map(|observation| observation.trial.block).max().unwrap()
    };
    let summary = summarized(&campaign, &observations);
    assert_eq!(summary.left, 0);
    assert_eq!(blocks("actix"), summary.block_counts[0]);
    assert_eq!((blocks("jsonrpsee"), blocks("legacy")), (40, 40));
    assert!(blocks("control") <= 6, "the ceiling is compared with nobody");
}

#[test]
fn cells_that_are_not_compared_cost_less() {
    let (campaign, gave) = mixed();
    let headline = BTreeMap::from([("getBalance".to_owned(), 500)]);
    let campaign = Campaign { compare_headline_only: true, curve_blocks: None, headline, ..campaign };
    let observations = run_in_stints(&campaign, usize::MAX, &gave);
    let trials = plan::trials(&campaign);
    let summary = summarized(&campaign, &observations);
    assert_eq!(summary.left, 0);
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
fn a_resumed_run_has_the_same_summary() {
    let (campaign, gave) = mixed();
    let bytes =
        |observations: &[Observation]| serde_json::to_string(&summarized(&campaign, observations)).unwrap();
    let through = run_in_stints(&campaign, usize::MAX, &gave);
    for stint in [1, 7, 50] {
        let stopped = run_in_stints(&campaign, stint, &gave);
        assert_eq!(stopped, through, "the same trials, in the same order");
        assert_eq!(bytes(&stopped), bytes(&through));
    }
    let half = &through[..through.len() / 2];
    assert_eq!(bytes(half), bytes(half), "and can be worked out at any point");
    let summary = summarized(&campaign, half);
    assert!(summary.left > 0);
}

#[test]
fn a_failed_trial_is_named_and_its_block_leaves_the_pairs() {
    let campaign = campaign(7);
    let summary = summarized(
        &campaign,
        &observe(&campaign, |trial| match (trial.server.as_str(), trial.block) {
            ("actix", 3) => Outcome::one_wrong_answer("before the window", "HTTP 500".into()),
            ("actix", _) => completed(sample(120_000.0, 8.0)),
            _ => completed(sample(100_000.0, 10.0)),
        }),
    );
    let cell = summary.cell("actix", "getBalance", 125).unwrap();
    assert_eq!((cell.completed, summary.failed.len()), (6, 1));
    assert_eq!(cell.marks, [Mark::FailedTrials]);
    assert_eq!(actix_over_legacy(&summary).findings[&Figure::RequestsPerSecond].blocks, 6);
    assert_eq!(cell.figure(Figure::RequestsPerSecond).unwrap().value, 120_000.0, "a failure is no zero");
}

#[test]
fn an_unmeasured_server_has_a_cell_and_no_figures() {
    let campaign = campaign(1);
    let summary = summarized(
        &campaign,
        &observe(&campaign, |_| Outcome::ServerDied { reason: "signal 9".into(), after_s: None }),
    );
    let cell = summary.cell("legacy", "getBalance", 125).unwrap();
    assert!(cell.figures.is_empty() && cell.completed == 0);
    assert_eq!(cell.marks, [Mark::FailedTrials]);
    assert_eq!(summary.comparisons, []);
}

/// A bound on actix's CPU over legacy's, still without its limit.
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
