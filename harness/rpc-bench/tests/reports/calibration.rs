//! A calibration on synthetic observations: what it counts is what was put in.

use std::fs;

use crate::kept::newest;
use crate::observed::{completed, observation};
use crate::samples::sample;
use bench_analysis::Verdict;
use bench_analysis::calibration::{
    CalibrationSummary, CommonWay, Power, RatesSummary, calibrate, calibrate_rates,
};
use bench_model::config::{Arm, Calibration, ConfigDir, Placement, Sizing};
use bench_model::figure::Figure;
use bench_model::observation::{Observation, Outcome};
use bench_model::plan::Trial;
use bench_model::results::RunFolder;
use bench_stats::Estimate;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// CPU time of a round, in nanoseconds.
const ROUND_NS: f64 = 2.0;

fn shipped() -> Calibration {
    ConfigDir::of_repository().calibration().unwrap().0
}

fn placed(placement: Placement) -> Calibration {
    let mut calibration = shipped();
    calibration.environment.placement = placement;
    calibration
}

fn arms() -> Vec<Arm> {
    // The base needs 10 µs for a request.
    let rounds = |handicap: f64| (handicap * 10e3 / ROUND_NS).round() as u64;
    let arm = |name: &str, handicap| Arm { name: name.to_owned(), handicap, rounds: rounds(handicap) };
    vec![arm("twin", 0.0), arm("plus-1", 0.01), arm("plus-10", 0.10)]
}

/// About a standard normal number.
fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    (0..12).map(|_| random.next_u64() as f64 / u64::MAX as f64).sum::<f64>() - 6.0
}

/// Blocks on a machine that drifts slowly, with 3 % of noise a trial; odd blocks run the base first, even ones last.
fn blocks(count: u32, seed: u64) -> Vec<Observation> {
    let calibration = shipped();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut observations: Vec<Observation> = Vec::new();
    for block in 1..=count {
        let mut servers: Vec<(String, f64)> = vec![(calibration.server.clone(), 0.0)];
        servers.extend(arms().into_iter().map(|arm| (arm.name, arm.handicap)));
        if block % 2 == 0 {
            servers.reverse();
        }
        let machine = 1.0 + 0.1 * (f64::from(block) / 50.0).sin();
        for (server, handicap) in servers {
            let cpu_us = 10.0 * machine * (1.0 + handicap) * (0.02 * normal(&mut random)).exp();
            let number = observations.len() as u32 + 1;
            let workload = calibration.workload.clone();
            let connections = calibration.connections;
            let trial = Trial { number, block, server, workload, connections, ..Trial::default() };
            observations.push(observation(&trial, completed(sample(1e6 / cpu_us, cpu_us))));
        }
    }
    observations
}

fn ours<'a>(summary: &'a CalibrationSummary, arm: &str) -> &'a Power {
    let of = |power: &&Power| power.figure == Figure::CpuUsPerRequest && power.arm == arm;
    summary.ours.iter().find(of).unwrap()
}

fn common<'a>(summary: &'a CalibrationSummary, arm: &str, runs: u32, threshold: f64) -> &'a CommonWay {
    let of = |row: &&CommonWay| {
        row.figure == Figure::CpuUsPerRequest
            && row.arm == arm
            && row.runs == runs
            && (row.threshold - threshold).abs() < 1e-9
    };
    summary.common.iter().find(of).unwrap()
}

#[test]
fn false_claims_are_rare_and_a_large_handicap_is_seen() {
    let summary = calibrate(&shipped(), ROUND_NS, &arms(), &blocks(1_200, 3));
    let twin = ours(&summary, "twin");
    assert!(twin.claimed.of >= 30, "{twin:?}");
    assert!(twin.claimed.interval.0 <= 0.05, "{twin:?}");
    let large = ours(&summary, "plus-10");
    assert_eq!((large.claimed.count, large.wrong_way.count), (large.claimed.of, 0), "{large:?}");
    assert_eq!(large.verdicts.keys().copied().collect::<Vec<_>>(), [Verdict::Slower]);
    let (low, high) = large.overall.unwrap().interval.unwrap();
    assert!(low < 0.10 && 0.10 < high && high - low < 0.02, "{large:?}");
    assert!((large.expected.unwrap() - 0.10).abs() < 0.01, "{large:?}");
    assert_eq!(ours(&summary, "twin").expected, None);
    assert!(ours(&summary, "plus-1").blocks.0 > large.blocks.0, "a small difference takes longer");
}

#[test]
fn comparisons_share_no_block() {
    let most = shipped().max_blocks;
    // Two trials of a second a block, one after the other or at the same time.
    for (placement, block_s) in [(Placement::OneCore, 2.0), (Placement::Duet, 1.0)] {
        let summary = calibrate(&placed(placement), ROUND_NS, &arms(), &blocks(200, 4));
        for power in &summary.ours {
            let used = power.blocks.0 * f64::from(power.claimed.of);
            assert!(power.blocks.1 <= most && used <= 2.0 * 200.0, "{power:?}");
            assert!((power.seconds.0 - block_s * power.blocks.0).abs() < 1e-9, "{power:?}");
        }
    }
    let few = calibrate(&shipped(), ROUND_NS, &arms(), &blocks(5, 4));
    assert!(few.ours.iter().all(|power| power.claimed.of == 0), "five blocks finish nothing");
    let none = calibrate(&shipped(), ROUND_NS, &arms(), &[]);
    assert_eq!((none.trials, none.ours.len()), (0, 6));
}

#[test]
fn the_common_way_is_judged_on_the_same_observations() {
    for placement in [Placement::OneCore, Placement::Duet] {
        common_way(&calibrate(&placed(placement), ROUND_NS, &arms(), &blocks(1_200, 5)));
    }
}

fn common_way(summary: &CalibrationSummary) {
    let any = common(summary, "twin", 1, 0.0);
    assert_eq!((any.claimed.count, any.claimed.of), (600, 600), "two runs are never the same");
    let one = common(summary, "twin", 1, 0.02);
    // 2 % of noise on either side: the difference has 2.8 %, so about half of all runs differ by more than 2 %.
    assert!((0.35..0.60).contains(&one.claimed.value()), "{one:?}");
    let three = common(summary, "twin", 3, 0.02);
    assert_eq!(three.claimed.of, 200);
    assert!(three.claimed.value() < one.claimed.value());
    assert!(common(summary, "plus-1", 1, 0.0).wrong_way.value() > 0.2, "one run often points the wrong way");
}

#[test]
fn a_duet_is_not_read_as_two_runs() {
    // A machine that is at times half as fast: both of a block feel it alike, and runs of two blocks do not.
    let mut observations = blocks(1_200, 7);
    for observation in &mut observations {
        let slow = if observation.trial.block % 7 < 3 { 2.0 } else { 1.0 };
        let Outcome::Completed(sample) = &mut observation.outcome else { panic!() };
        sample.server_cpu.as_mut().unwrap().user_s *= slow;
        sample.server_cpu.as_mut().unwrap().system_s *= slow;
    }
    let summary = calibrate(&placed(Placement::Duet), ROUND_NS, &arms(), &observations);
    assert!(ours(&summary, "twin").claimed.interval.0 <= 0.05, "{:?}", ours(&summary, "twin"));
    let common = common(&summary, "twin", 1, 0.10);
    assert!(common.claimed.value() > 0.25, "{common:?}");
}

#[test]
fn resampling_knows_what_the_noise_hides() {
    let summary = calibrate(&shipped(), ROUND_NS, &arms(), &blocks(300, 6));
    let share = |difference: f64| {
        let row = summary.resampled.iter().find(|row| (row.difference - difference).abs() < 1e-9).unwrap();
        f64::from(row.claimed) / f64::from(row.of)
    };
    assert!(share(0.0) <= 0.10, "{:?}", summary.resampled);
    assert!(share(0.10) >= 0.99 && share(0.005) < 0.5, "{:?}", summary.resampled);
    assert!(summary.resampled.is_sorted_by(|a, b| a.difference < b.difference));
    assert!(
        calibrate(&shipped(), ROUND_NS, &arms(), &blocks(20, 6)).resampled.is_empty(),
        "too few to draw from"
    );
}

/// What the noise of rates is made of, as standard deviations of a log.
#[derive(Clone, Copy)]
struct Noise {
    /// Of a server process for as long as it lives.
    process: f64,
    /// Of a window.
    window: f64,
}

const QUIET: Noise = Noise { process: 0.01, window: 0.03 };

/// Rates of servers that need 10 µs for a request and a load tool that needs 10 µs too, on two cores. `twin` is by
/// how much the twin is really slower. Each window takes a second.
fn rates(blocks: u32, noise: Noise, twin: f64, seed: u64) -> RatesSummary {
    let shipped = shipped();
    let calibration = shipped.of_rates(shipped.rates.as_ref().unwrap());
    let estimate = |value| Estimate { value, interval: None };
    let sizing = Sizing { base_cpu_us: estimate(10.0), round_ns: estimate(ROUND_NS) };
    let arms = calibration.arms(&sizing);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut observations: Vec<Observation> = Vec::new();
    for block in 1..=blocks {
        let mut servers: Vec<(&str, f64, f64)> = vec![(&calibration.server, 0.0, 0.0)];
        servers.extend(
            arms.iter()
                .map(|arm| (arm.name.as_str(), arm.handicap, if arm.handicap == 0.0 { twin } else { 0.0 })),
        );
        for server in &mut servers {
            server.2 += noise.process * normal(&mut random);
        }
        let last = servers.len() as u64 - 1;
        (0..=last)
            .for_each(|at| servers.swap(at as usize, (at + random.next_u64() % (last + 1 - at)) as usize));
        for (server, handicap, slower) in &servers {
            let cpu_us = 10.0 * (1.0 + handicap);
            let log = noise.window * normal(&mut random) - slower;
            let rate = 2e6 / (cpu_us + 10.0) * log.exp();
            let mut sample = sample(rate, cpu_us);
            sample.client_cpu.user_s = rate * 10.0 / 1e6;
            sample.client_cpu.system_s = 0.0;
            let trial = Trial {
                number: observations.len() as u32 + 1,
                block,
                server: (*server).to_owned(),
                workload: calibration.workload.clone(),
                connections: calibration.connections,
                ..Trial::default()
            };
            observations.push(observation(&trial, completed(sample)));
        }
    }
    calibrate_rates(&calibration, &sizing, &observations)
}

#[test]
fn the_false_verdicts_of_rates_are_those_that_were_put_in() {
    let quieter = Noise { process: 0.005, window: 0.015 };
    let found = rates(1_000, quieter, 0.0, 8);
    let twin = &found.ours[0];
    assert!(twin.claimed.of >= 50, "{twin:?}");
    assert!(twin.claimed.interval.0 <= 0.05 && twin.claimed.value() < 0.12, "{twin:?}");
    let found = rates(200, quieter, 0.04, 9);
    assert!(found.ours[0].claimed.interval.0 > 0.5, "a twin that differs is seen: {:?}", found.ours[0]);
}

#[test]
fn the_effect_of_a_handicap_on_a_rate_is_derived_and_found() {
    let found = rates(600, QUIET, 0.0, 10);
    for (power, handicap) in found.ours[1..].iter().zip([0.10, 0.30]) {
        let true_effect = 20.0 / (20.0 + 10.0 * handicap) - 1.0;
        assert!((power.handicap - handicap).abs() < 1e-9);
        assert!((power.expected.unwrap() - true_effect).abs() < 0.002, "{power:?}");
        let (low, high) = power.overall.unwrap().interval.unwrap();
        assert!(low < true_effect && true_effect < high && high - low < 0.02, "{power:?}");
        assert_eq!(power.wrong_way.count, 0, "{power:?}");
    }
    let [_, small, large] = &found.ours[..] else { panic!("{:?}", found.ours) };
    assert_eq!(large.claimed.count, large.claimed.of, "{large:?}");
    assert!(large.blocks.0 < small.blocks.0 && small.claimed.value() > 0.8, "{small:?}");
    assert_eq!(found.ours[0].expected, None);
}

#[test]
fn what_a_minute_resolves_depends_on_the_time_of_a_block() {
    let found = rates(200, QUIET, 0.0, 12).sharpness.unwrap();
    assert_eq!((found.blocks, found.block_s), (200, 2.0));
    // By Student's t an interval of n blocks is about 2 spreads over the square root of n wide on either side.
    let about = 1.96 * found.spread / (60.0 / found.block_s).sqrt();
    assert!((found.in_a_minute / about - 1.0).abs() < 0.2, "{found:?}");
    assert_eq!(rates(5, QUIET, 0.0, 12).sharpness, None, "five blocks have no interval");
}

#[test]
fn a_report_names_no_folder_in_which_its_calibration_is_not() {
    let (dir, kept) = (tempfile::tempdir().unwrap(), newest("calibrate").unwrap());
    let name = kept.file_name().unwrap();
    let resumed = |results: &str| {
        let folder = dir.path().join(results).join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::copy(kept.join("run.tar.xz"), folder.join("run.tar.xz")).unwrap();
        let report = bench_report::calibration::markdown(&RunFolder::open(&folder).unwrap()).unwrap();
        report.lines().find_map(|line| line.strip_prefix("Resume it: ")).unwrap().to_owned()
    };
    let command = "`cargo rpc-bench calibrate --resume ";
    assert!(resumed("results").starts_with(&format!("{command}results/{}`.", name.display())));
    let elsewhere = resumed("mine");
    assert!(elsewhere.starts_with(&format!("{command}FOLDER`, where FOLDER is that of")), "{elsewhere}");
}
