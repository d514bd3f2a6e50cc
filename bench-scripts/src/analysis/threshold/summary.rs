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
use crate::observation::{Observation, Outcome};

/// What the searches of a run found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThresholdSummary {
    /// When the load tool gave a request up, in milliseconds: what took longer counts as failed.
    pub timeout_ms: u64,
    /// Trials at each end of an answer.
    pub confirmations: u32,
    /// Bad trials of these that make a failing count.
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
    /// What was wrong with the bad trials at the lowest count that is known to fail, by kind, in trials; where none fails, what
    /// was wrong with the trials that showed nothing.
    pub complaints: BTreeMap<String, u32>,
    /// The slowest request at that count, in milliseconds.
    pub slowest_ms: Option<f64>,
    /// Trials in which the server ended by itself, in order.
    pub died: Vec<Died>,
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

/// The bad trials of a search at a connection count.
pub fn bad_trials<'a>(
    plan: &SearchPlan,
    search: &SearchSummary,
    at: Option<Counted>,
    observations: &'a [Observation],
) -> Vec<&'a Observation> {
    let Some(at) = at else { return Vec::new() };
    let is_bad = |observation: &&Observation| {
        search.searched.is_of(observation)
            && observation.trial.connections == at.connections
            && shown(observation, plan.timeout_ms) == Shown::Bad
    };
    observations.iter().filter(is_bad).collect()
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
    let bad: Vec<Observation> = searches
        .flat_map(|search| bad_trials(plan, search, search.found.fails_most(), observations))
        .cloned()
        .collect();
    diagnosed(campaign, ready, cores, &bad)
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
    };
    let mut wrong = bad_trials(plan, &summary, summary.found.fails_at(), observations);
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
