//! What the harness can distinguish, from comparisons whose true result is known: a server against its twin, and
//! against itself with a handicap. The same observations are judged our way and the common way.

mod common;
mod rates;
mod resampled;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::block_counts::planned_block_counts;
use super::comparison::JUDGED;
use super::interim_analyses::{Decision, PairedRatios, Rules, replay};
use super::observed::{Observed, Samples, counts, log_ratios, median_of, middle_of};
use super::verdict::{Better, Demand, Finding, Verdict};
use bench_model::config::{Arm, Calibration, Placement};
use bench_model::figure::Figure;
use bench_model::observation::Observation;
use bench_stats::{Estimate, binomial_interval, hodges_lehmann};

use self::common::common_ways;
pub use self::common::{COMMON_THRESHOLDS, CommonWay};
use self::rates::judged;
pub use self::rates::{RatesSummary, Sharpness, calibrate_rates};
pub use self::resampled::Resampled;

/// What a calibration found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalibrationSummary {
    /// Trials that have an observation.
    pub trials: usize,
    /// Trials that gave no figure, with the reason.
    pub failed: Vec<(u32, String)>,
    /// Block counts at which a comparison is judged.
    pub block_counts: Vec<u32>,
    /// By judged figure and arm.
    pub ours: Vec<Power>,
    /// The same observations the common way: by judged figure, arm, runs and threshold.
    pub common: Vec<CommonWay>,
    /// How often a difference of CPU time per request would be seen, by size, rising; empty where there are too few
    /// blocks.
    #[serde(default)]
    pub resampled: Vec<Resampled>,
    /// How much the blocks of the server and its twin resolve, by CPU time per request.
    pub sharpness: Option<Sharpness>,
    /// Rates, where they were calibrated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<RatesSummary>,
}

impl CalibrationSummary {
    /// Trials of CPU time and of rates.
    pub fn all_trials(&self) -> usize {
        self.trials + self.rates.as_ref().map_or(0, |rates| rates.trials)
    }

    /// Trials that gave no figure, those of rates included.
    pub fn all_failed(&self) -> usize {
        self.failed.len() + self.rates.as_ref().map_or(0, |rates| rates.failed.len())
    }
}

/// A count of comparisons with its 95 % interval (Clopper and Pearson).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// How many.
    pub count: u32,
    /// Of how many.
    pub of: u32,
    /// The interval of the share, from 0 to 1.
    pub interval: (f64, f64),
}

impl Share {
    fn new(count: usize, of: usize) -> Self {
        let (count, of) = (count as u32, of as u32);
        Self { count, of, interval: if of == 0 { (0.0, 1.0) } else { binomial_interval(count, of) } }
    }

    /// The share, from 0 to 1.
    pub fn value(self) -> f64 {
        f64::from(self.count) / f64::from(self.of.max(1))
    }
}

/// Our way's verdicts on an arm, comparison after comparison, each from blocks of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Power {
    /// The figure.
    pub figure: Figure,
    /// The arm.
    pub arm: String,
    /// Its handicap; 0 for the twin.
    pub handicap: f64,
    /// Comparisons by verdict.
    pub verdicts: BTreeMap<Verdict, u32>,
    /// Comparisons that claim a difference in the true direction; in either direction for the twin, where each is
    /// false.
    pub claimed: Share,
    /// Comparisons that claim a difference in the wrong direction.
    pub wrong_way: Share,
    /// Blocks of a comparison: median and most.
    pub blocks: (f64, u32),
    /// Time of a comparison's trials, in seconds: median and most.
    pub seconds: (f64, f64),
    /// The handicap in these blocks: its CPU time as sized, over the base's CPU time for a request, by block; the
    /// median. None for the twin. It changes where a machine slows the server and a handicap of plain arithmetic
    /// unequally.
    pub expected: Option<f64>,
    /// The comparisons' ratios, less one: their median. To be compared with the handicap.
    pub estimate: Option<Estimate>,
    /// The ratio over all blocks, less one.
    pub overall: Option<Estimate>,
    /// Standard deviation of one block's log ratio.
    pub spread: f64,
}

/// The block counts at which each comparison of a calibration is judged.
pub fn block_counts(calibration: &Calibration) -> Vec<u32> {
    planned_block_counts(1, calibration.max_blocks, true)
}

/// Works out what a calibration found. `round_ns` is the CPU time of one round of a handicap, in nanoseconds.
pub fn calibrate(
    calibration: &Calibration,
    round_ns: f64,
    arms: &[Arm],
    observations: &[Observation],
) -> CalibrationSummary {
    let expected =
        |arm: &Arm, handicapped: &Samples<'_>, base: &Samples<'_>| expected(arm, round_ns, handicapped, base);
    let RatesSummary { trials, failed, block_counts, ours, sharpness, resampled } =
        judged(calibration, arms, observations, &JUDGED, expected);
    let observed = Observed::new(observations);
    let samples = |name: &str| observed.samples(name, &calibration.workload, calibration.connections);
    let base = samples(&calibration.server);
    let mut common = Vec::new();
    for judged in JUDGED {
        for arm in arms {
            let both = (&samples(&arm.name), &base);
            common.extend(common_ways(calibration, judged, arm, both, observations));
        }
    }
    CalibrationSummary { trials, failed, block_counts, ours, common, resampled, sharpness, rates: None }
}

/// Trials that gave no figure, with the reason.
fn failures(observations: &[Observation]) -> Vec<(u32, String)> {
    let failure =
        |observation: &Observation| Some((observation.trial.number, observation.outcome.failure()?));
    observations.iter().filter_map(failure).collect()
}

/// How long trials took, by block and server, in seconds.
struct Times<'a> {
    calibration: &'a Calibration,
    seconds: BTreeMap<(u32, &'a str), f64>,
}

impl<'a> Times<'a> {
    fn new(calibration: &'a Calibration, observations: &'a [Observation]) -> Self {
        let time = |observation: &'a Observation| {
            ((observation.trial.block, observation.trial.server.as_str()), observation.took_s)
        };
        Self { calibration, seconds: observations.iter().map(time).collect() }
    }

    /// A block's trials of the base and of an arm.
    fn of(&self, arm: &Arm, block: u32) -> f64 {
        let of = |server: &str| self.seconds.get(&(block, server)).copied().unwrap_or(0.0);
        let (arm, base) = (of(&arm.name), of(&self.calibration.server));
        if self.calibration.environment.placement == Placement::Duet { arm.max(base) } else { arm + base }
    }

    /// All blocks that have a trial of an arm, lost ones too.
    fn all_of(&self, arm: &Arm) -> f64 {
        let blocks = self.seconds.keys().filter(|(_, server)| *server == arm.name);
        blocks.map(|(block, _)| self.of(arm, *block)).sum()
    }
}

/// How many comparisons of an arm are finished, by a figure.
pub fn finished(calibration: &Calibration, figure: Figure, arm: &Arm, observations: &[Observation]) -> u32 {
    let observed = Observed::new(observations);
    let samples = |name: &str| observed.samples(name, &calibration.workload, calibration.connections);
    let ratios = log_ratios(figure, &samples(&arm.name), &samples(&calibration.server));
    power(calibration, (figure, Better::Less), arm, &ratios, |_| 0.0).claimed.of
}

fn power(
    calibration: &Calibration,
    (figure, better): (Figure, Better),
    arm: &Arm,
    ratios: &BTreeMap<u32, f64>,
    took: impl Fn(u32) -> f64,
) -> Power {
    let finished = comparisons(ratios, &rules(calibration, better), took);
    let claims = finished.iter().filter(|(finding, _)| finding.verdict.claims_difference());
    let claims: Vec<f64> = claims.map(|(finding, _)| finding.ratio.value).collect();
    let is_wrong = |ratio: &&f64| arm.handicap > 0.0 && (**ratio < 1.0) == (better == Better::Less);
    let wrong = claims.iter().filter(is_wrong).count();
    let blocks: Vec<f64> = finished.iter().map(|(finding, _)| finding.blocks as f64).collect();
    let seconds: Vec<f64> = finished.iter().map(|(_, seconds)| *seconds).collect();
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let middle = |values: &[f64]| middle_of(values.iter().copied()).unwrap_or(0.0);
    let all: Vec<f64> = ratios.values().copied().collect();
    let overall = hodges_lehmann(&all).map(|centre| centre.map(f64::exp_m1));
    Power {
        figure,
        arm: arm.name.clone(),
        handicap: arm.handicap,
        verdicts: counts(finished.iter().map(|(finding, _)| finding.verdict)),
        claimed: Share::new(claims.len() - wrong, finished.len()),
        wrong_way: Share::new(wrong, finished.len()),
        blocks: (middle(&blocks), most(&blocks) as u32),
        seconds: (middle(&seconds), most(&seconds)),
        expected: None,
        estimate: median_of(finished.iter().map(|(finding, _)| finding.ratio.value - 1.0)),
        overall,
        spread: standard_deviation(&all),
    }
}

/// The handicap over what the base needed for a request, block by block; the median.
fn expected(arm: &Arm, round_ns: f64, handicapped: &Samples<'_>, base: &Samples<'_>) -> Option<f64> {
    let handicap_us = arm.rounds as f64 * round_ns / 1e3;
    let base_us = handicapped.keys().filter_map(|block| base.get(block)?.figure(Figure::CpuUsPerRequest));
    middle_of(base_us.map(|base_us| handicap_us / base_us)).filter(|_| arm.rounds > 0)
}

/// Divides a series of blocks into comparisons, each stopped as a campaign would stop it; the next begins with the
/// block after. An unfinished one at the end does not count. Each with the time that its trials took, in seconds.
fn comparisons(ratios: &BTreeMap<u32, f64>, rules: &Rules, took: impl Fn(u32) -> f64) -> Vec<(Finding, f64)> {
    let series: Vec<(u32, f64)> = ratios.iter().map(|(block, ratio)| (*block, *ratio)).collect();
    let most = rules.block_counts().last().copied().unwrap_or(1) as usize;
    let mut finished = Vec::new();
    let mut rest = series.as_slice();
    while !rest.is_empty() {
        let part = &rest[..rest.len().min(most)];
        let decision = judge((1..).zip(part.iter().map(|(_, ratio)| *ratio)).collect(), rules);
        let Some((finding, used)) = decision.findings[0].zip(decision.settled_at) else { break };
        let used = used as usize;
        let seconds = part[..used].iter().map(|(block, _)| took(*block)).sum();
        finished.push((finding, seconds));
        rest = &rest[used..];
    }
    finished
}

/// What each comparison by a figure is judged by.
fn rules(calibration: &Calibration, better: Better) -> Rules {
    let demand = Demand { margin: calibration.margin.0, precision: Some(calibration.precision.0) };
    Rules::new(&[better], demand, block_counts(calibration))
}

/// The decision on one comparison by itself; `ratios` has every block from 1.
fn judge(ratios: BTreeMap<u32, f64>, rules: &Rules) -> Decision {
    let data = PairedRatios { counted_blocks: ratios.len() as u32, log_ratios: vec![ratios] };
    replay(&[data], rules).remove(0)
}

fn standard_deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { 0.0 }
}
