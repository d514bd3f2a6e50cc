//! What the searches of a run found, worked out again from their observations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::found::{Counted, FoundThreshold};
use super::search::Doubling;
use super::searched::{SearchPlan, Searched};
use crate::diagnosed::{Diagnosed, TriedRemedy};
use crate::interleaved_searches::{Judged, Replay, Searches, failing, to_explain};
use crate::observed::valid_evidence;
use bench_model::observation::{Connecting, Observation, Sample};

/// What the searches of a run found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    pub found: FoundThreshold,
    /// What was wrong with the failing trials at the lowest count that is known to fail, by kind, in trials; where none
    /// fails, what was wrong with the trials that showed nothing.
    pub complaints: BTreeMap<String, u32>,
    /// The slowest request at that count, in milliseconds.
    pub slowest_ms: Option<f64>,
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
    /// Requests that failed because their connection could not be made.
    pub failed: u64,
    /// Connection attempts that found the listen queue full, where the machine counts them.
    pub dropped: Option<u64>,
    /// Processors that server and load tool used together, the median over trials.
    pub cores: f64,
}

/// The failing trials of a search at a connection count.
pub fn failing_at<'a>(judged: &[Judged<'a>], at: Option<Counted>) -> Vec<&'a Observation> {
    failing(judged, |trial| at.is_some_and(|at| at.connections == trial.connections))
}

impl SearchPlan {
    /// What the searches found. Causes and remedies are worked out from more than the observations.
    pub fn summarize(&self, replay: &Replay<'_, Doubling>) -> ThresholdSummary {
        let search = |(searched, (found, judged)): (&Searched, (FoundThreshold, &[Judged<'_>]))| {
            let own: Vec<&Observation> = judged.iter().map(|of| of.observation).collect();
            let wrong = to_explain(judged, &failing_at(judged, found.fails_at()));
            let slowest_ms =
                |observation: &&Observation| Some(valid_evidence(observation)?.load.latency_us.max / 1e3);
            SearchSummary {
                searched: searched.clone(),
                complaints: self.complaints_of(&wrong),
                slowest_ms: wrong.iter().filter_map(slowest_ms).max_by(f64::total_cmp),
                connecting: connecting(&own),
                found,
            }
        };
        ThresholdSummary {
            timeout_ms: self.timeout_ms,
            confirmations: self.threshold.confirmations,
            bad_to_fail: self.rules().bad_to_fail(),
            left: replay.schedule.left(),
            trials: replay.judged.iter().map(Vec::len).sum(),
            searches: self.searches.iter().zip(replay.found()).map(search).collect(),
            ..ThresholdSummary::default()
        }
    }
}

/// How connections were made, by count.
fn connecting(own: &[&Observation]) -> Vec<ConnectingAt> {
    let mut counts: BTreeMap<u32, Vec<(Connecting, &Sample)>> = BTreeMap::new();
    for observation in own {
        let Some(sample) = valid_evidence(observation) else { continue };
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
