//! Whether a remedy cured a symptom: trials without it compared with trials with it, by counts.

use serde::{Deserialize, Serialize};

use super::known_causes::Symptom;
use crate::observation::Observation;
use crate::search::Judge;

/// The p-value above which a difference of counts proves nothing.
const LEVEL: f64 = 0.05;

/// A slow server is no longer slow where its mean latency is below this share of what it was.
const QUICKER: f64 = 0.75;

/// What trials with and without the remedy show of a likely cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The symptom was there without the remedy and not with it.
    Confirmed,
    /// The symptom stayed.
    Refuted,
    /// Neither: too few trials, or the symptom did not appear again.
    Undecided,
}

/// Trials that showed the symptom.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Trials with the symptom.
    pub bad: u32,
    /// All trials in which it is known.
    pub of: u32,
}

/// A judgement and the counts that it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Confirmation {
    /// The judgement.
    pub standing: Standing,
    /// Trials without the remedy.
    pub before: Tally,
    /// Trials with it.
    pub after: Tally,
    /// The chance of a difference at least as large if the remedy did nothing (Fisher's exact test, one-sided).
    pub chance: f64,
}

/// Compares trials without a remedy with trials with it.
pub fn confirm(
    symptom: Symptom,
    timeout_ms: u64,
    before: &[Observation],
    after: &[Observation],
) -> Confirmation {
    let mut times: Vec<f64> = before.iter().filter_map(mean_latency_us).collect();
    times.sort_by(f64::total_cmp);
    let usual_us = times.get(times.len() / 2).copied().unwrap_or(0.0);
    // Whether a trial had the symptom; `None` where that is unknown.
    let has_symptom = |observation: &Observation| match symptom {
        Symptom::Failing => Judge::none_bad(timeout_ms).judgement(observation).passed().map(|passed| !passed),
        Symptom::Slow | Symptom::Stepped | Symptom::Silent | Symptom::Growing => {
            Some(mean_latency_us(observation).is_none_or(|us| us > usual_us * QUICKER))
        }
    };
    let tally = |observations: &[Observation]| {
        let known: Vec<bool> = observations.iter().filter_map(has_symptom).collect();
        Tally { bad: known.iter().filter(|has| **has).count() as u32, of: known.len() as u32 }
    };
    judge(tally(before), tally(after))
}

fn judge(before: Tally, after: Tally) -> Confirmation {
    let share = |tally: Tally| f64::from(tally.bad) / f64::from(tally.of.max(1));
    let chance = fisher(before, after);
    let standing = if chance <= LEVEL {
        Standing::Confirmed
    } else if before.of > 0 && after.of > 0 && share(before) > 0.5 && share(after) >= share(before) {
        Standing::Refuted
    } else {
        Standing::Undecided
    };
    Confirmation { standing, before, after, chance }
}

fn mean_latency_us(observation: &Observation) -> Option<f64> {
    Some(observation.outcome.sample()?.load.latency_us.mean)
}

/// The chance that at least `before.bad` of the bad trials are in `before`, if the remedy has no effect.
fn fisher(before: Tally, after: Tally) -> f64 {
    let (bad, all) = (before.bad + after.bad, before.of + after.of);
    let ways = |chosen: u32| choose(before.of, chosen) * choose(after.of, bad - chosen);
    let at_least: f64 = (before.bad..=bad.min(before.of)).map(ways).sum();
    (at_least / choose(all, bad)).min(1.0)
}

/// Ways to choose `k` of `n`; 0 where there are fewer.
fn choose(n: u32, k: u32) -> f64 {
    if k > n {
        return 0.0;
    }
    (0..k).fold(1.0, |ways, done| ways * f64::from(n - done) / f64::from(done + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(before: (u32, u32), after: (u32, u32)) -> Confirmation {
        judge(Tally { bad: before.0, of: before.1 }, Tally { bad: after.0, of: after.1 })
    }

    #[test]
    fn the_chance_is_fishers_exact_test() {
        // R: fisher.test(matrix(c(5,0,0,5),2), alternative="greater") and others.
        for (before, after, chance) in [
            ((5, 5), (0, 5), 0.003_968_254),
            ((5, 5), (1, 5), 0.023_809_524),
            ((3, 5), (0, 5), 0.083_333_333),
            ((9, 10), (0, 10), 0.000_059_537),
            ((0, 5), (0, 5), 1.0),
        ] {
            let found = judged(before, after).chance;
            assert!((found - chance).abs() < 1e-8, "{before:?} {after:?}: {found}");
        }
    }

    #[test]
    fn a_cure_confirms_and_no_change_refutes() {
        for (before, after, standing) in [
            ((5, 5), (0, 5), Standing::Confirmed),
            ((4, 5), (0, 5), Standing::Confirmed),
            ((5, 5), (5, 5), Standing::Refuted),
            ((4, 5), (5, 5), Standing::Refuted),
            ((5, 5), (3, 5), Standing::Undecided),
            ((0, 5), (0, 5), Standing::Undecided),
            ((2, 5), (2, 5), Standing::Undecided),
            ((0, 0), (0, 0), Standing::Undecided),
            ((2, 2), (0, 2), Standing::Undecided),
        ] {
            assert_eq!(judged(before, after).standing, standing, "{before:?} {after:?}");
        }
    }
}
