//! Blocks that were lost to the machine: left out, and run again.

use super::*;
use bench_model::config::View;
use bench_model::load::Level;

#[test]
fn a_lost_block_is_counted_and_left_out() {
    let campaign = Campaign { max_extra_blocks: Some(0), ..campaign(13) };
    let summary = summarized(
        &campaign,
        &observe(&campaign, |trial| {
            let stolen = trial.block == 4 && trial.server == "actix";
            let mut sample = sample(if stolen { 10_000.0 } else { 100_000.0 }, 10.0);
            sample.host.steal_s = Some(if stolen { 100.0 } else { 0.0 });
            completed(sample)
        }),
    );
    let comparison = actix_over_legacy(&summary);
    assert_eq!((comparison.invalid_blocks, comparison.findings[&Figure::RequestsPerSecond].blocks), (1, 12));
    assert_eq!(comparison.findings[&Figure::RequestsPerSecond].verdict, Verdict::Equivalent);
    assert_eq!(summary.cell("actix", "getBalance", 125).unwrap().marks, [Mark::Steal]);
}

/// [`mixed`] on a machine that spoils the trials of actix in the blocks that `spoils` names.
fn spoiled(extra: u32, spoils: impl Fn(u32) -> bool) -> (Campaign, impl Fn(&Trial) -> Outcome) {
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
    let observations = run_in_stints(&campaign, usize::MAX, &gave);
    let summary = summarized(&campaign, &observations);
    let blocks = summary.block_counts[0];
    let comparison = actix_over_legacy(&summary);
    assert_eq!(
        (comparison.settled_at, comparison.findings[&Figure::RequestsPerSecond].blocks),
        (Some(blocks), blocks as usize)
    );
    assert_eq!((comparison.invalid_blocks, comparison.run_again), (2, 2));
    assert_eq!(comparison.lost, BTreeMap::from([(Lost::ForeignCpu, 2)]));
    assert_eq!(
        comparison.findings[&Figure::RequestsPerSecond].verdict,
        Verdict::Faster,
        "the spoiled figures are in no ratio"
    );
    let of_actix = |observation: &&Observation| observation.trial.server == "actix";
    let last = observations.iter().filter(of_actix).map(|observation| observation.trial.block).max();
    assert_eq!(last, Some(blocks + 2));
    assert_eq!(summary.invalid.len(), 4, "two blocks at two loads");
    assert_eq!(summary.invalid[0].reason, "another process used 23 % of the cores (max_foreign_cpu is 3 %)");
    // Its valid trials are twice as fast as the ceiling's.
    let cell = summary.cell("actix", "getBalance", 125).unwrap();
    assert_eq!(cell.marks, [Mark::NearCeiling, Mark::ForeignCpu]);
    assert_eq!((cell.completed, cell.invalid[&Lost::ForeignCpu]), (blocks as usize, 2));
    assert_eq!(cell.figure(Figure::RequestsPerSecond).unwrap().value, 200_000.0);
    // Servers that are compared stand together in the blocks that are run again, too.
    let in_block =
        |server: &str| observations.iter().any(|o| o.trial.server == server && o.trial.block == blocks + 2);
    assert!(in_block("legacy") && in_block("jsonrpsee"));
    assert_eq!(summary.left, 0);
    // Nothing is judged, nor shown as a first screen, while a block of the first interim analysis is missing.
    let is_analysed = |observations: &[Observation]| {
        let observed = Observed::new(observations);
        let levels: Vec<_> = campaign.connections.iter().copied().map(Into::into).collect();
        Comparisons::new(&campaign, &levels, &plan::trials(&campaign), &observed).is_analysed()
    };
    let first = summary.block_counts[0];
    let planned = observations.iter().take_while(|o| o.trial.block <= first).count();
    assert!(planned > 0 && !is_analysed(&observations[..planned]) && is_analysed(&observations));
}

#[test]
fn a_resumed_run_with_lost_blocks_has_the_same_summary() {
    let (campaign, gave) = spoiled(6, |block| block % 4 == 1);
    let through = run_in_stints(&campaign, usize::MAX, &gave);
    for stint in [1, 5, 40] {
        assert_eq!(run_in_stints(&campaign, stint, &gave), through);
    }
}

#[test]
fn lost_blocks_are_run_again_within_a_bound() {
    let (campaign, gave) = spoiled(3, |_| true);
    let observations = run_in_stints(&campaign, usize::MAX, &gave);
    let trials = plan::trials(&campaign);
    let summary = summarized(&campaign, &observations);
    assert_eq!((summary.left, trials.last().unwrap().block), (0, 43));
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
    let observations = run_in_stints(&campaign, usize::MAX, &gave);
    let summary = summarized(&campaign, &observations);
    let comparison = actix_over_legacy(&summary);
    assert_eq!((comparison.findings[&Figure::RequestsPerSecond].blocks, comparison.run_again), (6, 1));
    assert_eq!(comparison.lost, BTreeMap::from([(Lost::ToolFailed, 1)]));
    assert_eq!(observations.iter().map(|observation| observation.trial.block).max(), Some(8));
}

/// Servers that nothing is compared with, on a machine that spoils the trials that `spoils` names.
fn uncompared(spoils: impl Fn(&Trial) -> bool) -> (Campaign, impl Fn(&Trial) -> Outcome) {
    let campaign = Campaign { baseline: None, comparisons: Vec::new(), curve_blocks: None, ..campaign(3) };
    let gave = move |trial: &Trial| {
        let mut sample = sample(1_000.0, 10.0);
        sample.host.steal_s = Some(if spoils(trial) { 0.4 } else { 0.0 });
        completed(sample)
    };
    (campaign, gave)
}

#[test]
fn what_no_pair_holds_is_run_again_too() {
    let (campaign, gave) = uncompared(|trial| trial.server == "actix" && trial.block <= 2);
    let observations = run_in_stints(&campaign, usize::MAX, &gave);
    let blocks = |server: &str| {
        let of = |observation: &&Observation| observation.trial.server == server;
        observations.iter().filter(of).map(|observation| observation.trial.block).collect::<Vec<u32>>()
    };
    assert_eq!((blocks("actix"), blocks("legacy")), (vec![1, 2, 3, 4, 5], vec![1, 2, 3]));
    let summary = summarized(&campaign, &observations);
    let cell = summary.cell("actix", "getBalance", 125).unwrap();
    assert_eq!((cell.completed, &cell.invalid, summary.left), (3, &BTreeMap::from([(Lost::Steal, 2)]), 0));
    for stint in [1, 2] {
        assert_eq!(
            run_in_stints(&campaign, stint, &gave),
            observations,
            "a resumed run makes the same trials"
        );
    }
}

#[test]
fn cells_that_a_view_pairs_are_run_again_together() {
    let (campaign, gave) = uncompared(|trial| trial.server == "actix" && trial.block == 2);
    let over = BTreeMap::from([("server".to_owned(), "legacy".into())]);
    let view = View { figure: vec![Figure::P99Us], over, ..View::default() };
    let campaign = Campaign { views: vec![view], ..campaign };
    let observations = run_in_stints(&campaign, usize::MAX, &gave);
    let last = observations.iter().filter(|observation| observation.trial.block == 4).count();
    assert_eq!((observations.len(), last), (8, 2), "both in one block, so that there is a ratio of it");
}

#[test]
fn what_no_pair_holds_is_run_again_within_a_bound() {
    let (campaign, gave) = uncompared(|trial| trial.server == "actix");
    let observations = run_in_stints(&campaign, usize::MAX, &gave);
    let of_actix = observations.iter().filter(|observation| observation.trial.server == "actix").count();
    assert_eq!((of_actix, campaign.extra_blocks()), (6, 3));
    let summary = summarized(&campaign, &observations);
    assert_eq!((summary.left, summary.cell("actix", "getBalance", 125).unwrap().completed), (0, 0));
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
    assert_eq!(
        (pair.invalid_blocks, pair.run_again, pair.findings[&Figure::CpuUsPerRequest].blocks),
        (0, 0, 12),
        "nothing is run again"
    );
    assert!((pair.findings[&Figure::CpuUsPerRequest].ratio.value - 0.8).abs() < 1e-9, "{pair:?}");
    assert_eq!(
        (pair.findings[&Figure::RequestsPerSecond].blocks, pair.ratio(Figure::P99Us).unwrap().value),
        (6, 1.0),
        "only of the blocks without steal"
    );
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
    let summary = summarized(
        &campaign,
        &observe(&campaign, |trial| {
            let mut sample = sample(1_000.0, 10.0);
            sample.host.steal_s = Some(if trial.block.is_multiple_of(2) { 0.2 } else { 0.0 });
            completed(sample)
        }),
    );
    let pair = actix_over_legacy(&summary);
    assert_eq!(
        (
            pair.invalid_blocks,
            pair.findings[&Figure::CpuUsPerRequest].blocks,
            pair.findings[&Figure::RequestsPerSecond].blocks
        ),
        (6, 6, 6)
    );
}
