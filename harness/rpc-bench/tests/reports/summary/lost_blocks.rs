//! Blocks that were lost to the machine: left out, and run again.

use super::*;
use bench_core::config::View;
use bench_core::load::Level;

#[test]
fn a_lost_block_is_counted_and_left_out() {
    let campaign = Campaign { max_extra_blocks: Some(0), ..campaign(13) };
    let summary = of(&campaign, |trial| {
        let stolen = trial.block == 4 && trial.server == "actix";
        let mut sample = sample(if stolen { 10_000.0 } else { 100_000.0 }, 10.0);
        sample.host.steal_s = Some(if stolen { 100.0 } else { 0.0 });
        completed(sample)
    });
    let pair = actix_over_legacy(&summary);
    let [rate, _] = rate_and_cpu(pair);
    assert_eq!((pair.invalid_blocks, rate.blocks, rate.verdict), (1, 12, Verdict::Equivalent));
    assert_eq!(summary.cell("actix", "getBalance", 125).unwrap().marks, [Mark::Steal]);
}

/// [`mixed`] on a machine that spoils the trials of actix in the blocks that `spoils` names.
pub(super) fn spoiled(extra: u32, spoils: impl Fn(u32) -> bool) -> (Campaign, impl Fn(&Trial) -> Outcome) {
    let (campaign, gave) = mixed();
    let gave = move |trial: &Trial| match gave(trial) {
        Outcome::Completed(mut sample) if spoils(trial.block) && trial.server == "actix" => {
            sample.load.succeeded = 1;
            sample.foreign_cpu = Some(ForeignCpu { used_s: 0.46, of_s: 2.0, limit: 0.03, busiest: None });
            Outcome::Completed(sample)
        }
        outcome => outcome,
    };
    (Campaign { max_extra_blocks: Some(extra), ..campaign }, gave)
}

#[test]
fn a_lost_block_is_run_again_as_a_new_one() {
    let (campaign, gave) = spoiled(6, |block| block == 2 || block == 5);
    let ran = Ran::through(&campaign, &gave);
    let (observations, summary) = (&ran.observations, &ran.summary);
    let blocks = summary.block_counts[0];
    let pair = actix_over_legacy(summary);
    let [rate, _] = rate_and_cpu(pair);
    assert_eq!((pair.settled_at, rate.blocks), (Some(blocks), blocks as usize));
    assert_eq!((pair.invalid_blocks, pair.run_again), (2, 2));
    assert_eq!(pair.lost, BTreeMap::from([(Lost::ForeignCpu, 2)]));
    assert_eq!(rate.verdict, Verdict::Faster, "the spoiled figures are in no ratio");
    assert_eq!(ran.blocks("actix").last(), Some(&(blocks + 2)));
    assert_eq!(summary.invalid.len(), 4, "two blocks at two loads");
    assert_eq!(summary.invalid[0].reason, "another process used 23 % of the cores (max_foreign_cpu is 3 %)");
    // Its valid trials are twice as fast as the ceiling's.
    let cell = summary.cell("actix", "getBalance", 125).unwrap();
    assert_eq!(cell.marks, [Mark::NearCeiling, Mark::ForeignCpu]);
    assert_eq!((cell.completed, cell.invalid[&Lost::ForeignCpu]), (blocks as usize, 2));
    assert_eq!(cell.figure(Figure::RequestsPerSecond).unwrap().value, 200_000.0);
    // Servers that are compared stand together in the blocks that are run again, too.
    assert!(["legacy", "jsonrpsee"].iter().all(|server| ran.blocks(server).contains(&(blocks + 2))));
    // Nothing is judged, nor shown as a first screen, while a block of the first interim analysis is missing.
    let is_analysed = |observations: &[Observation]| {
        let observed = Observed::new(observations);
        let levels: Vec<_> = campaign.connections.iter().copied().map(Into::into).collect();
        Comparisons::new(&campaign, &levels, &plan::trials(&campaign), &observed).is_analysed()
    };
    let planned = observations.iter().take_while(|o| o.trial.block <= blocks).count();
    assert!(planned > 0 && !is_analysed(&observations[..planned]) && is_analysed(observations));
}

#[test]
fn lost_blocks_are_run_again_within_a_bound() {
    let (campaign, gave) = spoiled(3, |_| true);
    let summary = Ran::through(&campaign, &gave).summary;
    assert_eq!(plan::trials(&campaign).last().unwrap().block, 43);
    assert_eq!(summary.comparison("actix", "legacy", "getBalance", 125), None, "no block has both");
    let other = summary.comparison("jsonrpsee", "legacy", "getBalance", 125).unwrap();
    assert_eq!((other.settled_at, other.run_again), (Some(40), 0), "another pair has lost nothing");
}

#[test]
fn a_block_with_a_failure_is_not_run_again() {
    let campaign = campaign(7);
    let gave = |trial: &Trial| match (trial.server.as_str(), trial.block) {
        ("actix", 3) => Outcome::ServerDied { reason: "signal 9".into(), after_s: None },
        ("legacy", 3) => Outcome::Invalid { reason: "the paired trial failed".into() },
        ("actix", 5) => Outcome::ToolFailed { reason: "exit code 1".into() },
        _ => completed(sample(100_000.0, 10.0)),
    };
    let ran = Ran::through(&campaign, &gave);
    let pair = actix_over_legacy(&ran.summary);
    assert_eq!((rate_and_cpu(pair)[0].blocks, pair.run_again), (6, 1));
    assert_eq!(pair.lost, BTreeMap::from([(Lost::ToolFailed, 1)]));
    assert_eq!(ran.blocks("actix").last(), Some(&8));
}

/// Servers that nothing is compared with, on a machine that spoils the trials that `spoils` names.
pub(super) fn uncompared(spoils: impl Fn(&Trial) -> bool) -> (Campaign, impl Fn(&Trial) -> Outcome) {
    let campaign = Campaign { baseline: None, comparisons: Vec::new(), curve_blocks: None, ..campaign(3) };
    let gave = move |trial: &Trial| {
        let mut sample = sample(1_000.0, 10.0);
        sample.host.steal_s = Some(if spoils(trial) { 0.4 } else { 0.0 });
        completed(sample)
    };
    (campaign, gave)
}

#[test]
fn what_no_pair_holds_is_run_again_within_a_bound_too() {
    let (campaign, gave) = uncompared(|trial| trial.server == "actix" && trial.block <= 2);
    let ran = Ran::through(&campaign, &gave);
    assert_eq!((ran.blocks("actix"), ran.blocks("legacy")), (vec![1, 2, 3, 4, 5], vec![1, 2, 3]));
    let cell = ran.summary.cell("actix", "getBalance", 125).unwrap();
    assert_eq!((cell.completed, &cell.invalid), (3, &BTreeMap::from([(Lost::Steal, 2)])));
    let (campaign, gave) = uncompared(|trial| trial.server == "actix");
    let ran = Ran::through(&campaign, &gave);
    assert_eq!((ran.blocks("actix").len(), campaign.extra_blocks()), (6, 3));
    assert_eq!(ran.summary.cell("actix", "getBalance", 125).unwrap().completed, 0);
}

#[test]
fn cells_that_a_view_pairs_are_run_again_together() {
    let (campaign, gave) = uncompared(|trial| trial.server == "actix" && trial.block == 2);
    let over = BTreeMap::from([("server".to_owned(), "legacy".into())]);
    let view = View { figure: vec![Figure::P99Us], over, ..View::default() };
    let ran = Ran::through(&Campaign { views: vec![view], ..campaign }, &gave);
    assert_eq!((ran.blocks("actix"), ran.blocks("legacy")), (vec![1, 2, 3, 4], vec![1, 2, 3, 4]));
}

/// A pair on one core at the same time, of which the hypervisor takes a tenth in every second block.
fn duet_with_steal(rate: Option<u32>) -> Summary {
    let mut campaign = campaign(12);
    campaign.environment.placement = Placement::Duet;
    let level = Level { connections: 25, rate, ..Level::default() };
    let trials = plan::trials_at(&campaign, &[level]);
    let gave = |trial: &Trial| {
        let is_stolen = trial.block.is_multiple_of(2);
        // All of it takes longer, and each request costs both servers a fifth more.
        let cpu_us = if trial.server == "actix" { 8.0 } else { 10.0 } * if is_stolen { 1.2 } else { 1.0 };
        let mut sample = sample(1_000.0, cpu_us);
        sample.load.latency_us.p99 = if is_stolen && trial.server == "actix" { 900.0 } else { 100.0 };
        sample.host.steal_s = Some(if is_stolen { 0.2 } else { 0.0 });
        completed(sample)
    };
    let observations: Vec<Observation> = trials.iter().map(|trial| observation(trial, gave(trial))).collect();
    summarize(&campaign, &[level], &trials, &observations)
}

#[test]
fn steal_spoils_rates_and_latencies_and_no_ratio_of_cpu_in_a_duet() {
    let summary = duet_with_steal(None);
    let [pair] = &summary.comparisons[..] else { panic!("{:?}", summary.comparisons) };
    let [rate, cpu] = rate_and_cpu(pair);
    assert_eq!((pair.invalid_blocks, pair.run_again, cpu.blocks), (0, 0, 12), "nothing is run again");
    assert!((cpu.ratio.value - 0.8).abs() < 1e-9, "{pair:?}");
    let p99 = pair.ratio(Figure::P99Us).unwrap().value;
    assert_eq!((rate.blocks, p99), (6, 1.0), "only of the blocks without steal");
    let cell = summary.cells.iter().find(|cell| cell.server == "legacy").unwrap();
    let cpu_us = cell.figure(Figure::CpuUsPerRequest).unwrap().value;
    assert!((cpu_us - 10.0).abs() < 1e-9, "CPU time by itself is of trials without steal: {cpu_us}");
    let reason = &summary.invalid[0].reason;
    assert!(reason.contains("the ratio of CPU per request counts all the same"), "{reason}");
    // At a rate there are latencies, and these need blocks without steal.
    let [pair] = &duet_with_steal(Some(500)).comparisons[..] else { panic!() };
    assert_eq!((pair.lost.get(&Lost::Steal), pair.run_again), (Some(&9), 6));
}

#[test]
fn steal_spoils_a_ratio_of_cpu_of_servers_that_ran_one_after_the_other() {
    let campaign = Campaign { max_extra_blocks: Some(0), ..campaign(12) };
    let summary = of(&campaign, |trial| {
        let mut sample = sample(1_000.0, 10.0);
        sample.host.steal_s = Some(if trial.block.is_multiple_of(2) { 0.2 } else { 0.0 });
        completed(sample)
    });
    let pair = actix_over_legacy(&summary);
    let [rate, cpu] = rate_and_cpu(pair);
    assert_eq!((pair.invalid_blocks, cpu.blocks, rate.blocks), (6, 6, 6));
}
