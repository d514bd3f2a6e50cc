//! Trials that count nowhere: those that gave no figure, and those that the machine spoiled.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::observed::{Lost, invalid, invalid_reason, lost_share};
use crate::load::Level;
use crate::observation::Observation;
use crate::plan::Trial;

/// A trial that counts nowhere.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Uncounted {
    /// Its number.
    pub number: u32,
    /// Its block.
    pub block: u32,
    /// The server.
    pub server: String,
    /// In a duet, the server that ran at the same time.
    pub beside: Option<String>,
    /// The workload.
    pub workload: String,
    /// The load.
    #[serde(flatten)]
    pub level: Level,
    /// What it was lost to; `None` of one that gave no figure.
    pub lost: Option<Lost>,
    /// The share of the processors' time that was taken, from 0 to 1; `None` where that is no reason.
    pub share: Option<f64>,
    /// Why, as a sentence.
    pub reason: String,
}

impl Uncounted {
    /// A trial that was measured and is invalid.
    pub(super) fn invalid(observation: &Observation) -> Option<Self> {
        let sample = observation.outcome.sample()?;
        let (lost, mut reason) = (invalid(sample)?, invalid_reason(sample)?);
        if lost == Lost::Steal && observation.trial.beside.is_some() {
            reason +=
                "; both servers of the pair ran at once, so the ratio of CPU per request counts all the same";
        }
        let share = lost_share(sample, lost);
        Some(Self { lost: Some(lost), share, ..Self::of(observation, reason) })
    }

    /// A trial that gave no figure.
    pub(super) fn failed(observation: &Observation) -> Option<Self> {
        Some(Self::of(observation, observation.outcome.failure()?))
    }

    fn of(observation: &Observation, reason: String) -> Self {
        let level = observation.trial.level();
        let Trial { number, block, server, beside, workload, .. } = observation.trial.clone();
        Self { number, block, server, beside, workload, level, lost: None, share: None, reason }
    }
}
