//! Trials that count nowhere: those that gave no figure, and those that the machine spoiled.

use serde::{Deserialize, Serialize};

use super::observed::{Lost, invalid, invalid_reason};
use bench_model::load::Level;
use bench_model::observation::{Observation, Outcome};

/// A trial that gave no figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailedTrial {
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
    /// Whether the server's answer was not the true one.
    pub wrong_answer: bool,
    /// Why.
    pub reason: String,
}

/// A trial that was measured and counts nowhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InvalidTrial {
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
    /// What it was lost to.
    pub lost: Lost,
    /// The same as a sentence with a number.
    pub reason: String,
}

pub(super) fn invalid_trial(observation: &Observation) -> Option<InvalidTrial> {
    let sample = observation.outcome.sample()?;
    let trial = &observation.trial;
    Some(InvalidTrial {
        number: trial.number,
        block: trial.block,
        server: trial.server.clone(),
        beside: trial.beside.clone(),
        workload: trial.workload.clone(),
        level: trial.level(),
        lost: invalid(sample)?,
        reason: invalid_reason(sample)?,
    })
}

pub(super) fn failed_trial(observation: &Observation) -> Option<FailedTrial> {
    let trial = &observation.trial;
    Some(FailedTrial {
        number: trial.number,
        block: trial.block,
        server: trial.server.clone(),
        beside: trial.beside.clone(),
        workload: trial.workload.clone(),
        level: trial.level(),
        wrong_answer: matches!(observation.outcome, Outcome::WrongAnswer { .. }),
        reason: observation.outcome.failure()?,
    })
}
