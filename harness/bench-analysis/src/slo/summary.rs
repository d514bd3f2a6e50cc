//! What the searches of a run found, worked out again from their observations.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::found::FoundRate;
use super::judge::achieved_share;
use super::plan::{SloPlan, SloSearched};
use crate::ceilings::Ceiling;
use crate::diagnosed::{Diagnosed, diagnosed};
use crate::interleaved_searches::{Judged, Searches, failing, to_explain};
use crate::observed::{middle_of, valid};
use crate::search::Judgement;
use bench_model::config::{Campaign, Slo};
use bench_model::observation::{Observation, Sample};
use bench_model::plan::Trial;

/// What the searches of a run found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SloSummary {
    /// What was requested: the service level, and for how long it must hold.
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
    pub found: FoundRate,
    /// The lower bound's figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_lower: Option<AtLower>,
    /// Every trial, in order.
    pub points: Vec<Point>,
    /// What the trials at the upper bound missed, by kind, in trials; where there is none, why trials showed nothing.
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
    /// Requested rate, in requests a second.
    pub rate: u32,
    /// The window, in milliseconds.
    pub duration_ms: u64,
    /// What it showed.
    pub result: PointResult,
    /// 99th percentile of latency, in microseconds; none where there was no window, or an invalid one.
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
    /// It was not, because the load tool could not send the requested rate.
    ToolLimited,
    /// Nothing.
    Nothing,
}

/// A trial in which the load tool was the limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ToolLimited {
    /// Requested rate, in requests a second.
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
    let replay = plan.replay(observations)?;
    // A request counts as bad where it took longer than the level allows.
    let level = Campaign { timeout_ms: plan.slo.p99_ms, ..campaign.clone() };
    let search = |(searched, (found, judged)): (&SloSearched, (FoundRate, &[Judged<'_>]))| {
        let at_upper = |trial: &Trial| found.upper.is_some_and(|upper| trial.rate == Some(upper.rate));
        let failing = failing(judged, at_upper);
        SloSearch {
            searched: searched.clone(),
            at_lower: at_lower(plan, &found, judged),
            points: judged.iter().filter_map(point).collect(),
            complaints: plan.complaints_of(&to_explain(judged, &failing)),
            tool_limited: tool_limited(judged),
            causes: diagnosed(&level, ready, plan.cores, failing),
            found,
        }
    };
    Ok(SloSummary {
        slo: plan.slo.clone(),
        ceiling: plan.ceiling,
        left: replay.schedule.left(),
        trials: observations.len(),
        searches: plan.searches.iter().zip(replay.found()).map(search).collect(),
    })
}

fn at_lower(plan: &SloPlan, found: &FoundRate, judged: &[Judged<'_>]) -> Option<AtLower> {
    let lower = found.lower?;
    let is_there = |of: &&Judged<'_>| {
        let trial = &of.observation.trial;
        let is_full = trial.window_ms.is_some_and(|window_ms| window_ms >= plan.slo.final_trial_ms);
        trial.rate == Some(lower.rate) && is_full && of.judgement.passed() == Some(true)
    };
    let samples: Vec<&Sample> =
        judged.iter().filter(is_there).filter_map(|of| valid(of.observation)).collect();
    Some(AtLower {
        p99_us: middle_of(samples.iter().map(|sample| sample.load.latency_us.p99))?,
        cpu_us_per_request: middle_of(samples.iter().filter_map(|sample| sample.cpu_us_per_request()))?,
    })
}

/// `None` for a trial without a rate or a window, which no search of an open loop plans.
fn point(Judged { observation, judgement }: &Judged<'_>) -> Option<Point> {
    let trial = &observation.trial;
    let result = match judgement {
        Judgement::Measured { passed: true, .. } => PointResult::Passed,
        Judgement::Measured { passed: false, .. } => PointResult::Failed,
        Judgement::NotReached => PointResult::ToolLimited,
        Judgement::Nothing => PointResult::Nothing,
    };
    let p99_us = valid(observation).map(|sample| sample.load.latency_us.p99);
    Some(Point { rate: trial.rate?, duration_ms: trial.window_ms?, result, p99_us })
}

fn tool_limited(judged: &[Judged<'_>]) -> Option<ToolLimited> {
    let limited = judged.iter().filter(|of| of.judgement == Judgement::NotReached);
    let lowest = limited.map(|of| of.observation).min_by_key(|observation| observation.trial.rate)?;
    let sample = valid(lowest)?;
    Some(ToolLimited {
        rate: lowest.trial.rate?,
        achieved: achieved_share(&sample.load)?,
        client_cores: sample.client_cores(),
        server_cores: sample.server_cores().unwrap_or(0.0),
    })
}
