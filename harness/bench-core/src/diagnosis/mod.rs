//! Why requests fail, and why a server is slow: findings with their evidence, worked out from observations alone.
//!
//! A table of symptoms (`known_causes`) is compared with what was counted (`facts`). A cause is named only where a
//! counter moved and explains at least half of what is to be explained; where there is none, the answer is "unknown". A
//! named cause is *likely*; only a trial with the remedy can confirm it (`confirm`).

mod confirm;
mod evidence;
mod facts;
mod known_causes;
mod load_tool;
mod remedy;
mod scheduler;
mod shapes;

use serde::{Deserialize, Serialize};

use super::search::Judge;
use crate::observation::Observation;

pub use confirm::{Confirmation, Standing, Tally, confirm};
pub use facts::{Facts, LoadSetting};
pub use known_causes::{CauseKind, CauseRow, Symptom, TABLE};
pub use remedy::{Remedied, Remedy, remedied};

/// The share of what is to be explained that a cause must explain to be named.
pub const LEAST_SHARE: f64 = 0.5;

/// A cause that the evidence makes likely.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// Which one.
    pub kind: CauseKind,
    /// What it is the cause of.
    pub symptom: Symptom,
    /// The share of what its symptom is about that it explains, from 0 to 1.
    pub explains: f64,
    /// A sentence for readers, with numbers.
    pub sentence: String,
    /// What may cure it, where the harness can try that.
    pub remedy: Option<Remedy>,
}

/// What a server's trials at one load show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// Trials.
    pub trials: usize,
    /// Trials that failed: with a bad request, or without a window because of the server.
    pub failed_trials: usize,
    /// Bad requests: those that failed, or took longer than `timeout_ms`; a lower bound.
    pub bad_requests: u64,
    /// Those of them that failed.
    pub failed_requests: u64,
    /// The time from which a request is too slow, in milliseconds.
    pub timeout_ms: u64,
    /// The most connections that the server held, where there was a trial that did not hold those requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<u64>,
    /// All requests.
    pub requests: u64,
    /// The likely causes, the one that explains most first.
    pub causes: Vec<Cause>,
    /// Evidence that this machine lacks.
    pub unavailable: Vec<String>,
}

impl Diagnosis {
    /// Whether something is wrong for which no cause is known.
    pub fn is_unknown(&self) -> bool {
        self.failed_trials > 0 && !self.causes.iter().any(|cause| cause.symptom == Symptom::Failing)
    }

    /// Whether there is nothing to explain.
    pub fn is_healthy(&self) -> bool {
        self.failed_trials == 0 && self.causes.is_empty()
    }
}

/// Finds the likely causes of the symptoms in trials of one server at one load.
pub fn diagnose(setting: &LoadSetting, observations: &[&Observation]) -> Diagnosis {
    let (facts, judge) = (Facts::of(setting, observations), Judge::none_bad(setting.timeout_ms));
    Diagnosis {
        trials: observations.len(),
        failed_trials: observations
            .iter()
            .filter(|observation| judge.judgement(observation).passed() == Some(false))
            .count(),
        bad_requests: facts.bad,
        failed_requests: facts.failed.values().sum(),
        timeout_ms: setting.timeout_ms,
        held: observations.iter().filter_map(|of| of.outcome.evidence()?.short_of()).max(),
        requests: facts.requests,
        causes: causes(&facts),
        unavailable: facts.unavailable(),
    }
}

/// The rows of the table that the facts support, without those that are consequences of another one.
fn causes(facts: &Facts) -> Vec<Cause> {
    let mut named: Vec<(&CauseRow, f64)> = Vec::new();
    for row in TABLE {
        let Some(share) = (row.explains)(facts).filter(|share| *share >= LEAST_SHARE) else { continue };
        let known = |kind: &CauseKind| named.iter().any(|(other, _)| other.kind == *kind);
        // A row is left out only for one that stands before it.
        if !known(&row.kind) && !row.unless.iter().any(known) {
            named.push((row, share.min(1.0)));
        }
    }
    named.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let cause = |(row, explains): (&CauseRow, f64)| Cause {
        kind: row.kind,
        symptom: row.symptom,
        explains,
        sentence: (row.sentence)(facts),
        remedy: row.remedy,
    };
    named.into_iter().map(cause).collect()
}

#[cfg(test)]
pub(crate) mod tests;
