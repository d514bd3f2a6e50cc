//! What the searches of a run found, worked out again from their observations.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::found::Found;
use super::judge::{Judge, achieved_share};
use super::plan::{SloPlan, SloSearched};
use super::search::Shown;
use crate::analysis::ceilings::Ceiling;
use crate::analysis::diagnosed::{Diagnosed, diagnosed};
use crate::config::{Campaign, Slo};
use crate::observation::{Observation, Outcome, Sample};
use crate::stats::median;

/// What the searches of a run found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SloSummary {
    /// What was asked for: the service level, and how surely.
    pub slo: Slo,
    /// What the load tool can send, measured on the server that answers at once.
    pub ceiling: Ceiling,
    /// Searches that have not ended.
    pub left: usize,
    /// Trials in all.
    pub trials: usize,
    /// Each search.
    pub searches: Vec<SloSearch>,
}

/// What one search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SloSearch {
    /// What was searched.
    #[serde(flatten)]
    pub searched: SloSearched,
    /// What was found.
    pub found: Found,
    /// The lower bound's figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_lower: Option<AtLower>,
    /// Every trial, in order.
    pub points: Vec<Point>,
    /// What the trials at the upper bound missed, by kind, in trials; where there is none, why trials gave nothing.
    pub complaints: BTreeMap<String, u32>,
    /// The lowest rate at which the load tool was the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_limited: Option<ToolLimited>,
    /// Why the level is missed at the upper bound: likely causes, one diagnosis at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Diagnosed>,
}

/// Medians over the trials of full length at the lower bound that met the level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AtLower {
    /// 99th percentile of latency, from the moment at which a request was meant to be sent, in microseconds.
    pub p99_us: f64,
    /// CPU time of the server for a request, in microseconds.
    pub cpu_us_per_request: f64,
}

/// One trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Requests a second that were asked for.
    pub rate: u32,
    /// The window, in milliseconds.
    pub duration_ms: u64,
    /// What it showed.
    pub result: PointResult,
    /// 99th percentile of latency, in microseconds; none where there was no window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
}

/// What a trial showed of its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointResult {
    /// The level was met.
    Passed,
    /// It was not.
    Failed,
    /// It was not, since the load tool could not send as asked.
    ToolLimited,
    /// Nothing.
    Nothing,
}

/// A trial in which the load tool was the limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ToolLimited {
    /// Requests a second that were asked for.
    pub rate: u32,
    /// The share of them that the tool sent in time, from 0 to 1.
    pub achieved: f64,
    /// Processors that the tool used.
    pub client_cores: f64,
    /// Processors that the server used.
    pub server_cores: f64,
}

/// Works out what the searches found. `ready` are the servers' ready lines.
///
/// # Errors
/// The observations are not those of the plan.
pub fn summarize(
    plan: &SloPlan,
    campaign: &Campaign,
    ready: &BTreeMap<String, Value>,
    observations: &[Observation],
) -> Result<SloSummary> {
    let schedule = plan.after(observations)?;
    let judge = plan.judge();
    // A request counts as bad where it took longer than the level allows.
    let level = Campaign { timeout_ms: plan.slo.p99_ms, ..campaign.clone() };
    let search = |(searched, found): (&SloSearched, Found)| {
        let own: Vec<&Observation> =
            observations.iter().filter(|observation| searched.is_of(observation)).collect();
        let failing = failing(&judge, &found, &own);
        SloSearch {
            searched: searched.clone(),
            at_lower: at_lower(plan, &judge, &found, &own),
            points: own.iter().map(|observation| point(&judge, observation)).collect(),
            complaints: complaints(&judge, &failing, &own),
            tool_limited: tool_limited(&judge, &own),
            causes: diagnosed(&level, ready, plan.cores, &failing),
            found,
        }
    };
    let found = schedule.searches().iter().map(super::Search::found);
    Ok(SloSummary {
        slo: plan.slo.clone(),
        ceiling: plan.ceiling,
        left: schedule.left(),
        trials: observations.len(),
        searches: plan.searches.iter().zip(found).map(search).collect(),
    })
}

fn passed(shown: Shown) -> bool {
    matches!(shown, Shown::Measured { passed: true, .. })
}

/// The trials at the upper bound that missed the level.
fn failing(judge: &Judge, found: &Found, own: &[&Observation]) -> Vec<Observation> {
    let Some(upper) = found.upper else { return Vec::new() };
    let is_failing = |observation: &&&Observation| {
        observation.trial.rate == Some(upper.rate)
            && matches!(judge.shown(observation), Shown::Measured { passed: false, .. })
    };
    own.iter().filter(is_failing).map(|observation| (*observation).clone()).collect()
}

fn at_lower(plan: &SloPlan, judge: &Judge, found: &Found, own: &[&Observation]) -> Option<AtLower> {
    let lower = found.lower?;
    let samples: Vec<&Sample> = own
        .iter()
        .filter(|observation| {
            let trial = &observation.trial;
            let is_full = trial.window_ms.is_some_and(|window_ms| window_ms >= plan.slo.final_trial_ms);
            trial.rate == Some(lower.rate) && is_full && passed(judge.shown(observation))
        })
        .filter_map(|observation| observation.outcome.sample())
        .collect();
    let middle = |of: fn(&Sample) -> f64| {
        let values: Vec<f64> = samples.iter().map(|sample| of(sample)).collect();
        Some(median(&values)?.value)
    };
    Some(AtLower {
        p99_us: middle(|sample| sample.load.latency_us.p99)?,
        cpu_us_per_request: middle(Sample::cpu_us_per_request)?,
    })
}

fn point(judge: &Judge, observation: &Observation) -> Point {
    let trial = &observation.trial;
    let result = match judge.shown(observation) {
        Shown::Measured { passed: true, .. } => PointResult::Passed,
        Shown::Measured { passed: false, .. } => PointResult::Failed,
        Shown::ToolLimited => PointResult::ToolLimited,
        Shown::Nothing => PointResult::Nothing,
    };
    let p99_us = observation.outcome.sample().map(|sample| sample.load.latency_us.p99);
    Point {
        rate: trial.rate.unwrap_or_default(),
        duration_ms: trial.window_ms.unwrap_or_default(),
        result,
        p99_us,
    }
}

/// What was wrong, by kind, in trials.
fn complaints(judge: &Judge, failing: &[Observation], own: &[&Observation]) -> BTreeMap<String, u32> {
    let nothing: Vec<Observation> = own
        .iter()
        .filter(|observation| judge.shown(observation) == Shown::Nothing)
        .map(|observation| (*observation).clone())
        .collect();
    let wrong = if failing.is_empty() { &nothing[..] } else { failing };
    let mut complaints = BTreeMap::new();
    for missed in wrong.iter().flat_map(|observation| judge.missed(observation)) {
        *complaints.entry(missed.kind()).or_insert(0) += 1;
    }
    complaints
}

fn tool_limited(judge: &Judge, own: &[&Observation]) -> Option<ToolLimited> {
    let limited = own.iter().filter(|observation| judge.shown(observation) == Shown::ToolLimited);
    let lowest = limited.min_by_key(|observation| observation.trial.rate)?;
    let Outcome::Completed(sample) = &lowest.outcome else { return None };
    Some(ToolLimited {
        rate: lowest.trial.rate?,
        achieved: achieved_share(&sample.load)?,
        client_cores: sample.client_cores(),
        server_cores: sample.server_cores(),
    })
}
