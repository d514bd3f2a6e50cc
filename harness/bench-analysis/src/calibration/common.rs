//! The same observations judged as most published comparisons are: one run each, or the means of three, and a
//! threshold.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::observed::Samples;
use super::super::verdict::Better;
use super::Share;
use bench_model::config::{Arm, Calibration, Placement};
use bench_model::figure::Figure;
use bench_model::observation::Observation;

/// Differences from which a reader of one or three runs may believe them.
pub const COMMON_THRESHOLDS: [f64; 4] = [0.0, 0.02, 0.05, 0.10];

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

/// What readers would have concluded of an arm, by runs and threshold.
pub(super) fn common_ways(
    calibration: &Calibration,
    (figure, better): (Figure, Better),
    arm: &Arm,
    (handicapped, base): (&Samples<'_>, &Samples<'_>),
    observations: &[Observation],
) -> Vec<CommonWay> {
    let is_duet = calibration.environment.placement == Placement::Duet;
    let blocks = if is_duet {
        handicapped.keys().copied().collect()
    } else {
        base_first(observations, calibration, arm)
    };
    let of = |block: &u32| Some((handicapped.get(block)?.figure(figure)?, base.get(block)?.figure(figure)?));
    let both: Vec<(f64, f64)> = blocks.iter().filter_map(of).collect();
    let mut common = Vec::new();
    for runs in [1, 3] {
        let pairs = if is_duet { apart(&both, runs) } else { means(&both, runs) };
        common.extend(COMMON_THRESHOLDS.map(|threshold| {
            let (claimed, wrong_way) = claims(&pairs, threshold, better, arm);
            let (handicap, runs) = (arm.handicap, runs as u32);
            CommonWay { figure, arm: arm.name.clone(), handicap, runs, threshold, claimed, wrong_way }
        }));
    }
    common
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

/// Means of each `runs` successive runs of the arm over those of the base, less one. Of the arm and of the base in the
/// blocks that have both.
fn means(both: &[(f64, f64)], runs: usize) -> Vec<f64> {
    both.chunks_exact(runs).map(|part| sum(part, |pair| pair.0) / sum(part, |pair| pair.1) - 1.0).collect()
}

/// The same where both ran at the same time, unlike in the common way: `runs` successive runs of the base, and then as
/// many of the arm, of later blocks.
fn apart(both: &[(f64, f64)], runs: usize) -> Vec<f64> {
    let difference = |part: &[(f64, f64)]| {
        let (first, second) = part.split_at(runs);
        sum(second, |pair| pair.0) / sum(first, |pair| pair.1) - 1.0
    };
    both.chunks_exact(2 * runs).map(difference).collect()
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
