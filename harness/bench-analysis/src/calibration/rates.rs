//! Rates as a calibration measured them: false verdicts, power, and how much a minute resolves.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::observed::{Observed, Samples, log_ratios, middle_of};
use super::super::verdict::Better;
use super::resampled::{Resampled, resample};
use super::{Power, Times, block_counts, failures, power, standard_deviation};
use bench_model::config::{Arm, Calibration, Sizing};
use bench_model::figure::Figure;
use bench_model::observation::{Observation, Sample};
use bench_stats::hodges_lehmann;

/// What a calibration of rates found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RatesSummary {
    /// Trials that have an observation.
    pub trials: usize,
    /// Trials that gave no figure, with the reason.
    pub failed: Vec<(u32, String)>,
    /// Block counts at which a comparison is judged.
    pub block_counts: Vec<u32>,
    /// By arm.
    pub ours: Vec<Power>,
    /// How much the blocks of the server and its twin resolve; none of fewer than six blocks.
    pub sharpness: Option<Sharpness>,
    /// How often a difference would be seen, by size, rising; empty where there are too few blocks.
    pub resampled: Vec<Resampled>,
}

/// How much blocks of two servers resolve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sharpness {
    /// Blocks that count.
    pub blocks: u32,
    /// Standard deviation of a block's log ratio.
    pub spread: f64,
    /// Time of a block's trials of two servers, in seconds: start, warm-up and lost blocks included.
    pub block_s: f64,
    /// Half of the width of the 95 % interval after a minute of such blocks, relative. From the interval over all
    /// blocks, which narrows with the square root of the time.
    pub in_a_minute: f64,
}

/// Works out what a calibration of rates found. `calibration` is that of rates.
pub fn calibrate_rates(
    calibration: &Calibration,
    sizing: &Sizing,
    observations: &[Observation],
) -> RatesSummary {
    let expected =
        |arm: &Arm, _: &Samples<'_>, base: &Samples<'_>| expected(arm, sizing.round_ns.value, base);
    let rates = [(Figure::RequestsPerSecond, Better::More)];
    judged(calibration, &calibration.arms(sizing), observations, &rates, expected)
}

/// What a calibration found by these figures. Of the last of them also how much the blocks of the server and its twin
/// resolve. `expected` has the change that an arm's handicap should make, from the arm's samples and the base's.
pub(super) fn judged(
    calibration: &Calibration,
    arms: &[Arm],
    observations: &[Observation],
    figures: &[(Figure, Better)],
    expected: impl Fn(&Arm, &Samples<'_>, &Samples<'_>) -> Option<f64>,
) -> RatesSummary {
    let observed = Observed::new(observations);
    let samples = |name: &str| observed.samples(name, &calibration.workload, calibration.connections);
    let base = samples(&calibration.server);
    let times = Times::new(calibration, observations);
    let mut ours = Vec::new();
    for judged in figures {
        for arm in arms {
            let handicapped = samples(&arm.name);
            let ratios = log_ratios(judged.0, &handicapped, &base);
            let expected = expected(arm, &handicapped, &base);
            let took = |block| times.of(arm, block);
            ours.push(Power { expected, ..power(calibration, *judged, arm, &ratios, took) });
        }
    }
    let twin = arms.iter().find(|arm| arm.handicap == 0.0).zip(figures.last());
    let twin = twin.map(|(twin, (figure, _))| (twin, log_ratios(*figure, &samples(&twin.name), &base)));
    RatesSummary {
        trials: observations.len(),
        failed: failures(observations),
        block_counts: block_counts(calibration),
        ours,
        sharpness: twin.as_ref().and_then(|(twin, ratios)| sharpness(ratios, times.all_of(twin))),
        resampled: twin.map(|(_, ratios)| resample(calibration, &ratios)).unwrap_or_default(),
    }
}

/// The change of rate that a handicap should make. Server and load tool share the processors, and what both use for a
/// request is T; so the rate is the processors that they use over T. A handicap of h makes that T + h, and the rate T /
/// (T + h) of what it was, as long as they use as many processors as before. T is that of the base, window by window;
/// the median.
fn expected(arm: &Arm, round_ns: f64, base: &Samples<'_>) -> Option<f64> {
    let handicap_us = arm.rounds as f64 * round_ns / 1e3;
    let both_us = |sample: &&Sample| {
        let tool_us = sample.client_cpu.total_s() * 1e6 / sample.load.succeeded.max(1) as f64;
        Some(sample.cpu_us_per_request()? + tool_us)
    };
    let change = |both_us: f64| -handicap_us / (both_us + handicap_us);
    middle_of(base.values().filter_map(both_us).map(change)).filter(|_| arm.rounds > 0)
}

/// How much blocks resolve that took so long in all; `None` where there are too few for an interval.
fn sharpness(ratios: &BTreeMap<u32, f64>, took_s: f64) -> Option<Sharpness> {
    let ratios: Vec<f64> = ratios.values().copied().collect();
    let (low, high) = hodges_lehmann(&ratios)?.interval?;
    Some(Sharpness {
        blocks: ratios.len() as u32,
        spread: standard_deviation(&ratios),
        block_s: took_s / ratios.len() as f64,
        in_a_minute: (high - low) / 2.0 * (took_s / 60.0).sqrt(),
    })
}
