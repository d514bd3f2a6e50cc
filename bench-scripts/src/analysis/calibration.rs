//! What the harness can distinguish, from comparisons whose true result is known: a server against its twin, and against
//! itself with a handicap. The same observations are judged our way and the common way.

use std::collections::BTreeMap;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use super::comparison::JUDGED;
use super::observed::{Observed, Samples, log_ratios, median_of, valid};
use super::sequence::{Decision, PairedRatios, Rules, planned_looks, replay};
use super::verdict::{Better, Demand, Finding, Verdict};
use crate::config::{Arm, Calibration, Placement};
use crate::figure::Figure;
use crate::observation::Observation;
use crate::stats::{Estimate, binomial_interval, hodges_lehmann};

/// Differences from which a reader of one or three runs may believe them.
const COMMON_THRESHOLDS: [f64; 4] = [0.0, 0.02, 0.05, 0.10];

/// Differences whose detection is worked out by resampling.
const RESAMPLED_DIFFERENCES: [f64; 9] = [0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.10, 0.15];

/// Comparisons that are resampled for each difference.
const RESAMPLES: u32 = 200;

/// The fewest blocks of the server and its twin that are resampled: of fewer, resampling would only repeat a few.
const LEAST_RESAMPLED: usize = 30;

/// What a calibration found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalibrationSummary {
    /// Trials that have an observation.
    pub trials: usize,
    /// Trials that gave no figure, with the reason.
    pub failed: Vec<(u32, String)>,
    /// Block counts at which a comparison is judged.
    pub looks: Vec<u32>,
    /// By judged figure and arm.
    pub ours: Vec<Power>,
    /// The same observations the common way: by judged figure, arm, runs and threshold.
    pub common: Vec<CommonWay>,
    /// How often a difference of CPU time per request would be seen, by size, rising; empty where there are too few blocks.
    #[serde(default)]
    pub resampled: Vec<Resampled>,
}

/// Comparisons made of blocks of the server and its twin, drawn with replacement, with a difference added. No evidence of its
/// own: it shows what the measured noise would mean for a difference of that size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Resampled {
    /// The difference, relative; 0 for none.
    pub difference: f64,
    /// Of [`RESAMPLES`] comparisons, those that claim a difference.
    pub claimed: u32,
    /// Of how many.
    pub of: u32,
    /// Blocks of a comparison, on average.
    pub blocks: f64,
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
    /// Comparisons that claim a difference in the true direction; in either direction for the twin, where each is false.
    pub claimed: Share,
    /// Comparisons that claim a difference in the wrong direction.
    pub wrong_way: Share,
    /// Blocks of a comparison: median and most.
    pub blocks: (f64, u32),
    /// Time of a comparison's trials, in seconds: median and most.
    pub seconds: (f64, f64),
    /// The handicap in these blocks: its CPU time as sized, over the base's CPU time for a request, by block; the median. None for
    /// the twin. It changes where a machine slows the server and a handicap of plain arithmetic unequally.
    #[serde(default)]
    pub expected: Option<f64>,
    /// The comparisons' ratios, less one: their median. To be compared with the handicap.
    pub estimate: Option<Estimate>,
    /// The ratio over all blocks, less one.
    pub overall: Option<Estimate>,
    /// Standard deviation of one block's log ratio.
    pub spread: f64,
}

/// What a reader of plain means would have concluded of an arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommonWay {
    /// The figure.
    pub figure: Figure,
    /// The arm.
    pub arm: String,
    /// Its handicap; 0 for the twin.
    pub handicap: f64,
    /// Runs of each server; their mean is compared.
    pub runs: u32,
    /// The difference from which the reader calls one faster.
    pub threshold: f64,
    /// Comparisons that claim a difference in the true direction; in either for the twin.
    pub claimed: Share,
    /// Comparisons that claim a difference in the wrong direction.
    pub wrong_way: Share,
}

/// One finished comparison.
struct Finished {
    finding: Finding,
    seconds: f64,
}

/// The block counts at which each comparison of a calibration is judged.
pub fn looks(calibration: &Calibration) -> Vec<u32> {
    planned_looks(1, calibration.max_blocks, true)
}

/// Works out what a calibration found. `round_ns` is the CPU time of one round of a handicap, in nanoseconds.
pub fn calibrate(
    calibration: &Calibration,
    round_ns: f64,
    arms: &[Arm],
    observations: &[Observation],
) -> CalibrationSummary {
    let observed = Observed::new(observations);
    let samples = |name: &str| valid(&observed.samples(name, &calibration.workload, calibration.connections));
    let base = samples(&calibration.server);
    let seconds: BTreeMap<(u32, &str), f64> = observations
        .iter()
        .map(|observation| ((observation.trial.block, observation.trial.server.as_str()), observation.took_s))
        .collect();
    let is_duet = calibration.environment.placement == Placement::Duet;
    let mut ours = Vec::new();
    let mut common = Vec::new();
    for (figure, better) in JUDGED {
        for arm in arms {
            let handicapped = samples(&arm.name);
            let ratios = log_ratios(figure, &handicapped, &base);
            let took = |block: u32| {
                let of = |server: &str| seconds.get(&(block, server)).copied().unwrap_or(0.0);
                let (arm, base) = (of(&arm.name), of(&calibration.server));
                if is_duet { arm.max(base) } else { arm + base }
            };
            let expected = expected(arm, round_ns, &handicapped, &base);
            ours.push(Power { expected, ..power(calibration, (figure, better), arm, &ratios, took) });
            for runs in [1, 3] {
                let pairs = if is_duet {
                    apart(figure, &handicapped, &base, runs)
                } else {
                    means(figure, &handicapped, &base, &base_first(observations, calibration, arm), runs)
                };
                common.extend(COMMON_THRESHOLDS.map(|threshold| {
                    let (claimed, wrong_way) = claims(&pairs, threshold, better, arm);
                    let (handicap, runs) = (arm.handicap, runs as u32);
                    CommonWay { figure, arm: arm.name.clone(), handicap, runs, threshold, claimed, wrong_way }
                }));
            }
        }
    }
    let twin = arms.iter().find(|arm| arm.handicap == 0.0);
    let twin = twin.map(|twin| log_ratios(Figure::CpuUsPerRequest, &samples(&twin.name), &base));
    let failure =
        |observation: &Observation| Some((observation.trial.number, observation.outcome.failure()?));
    CalibrationSummary {
        trials: observations.len(),
        failed: observations.iter().filter_map(failure).collect(),
        looks: looks(calibration),
        ours,
        common,
        resampled: twin.map(|ratios| resample(calibration, &ratios)).unwrap_or_default(),
    }
}

/// How many comparisons of an arm are finished, by CPU time per request: what the handicap is made of.
pub fn finished(calibration: &Calibration, arm: &Arm, observations: &[Observation]) -> u32 {
    let observed = Observed::new(observations);
    let samples = |name: &str| valid(&observed.samples(name, &calibration.workload, calibration.connections));
    let ratios = log_ratios(Figure::CpuUsPerRequest, &samples(&arm.name), &samples(&calibration.server));
    power(calibration, (Figure::CpuUsPerRequest, Better::Less), arm, &ratios, |_| 0.0).claimed.of
}

fn power(
    calibration: &Calibration,
    (figure, better): (Figure, Better),
    arm: &Arm,
    ratios: &BTreeMap<u32, f64>,
    took: impl Fn(u32) -> f64,
) -> Power {
    let demand = Demand { margin: calibration.margin.0, precision: Some(calibration.precision.0) };
    let finished = comparisons(ratios, &Rules::new(&[better], demand, looks(calibration)), took);
    let mut verdicts = BTreeMap::new();
    for comparison in &finished {
        *verdicts.entry(comparison.finding.verdict).or_insert(0) += 1;
    }
    let claims: Vec<f64> = finished
        .iter()
        .filter(|comparison| comparison.finding.verdict.claims_difference())
        .map(|comparison| comparison.finding.ratio.value)
        .collect();
    let wrong =
        claims.iter().filter(|ratio| arm.handicap > 0.0 && (**ratio < 1.0) == (better == Better::Less));
    let wrong = wrong.count();
    let blocks: Vec<f64> = finished.iter().map(|comparison| comparison.finding.blocks as f64).collect();
    let seconds: Vec<f64> = finished.iter().map(|comparison| comparison.seconds).collect();
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let middle = |values: &[f64]| median_of(values.iter().copied()).map_or(0.0, |estimate| estimate.value);
    let all: Vec<f64> = ratios.values().copied().collect();
    let overall = hodges_lehmann(&all).map(|centre| centre.map(f64::exp_m1));
    Power {
        figure,
        arm: arm.name.clone(),
        handicap: arm.handicap,
        verdicts,
        claimed: Share::new(claims.len() - wrong, finished.len()),
        wrong_way: Share::new(wrong, finished.len()),
        blocks: (middle(&blocks), most(&blocks) as u32),
        seconds: (middle(&seconds), most(&seconds)),
        expected: None,
        estimate: median_of(finished.iter().map(|comparison| comparison.finding.ratio.value - 1.0)),
        overall,
        spread: standard_deviation(&all),
    }
}

/// The handicap over what the base needed for a request, block by block; the median.
fn expected(arm: &Arm, round_ns: f64, handicapped: &Samples<'_>, base: &Samples<'_>) -> Option<f64> {
    let handicap_us = arm.rounds as f64 * round_ns / 1e3;
    let base_us = handicapped.keys().filter_map(|block| base.get(block)?.figure(Figure::CpuUsPerRequest));
    let share = median_of(base_us.map(|base_us| handicap_us / base_us));
    share.map(|share| share.value).filter(|_| arm.rounds > 0)
}

/// Divides a series of blocks into comparisons, each stopped as a campaign would stop it; the next begins with the block after.
/// An unfinished one at the end does not count.
fn comparisons(ratios: &BTreeMap<u32, f64>, rules: &Rules, took: impl Fn(u32) -> f64) -> Vec<Finished> {
    let series: Vec<(u32, f64)> = ratios.iter().map(|(block, ratio)| (*block, *ratio)).collect();
    let most = rules.looks().last().copied().unwrap_or(1) as usize;
    let mut finished = Vec::new();
    let mut rest = series.as_slice();
    while !rest.is_empty() {
        let part = &rest[..rest.len().min(most)];
        let decision = judge((1..).zip(part.iter().map(|(_, ratio)| *ratio)).collect(), rules);
        let Some((finding, used)) = decision.findings[0].zip(decision.settled_at) else { break };
        let used = used as usize;
        let seconds = part[..used].iter().map(|(block, _)| took(*block)).sum();
        finished.push(Finished { finding, seconds });
        rest = &rest[used..];
    }
    finished
}

/// The decision on one comparison by itself; `ratios` has every block from 1.
fn judge(ratios: BTreeMap<u32, f64>, rules: &Rules) -> Decision {
    let data = PairedRatios { counted_blocks: ratios.len() as u32, log_ratios: vec![ratios] };
    replay(&[data], rules).remove(0)
}

/// Makes comparisons of blocks without a true difference, each with one added.
fn resample(calibration: &Calibration, ratios: &BTreeMap<u32, f64>) -> Vec<Resampled> {
    let ratios: Vec<f64> = ratios.values().copied().collect();
    if ratios.len() < LEAST_RESAMPLED {
        return Vec::new();
    }
    // The twins' own centre is noise: only the spread around it is used.
    let centre = hodges_lehmann(&ratios).map_or(0.0, |centre| centre.value);
    let demand = Demand { margin: calibration.margin.0, precision: Some(calibration.precision.0) };
    let rules = Rules::new(&[Better::Less], demand, looks(calibration));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(calibration.seed);
    let mut draw = |shift: f64| {
        let index = (random.next_u64() % ratios.len() as u64) as usize;
        ratios[index] - centre + shift
    };
    let mut of_difference = |difference: f64| {
        let (mut claimed, mut blocks) = (0, 0.0);
        for _ in 0..RESAMPLES {
            let drawn = (1..=calibration.max_blocks).map(|block| (block, draw(difference.ln_1p()))).collect();
            let finding = judge(drawn, &rules).findings[0];
            claimed += u32::from(finding.is_some_and(|finding| finding.verdict.claims_difference()));
            blocks += finding.map_or(0.0, |finding| finding.blocks as f64) / f64::from(RESAMPLES);
        }
        Resampled { difference, claimed, of: RESAMPLES, blocks }
    };
    RESAMPLED_DIFFERENCES.map(&mut of_difference).to_vec()
}

/// Blocks in which the base ran before the arm, in order: as in a script that runs one after the other.
fn base_first(observations: &[Observation], calibration: &Calibration, arm: &Arm) -> Vec<u32> {
    let numbers = |server: &str| -> BTreeMap<u32, u32> {
        let of_server = observations.iter().filter(|observation| observation.trial.server == server);
        of_server.map(|observation| (observation.trial.block, observation.trial.number)).collect()
    };
    let (base, arm) = (numbers(&calibration.server), numbers(&arm.name));
    base.into_iter()
        .filter(|(block, number)| arm.get(block).is_some_and(|other| other > number))
        .map(|(block, _)| block)
        .collect()
}

/// Means of each `runs` successive runs of the arm over those of the base, less one.
fn means(figure: Figure, arm: &Samples<'_>, base: &Samples<'_>, blocks: &[u32], runs: usize) -> Vec<f64> {
    let both = both(figure, arm, base, blocks);
    both.chunks_exact(runs).map(|part| sum(part, |pair| pair.0) / sum(part, |pair| pair.1) - 1.0).collect()
}

/// The same where both ran at the same time, unlike in the common way: `runs` successive runs of the base, and then as many of
/// the arm, of later blocks.
fn apart(figure: Figure, arm: &Samples<'_>, base: &Samples<'_>, runs: usize) -> Vec<f64> {
    let blocks: Vec<u32> = arm.keys().copied().collect();
    let both = both(figure, arm, base, &blocks);
    let difference = |part: &[(f64, f64)]| {
        let (first, second) = part.split_at(runs);
        sum(second, |pair| pair.0) / sum(first, |pair| pair.1) - 1.0
    };
    both.chunks_exact(2 * runs).map(difference).collect()
}

/// The figure of the arm and of the base, in the blocks that have both.
fn both(figure: Figure, arm: &Samples<'_>, base: &Samples<'_>, blocks: &[u32]) -> Vec<(f64, f64)> {
    let of = |block: &u32| Some((arm.get(block)?.figure(figure)?, base.get(block)?.figure(figure)?));
    blocks.iter().filter_map(of).collect()
}

fn sum(part: &[(f64, f64)], of: fn(&(f64, f64)) -> f64) -> f64 {
    part.iter().map(of).sum()
}

/// Shares of differences beyond a threshold: in the true direction, and in the wrong one.
fn claims(differences: &[f64], threshold: f64, better: Better, arm: &Arm) -> (Share, Share) {
    // A handicap makes time longer and the rate lower.
    let true_way = |difference: f64| (difference > 0.0) == (better == Better::Less);
    let claimed = differences.iter().filter(|difference| difference.abs() > threshold);
    let (right, wrong): (Vec<&f64>, Vec<&f64>) =
        claimed.partition(|difference| arm.handicap == 0.0 || true_way(**difference));
    (Share::new(right.len(), differences.len()), Share::new(wrong.len(), differences.len()))
}

fn standard_deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { 0.0 }
}
