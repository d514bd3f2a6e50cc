//! Trials that count nowhere: those that gave no figure, and those that the machine spoiled.

use serde::{Deserialize, Serialize};

use super::cell::Cell;
use super::observed::{Lost, invalid, invalid_reason, lost_share};
use super::summary::Summary;
use bench_model::load::Level;
use bench_model::observation::Observation;
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
pub type FailedTrial = Uncounted<()>;

/// A trial that was measured and counts nowhere.
pub type InvalidTrial = Uncounted<Invalid>;

/// Why a trial is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Invalid {
    /// What it was lost to.
    pub lost: Lost,
    /// The share of the processors' time that was taken, from 0 to 1; `None` where that is no reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

pub(super) fn invalid_trial(observation: &Observation) -> Option<InvalidTrial> {
    let sample = observation.outcome.sample()?;
    let (lost, mut reason) = (invalid(sample)?, invalid_reason(sample)?);
    if lost == Lost::Steal && observation.trial.beside.is_some() {
        reason +=
            "; both servers of the pair ran at once, so the ratio of CPU per request counts all the same";
    }
    Some(uncounted(observation, Invalid { lost, share: lost_share(sample, lost) }, reason))
}

pub(super) fn failed_trial(observation: &Observation) -> Option<FailedTrial> {
    Some(uncounted(observation, (), observation.outcome.failure()?))
}

fn uncounted<Kind>(observation: &Observation, kind: Kind, reason: String) -> Uncounted<Kind> {
    let Trial { number, block, server, beside, workload, .. } = observation.trial.clone();
    Uncounted { number, block, server, beside, workload, level: observation.trial.level(), kind, reason }
}

/// A server at a load of which every trial was spoiled.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spoiled<'a> {
    /// The server.
    pub server: &'a str,
    /// The workload.
    pub workload: &'a str,
    /// The load.
    pub level: Level,
    /// How often it was tried.
    pub tries: usize,
    /// What took the processors, in words.
    pub why: String,
}

/// The cells without a valid trial, all of whose trials the machine spoiled, in the summary's order. In a duet, ratios of
/// CPU time that count in spite of steal are what it is for.
pub(super) fn spoiled(summary: &Summary) -> Vec<Spoiled<'_>> {
    let is_compared = |server: &str, other: &str, workload: &str, level: Level| {
        let mut pairs = summary.comparisons.iter();
        pairs.any(|pair| {
            pair.is_of(server, other, workload, level) || pair.is_of(other, server, workload, level)
        })
    };
    let cells = summary.cells.iter().filter_map(|cell| {
        cell.all_invalid()?;
        let Cell { server, beside, workload, level, .. } = cell;
        let is_of = |trial: &&InvalidTrial| {
            (&trial.server, &trial.beside, &trial.workload, trial.level) == (server, beside, workload, *level)
        };
        let lost: Vec<&InvalidTrial> = summary.invalid.iter().filter(is_of).collect();
        let counts = |other: &String| is_compared(server, other, workload, *level);
        (!beside.as_ref().is_some_and(counts)).then_some(Spoiled {
            server,
            workload,
            level: *level,
            tries: lost.len(),
            why: taken(&lost),
        })
    });
    cells.collect()
}

/// What took the processors from these trials, and from how much to how much of them.
fn taken(trials: &[&InvalidTrial]) -> String {
    let of = |lost: Lost| {
        let lost_to: Vec<&&InvalidTrial> = trials.iter().filter(|trial| trial.kind.lost == lost).collect();
        let shares = lost_to.iter().filter_map(|trial| trial.kind.share).map(|share| (share * 100.0).round());
        let (least, most) =
            shares.fold((f64::MAX, 0.0), |(least, most), share| (share.min(least), share.max(most)));
        let range = if least == most { format!("{most:.0} %") } else { format!("{least:.0} to {most:.0} %") };
        let words = match lost {
            Lost::Steal => format!("the hypervisor took {range}"),
            Lost::ForeignCpu => format!("other processes used {range}"),
            lost => lost.words().to_owned(),
        };
        (!lost_to.is_empty()).then_some(words)
    };
    let all = [Lost::Steal, Lost::ForeignCpu, Lost::Throttled, Lost::ToolFailed, Lost::NotMeasured];
    all.into_iter().filter_map(of).collect::<Vec<_>>().join("; ")
}
