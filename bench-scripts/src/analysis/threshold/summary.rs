//! What the searches of a run found, worked out again from their observations.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::found::{Counted, Found};
use super::judge::{complaint, shown};
use super::search::Shown;
use super::searched::{SearchPlan, Searched};
use super::{Asked, Schedule};
use crate::analysis::diagnosed::{Diagnosed, TriedRemedy, diagnosed};
use crate::config::Campaign;
use crate::observation::{Connecting, Observation, Outcome, Sample};

/// What the searches of a run found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThresholdSummary {
    /// When the load tool gave a request up, in milliseconds: what took longer counts as failed.
    pub timeout_ms: u64,
    /// Trials at each end of an answer.
    pub confirmations: u32,
    /// Failing trials of these that make a failing count.
    pub bad_to_fail: u32,
    /// Searches that have not ended.
    pub left: usize,
    /// Trials in all.
    pub trials: usize,
    /// Each search.
    pub searches: Vec<SearchSummary>,
    /// Why the servers fail where they start to, where there is something to explain.
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
pub struct SearchSummary {
    /// What was searched.
    #[serde(flatten)]
    pub searched: Searched,
    /// What was found.
    pub found: Found,
    /// What was wrong with the failing trials at the lowest count that is known to fail, by kind, in trials; where none fails,
    /// what was wrong with the trials that showed nothing.
    pub complaints: BTreeMap<String, u32>,
    /// The slowest request at that count, in milliseconds.
    pub slowest_ms: Option<f64>,
    /// Trials in which the server ended by itself, in order.
    pub died: Vec<Died>,
    /// How the connections were made at each count, rising; empty in runs in which that was not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connecting: Vec<ConnectingAt>,
}

/// How a server's connections were made in the trials at one count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConnectingAt {
    /// Connections that were requested.
    pub connections: u32,
    /// Trials of which it is known.
    pub trials: u32,
    /// Those of them in which 99 % were not established within `allowed_ms`.
    pub short: u32,
    /// How long connecting might take, in milliseconds.
    pub allowed_ms: u64,
    /// Median time until 99 % were established, in milliseconds; none where that is longer than allowed.
    pub median_ms: Option<u64>,
    /// The most connections that were held in any of the `short` trials.
    pub held: Option<u64>,
    /// Requests that failed since their connection could not be made.
    pub failed: u64,
    /// Connection attempts that found the listen queue full, where the machine counts them.
    pub dropped: Option<u64>,
    /// Processors that server and load tool used together, the median over trials.
    pub cores: f64,
}

/// A trial in which the server did not start, or ended by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Died {
    /// Connections.
    pub connections: u32,
    /// How it ended.
    pub how: String,
}

impl SearchPlan {
    /// The schedule after these observations.
    ///
    /// # Errors
    /// They are not what the schedule asked for.
    pub fn after(&self, observations: &[Observation]) -> Result<Schedule> {
        let mut schedule = self.schedule();
        for observation in observations {
            let trial = &observation.trial;
            let fits = schedule.next().is_some_and(|asked| {
                let Asked { search, round, number, load: connections } = asked;
                (round, number, connections) == (trial.block, trial.number, trial.connections)
                    && self.searches[search].is_of(observation)
            });
            ensure!(fits, "trial {} is not the one that its search asks for", trial.number);
            schedule.tell(shown(observation, self.timeout_ms));
        }
        Ok(schedule)
    }
}

impl Searched {
    /// Whether an observation is one of this search.
    pub fn is_of(&self, observation: &Observation) -> bool {
        let trial = &observation.trial;
        trial.server == self.server && trial.workload == self.workload && trial.client == self.client
    }
}

/// The failing trials of a search at a connection count.
pub fn failing_trials<'a>(
    plan: &SearchPlan,
    search: &SearchSummary,
    at: Option<Counted>,
    observations: &'a [Observation],
) -> Vec<&'a Observation> {
    let Some(at) = at else { return Vec::new() };
    let is_failing = |observation: &&Observation| {
        search.searched.is_of(observation)
            && observation.trial.connections == at.connections
            && shown(observation, plan.timeout_ms) == Shown::Fail
    };
    observations.iter().filter(is_failing).collect()
}

/// Works out what the searches found.
///
/// # Errors
/// The observations are not those of the plan.
pub fn summarize(plan: &SearchPlan, observations: &[Observation]) -> Result<ThresholdSummary> {
    let schedule = plan.after(observations)?;
    let searches = plan.searches.iter().zip(schedule.searches());
    Ok(ThresholdSummary {
        timeout_ms: plan.timeout_ms,
        confirmations: plan.threshold.confirmations,
        bad_to_fail: plan.rules().bad_to_fail(),
        left: schedule.left(),
        trials: observations.len(),
        searches: searches
            .map(|(searched, search)| search_summary(plan, searched, search.found(), observations))
            .collect(),
        causes: Vec::new(),
        remedies: Vec::new(),
        remedied: None,
    })
}

/// Why the servers fail where they fail most surely. `ready` are their ready lines, `cores` the machine's.
pub fn causes(
    plan: &SearchPlan,
    found: &ThresholdSummary,
    campaign: &Campaign,
    ready: &BTreeMap<String, Value>,
    cores: usize,
    observations: &[Observation],
) -> Vec<Diagnosed> {
    let searches = found.searches.iter();
    let failing: Vec<Observation> = searches
        .flat_map(|search| failing_trials(plan, search, search.found.fails_most(), observations))
        .cloned()
        .collect();
    diagnosed(campaign, ready, cores, &failing)
}

fn search_summary(
    plan: &SearchPlan,
    searched: &Searched,
    found: Found,
    observations: &[Observation],
) -> SearchSummary {
    let own = || observations.iter().filter(|observation| searched.is_of(observation));
    let died = own().filter_map(|observation| match &observation.outcome {
        Outcome::ServerDied { reason } => {
            Some(Died { connections: observation.trial.connections, how: reason.clone() })
        }
        _ => None,
    });
    let died: Vec<Died> = died.collect();
    let mut summary = SearchSummary {
        searched: searched.clone(),
        found,
        complaints: BTreeMap::new(),
        slowest_ms: None,
        died,
        connecting: connecting(&own().collect::<Vec<_>>()),
    };
    let mut wrong = failing_trials(plan, &summary, summary.found.fails_at(), observations);
    if wrong.is_empty() {
        wrong = own().filter(|observation| shown(observation, plan.timeout_ms) == Shown::Nothing).collect();
    }
    let slowest_ms =
        |observation: &&Observation| Some(observation.outcome.evidence()?.load.latency_us.max / 1e3);
    summary.slowest_ms = wrong.iter().filter_map(slowest_ms).max_by(f64::total_cmp);
    for observation in wrong {
        for kind in complaint(observation, plan.timeout_ms) {
            *summary.complaints.entry(kind).or_insert(0) += 1;
        }
    }
    summary
}

/// How connections were made, by count.
fn connecting(own: &[&Observation]) -> Vec<ConnectingAt> {
    let mut counts: BTreeMap<u32, Vec<(Connecting, &Sample)>> = BTreeMap::new();
    for observation in own {
        let Some(sample) = observation.outcome.evidence() else { continue };
        let Some(connecting) = sample.connecting else { continue };
        counts.entry(observation.trial.connections).or_default().push((connecting, sample));
    }
    counts.into_iter().map(|(connections, trials)| connecting_at(connections, &trials)).collect()
}

fn connecting_at(connections: u32, trials: &[(Connecting, &Sample)]) -> ConnectingAt {
    // A trial in which it took too long is slower than any in which it did not.
    let mut times: Vec<u64> =
        trials.iter().map(|(connecting, _)| connecting.took_ms.unwrap_or(u64::MAX)).collect();
    times.sort_unstable();
    let samples = || trials.iter().map(|(_, sample)| sample);
    let used = |sample: &&Sample| sample.server_cores().unwrap_or(0.0) + sample.client_cores();
    let mut cores: Vec<f64> = samples().map(used).collect();
    cores.sort_by(f64::total_cmp);
    ConnectingAt {
        connections,
        trials: trials.len() as u32,
        short: times.iter().filter(|time| **time == u64::MAX).count() as u32,
        allowed_ms: trials.iter().map(|(connecting, _)| connecting.allowed_ms).max().unwrap_or(0),
        median_ms: times.get(times.len() / 2).copied().filter(|time| *time < u64::MAX),
        held: samples().filter_map(|sample| sample.short_of()).max(),
        failed: samples().map(|sample| sample.load.not_connected()).sum(),
        dropped: samples().map(|sample| sample.network.listen_overflows).sum(),
        cores: cores.get(cores.len() / 2).copied().unwrap_or(0.0),
    }
}
