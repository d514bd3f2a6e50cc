//! What the searches of a run found, worked out again from their observations.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::judge::achieved_share;
use super::{Found, Judged, Judgement, SearchPlan, Searched, failing_at};
use crate::config::{self, Campaign};
use crate::diagnosed::{Diagnosed, TriedRemedy, diagnosed, remedies};
use crate::observation::{Observation, Sample};
use crate::observed::{counts, middle_of, valid, valid_evidence};
use crate::results::{REMEDIED, RunFolder, SEARCHES};

/// What the searches of a run found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Searches {
    /// What was requested.
    pub search: config::Search,
    /// When the load tool gave a request up, in milliseconds.
    pub timeout_ms: u64,
    /// The window of a trial of full length, in milliseconds.
    pub window_ms: u64,
    /// The highest load that may be tried: the campaign's, or the connections that the machine holds.
    pub limit: u32,
    /// Searches that have not ended.
    pub left: usize,
    /// Trials in all.
    pub trials: usize,
    /// Each search.
    pub searches: Vec<Shown>,
    /// Why the servers fail where they fail most often, where there is something to explain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Diagnosed>,
    /// Remedies that were tried there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<TriedRemedy>,
    /// The searches again, with those remedies that took the symptom away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedied: Option<Box<Self>>,
}

/// What one search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// What was searched.
    #[serde(flatten)]
    pub searched: Searched,
    /// What was found.
    pub found: Found,
    /// Figures at the highest load that holds.
    pub at_held: Option<AtHeld>,
    /// Every trial, in order.
    pub points: Vec<Point>,
    /// What was wrong with the failing trials at the lowest load that is known to fail, by kind, in trials; where none
    /// fails, what was wrong with the trials that showed nothing.
    pub complaints: BTreeMap<String, u32>,
    /// The lowest load that was not reached, and the server not to blame.
    pub not_reached: Option<NotReached>,
}

/// Medians over the passing trials of full length at a load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AtHeld {
    /// 99th percentile of latency, at a rate from the moment at which a request was meant to be sent, in microseconds.
    pub p99_us: f64,
    /// CPU time of the server for a request, in microseconds.
    pub cpu_us_per_request: f64,
}

/// One trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Connections, or requests a second.
    pub at: u32,
    /// Whether it was short.
    pub is_short: bool,
    /// Whether the server did what is demanded; none where the trial does not show that.
    pub passed: Option<bool>,
    /// Whether the load was not reached.
    pub not_reached: bool,
    /// The latency that decides, in microseconds: the slowest along connections, the 99th percentile along a rate; none
    /// where there was no window, or an invalid one.
    pub latency_us: Option<f64>,
}

/// What was reached of a load in a trial that did not reach it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NotReached {
    /// Connections, or requests a second.
    pub at: u32,
    /// Trials of the search that did not reach their load, at any.
    pub trials: u32,
    /// Connections that were held, or requests a second that were sent.
    pub reached: u64,
    /// Processors that the load tool used.
    pub client_cores: f64,
    /// Processors that the server used.
    pub server_cores: f64,
}

/// Works out what the searches of a folder found: ends, causes, and what remedies did.
///
/// # Errors
/// A file of the folder can't be read, or its trials are not those of its searches.
pub fn read(folder: &RunFolder) -> Result<Searches> {
    let (searches, plan): (SearchPlan, _) = (folder.read_json(SEARCHES)?, folder.plan()?);
    let (ready, observations) = (folder.conditions()?.servers, folder.observations()?);
    let found = summarize(&searches, &plan.campaign, &ready, &observations)?;
    let remedied = folder.inside(REMEDIED).map(|inner| read(&inner)).transpose()?;
    Ok(Searches { remedies: remedies(folder)?, remedied: remedied.map(Box::new), ..found })
}

/// The same of observations, without remedies. `ready` are the servers' ready lines.
///
/// # Errors
/// The observations are not those of the plan.
pub fn summarize(
    plan: &SearchPlan,
    campaign: &Campaign,
    ready: &BTreeMap<String, Value>,
    observations: &[Observation],
) -> Result<Searches> {
    let replay = plan.replay(observations)?;
    let failing = replay.found().flat_map(|(found, judged)| failing_at(judged, found.fails_most()));
    // A request is too late where it took longer than the level allows.
    let timeout_ms = plan.search.service_level().map_or(plan.timeout_ms, |level| level.p99_ms);
    let level = Campaign { timeout_ms, ..campaign.clone() };
    Ok(Searches {
        search: plan.search.clone(),
        timeout_ms: plan.timeout_ms,
        window_ms: plan.window_ms,
        limit: plan.limit,
        left: replay.schedule.left(),
        trials: observations.len(),
        searches: plan.searches.iter().zip(replay.found()).map(|of| shown(plan, of)).collect(),
        causes: diagnosed(&level, ready, plan.cores, failing),
        remedies: Vec::new(),
        remedied: None,
    })
}

fn shown(plan: &SearchPlan, (searched, (found, judged)): (&Searched, (Found, &[Judged<'_>]))) -> Shown {
    let mut wrong = failing_at(judged, found.fails_at());
    if wrong.is_empty() {
        let nothing = judged.iter().filter(|of| of.judgement == Judgement::Nothing);
        wrong.extend(nothing.map(|of| of.observation));
    }
    let judge = plan.judge();
    let missed = wrong.iter().flat_map(|observation| judge.missed(observation));
    Shown {
        searched: searched.clone(),
        at_held: at_held(&found, judged),
        points: judged.iter().map(point).collect(),
        complaints: counts(missed.map(|missed| missed.kind())),
        not_reached: not_reached(judged),
        found,
    }
}

fn load_of(of: &Judged<'_>) -> u32 {
    of.observation.trial.rate.unwrap_or(of.observation.trial.connections)
}

fn is_short(of: &Judged<'_>) -> bool {
    of.observation.trial.window_ms.is_some()
}

fn at_held(found: &Found, judged: &[Judged<'_>]) -> Option<AtHeld> {
    let held = found.holds?.at;
    let is_there =
        |of: &&Judged<'_>| load_of(of) == held && !is_short(of) && of.judgement.passed() == Some(true);
    let samples: Vec<&Sample> =
        judged.iter().filter(is_there).filter_map(|of| valid(of.observation)).collect();
    Some(AtHeld {
        p99_us: middle_of(samples.iter().map(|sample| sample.load.latency_us.p99))?,
        cpu_us_per_request: middle_of(samples.iter().filter_map(|sample| sample.cpu_us_per_request()))?,
    })
}

fn point(of: &Judged<'_>) -> Point {
    let latency_us = valid(of.observation).map(|sample| sample.load.latency_us);
    let decides = latency_us.map(|us| if of.observation.trial.rate.is_some() { us.p99 } else { us.max });
    Point {
        at: load_of(of),
        is_short: is_short(of),
        passed: of.judgement.passed(),
        not_reached: of.judgement == Judgement::NotReached,
        latency_us: decides,
    }
}

fn not_reached(judged: &[Judged<'_>]) -> Option<NotReached> {
    let limited = || judged.iter().filter(|of| of.judgement == Judgement::NotReached);
    let lowest = limited().min_by_key(|of| load_of(of))?;
    let (at, sample) = (load_of(lowest), valid_evidence(lowest.observation)?);
    let sent = achieved_share(&sample.load).map(|share| (share * f64::from(at)).round() as u64);
    Some(NotReached {
        at,
        trials: limited().count() as u32,
        reached: sent.or(sample.short_of())?,
        client_cores: sample.client_cores(),
        server_cores: sample.server_cores().unwrap_or(0.0),
    })
}
