//! Trials that count nowhere: those that gave no figure, and those that the machine spoiled.

use serde::{Deserialize, Serialize};

use super::observed::{Lost, invalid, invalid_reason};
use bench_model::load::Level;
use bench_model::observation::{Observation, Outcome};
use bench_model::plan::Trial;

/// A trial that counts nowhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Uncounted<Kind> {
    /// Its number.
    pub number: u32,
    /// Its block.
    pub block: u32,
    /// The server.
    pub server: String,
    /// In a duet, the server that ran at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    /// The workload.
    pub workload: String,
    /// The load.
    #[serde(flatten)]
    pub level: Level,
    /// What is special to trials that failed, or to those that are invalid.
    #[serde(flatten)]
    pub kind: Kind,
    /// Why, as a sentence.
    pub reason: String,
}

/// A trial that gave no figure.
pub type FailedTrial = Uncounted<Failed>;

/// A trial that was measured and counts nowhere.
pub type InvalidTrial = Uncounted<Invalid>;

/// How a trial failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// Whether the server's answer was not the true one.
    pub wrong_answer: bool,
}

/// Why a trial is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invalid {
    /// What it was lost to.
    pub lost: Lost,
}

pub(super) fn invalid_trial(observation: &Observation) -> Option<InvalidTrial> {
    let sample = observation.outcome.sample()?;
    let (lost, mut reason) = (invalid(sample)?, invalid_reason(sample)?);
    if lost == Lost::Steal && observation.trial.beside.is_some() {
        reason +=
            "; both servers of the pair ran at once, so the ratio of CPU per request counts all the same";
    }
    Some(uncounted(observation, Invalid { lost }, reason))
}

pub(super) fn failed_trial(observation: &Observation) -> Option<FailedTrial> {
    let wrong_answer = matches!(observation.outcome, Outcome::WrongAnswer { .. });
    Some(uncounted(observation, Failed { wrong_answer }, observation.outcome.failure()?))
}

fn uncounted<Kind>(observation: &Observation, kind: Kind, reason: String) -> Uncounted<Kind> {
    let Trial { number, block, server, beside, workload, .. } = observation.trial.clone();
    Uncounted { number, block, server, beside, workload, level: observation.trial.level(), kind, reason }
}
