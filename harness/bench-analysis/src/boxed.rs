//! How many connections fit in a box: predicted by a line through what few of them take, and tried.
//!
//! The line is fitted to the group's memory, which is what the limit counts: the server's own, the kernel's for its
//! connections, and caches of files. The server's resident memory is neither: it has pages that other processes were
//! charged for, and nothing of the kernel's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::observed::{Lost, middle_of};
use bench_model::config::Campaign;
use bench_model::observation::{Observation, Outcome};
use bench_model::plan::Plan;
use bench_stats::{CONFIDENCE, Estimate};

/// The share of the box up to which a trial counts for the line.
const FITTED_UP_TO: f64 = 0.5;

/// A server that held connections in a box.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Boxed {
    /// The server.
    pub server: String,
    /// The most memory that it may have, in bytes.
    pub memory_max_bytes: u64,
    /// By rising number of connections.
    pub levels: Vec<BoxedLevel>,
    /// Trials that the line goes through.
    pub fitted: usize,
    /// The memory of the group without connections by the line, in bytes, and that for each connection.
    pub line: Option<(f64, f64)>,
    /// The number of connections at which the line reaches the limit, with its interval; `None` where the trials decide
    /// none.
    pub predicted: Option<Estimate>,
    /// The most connections that were held.
    pub most_held: Option<u32>,
    /// The fewest at which the kernel killed the server.
    pub least_killed: Option<u32>,
    /// Whether the prediction agrees with that.
    pub verdict: BoxedVerdict,
}

/// A number of connections in a box.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoxedLevel {
    /// Connections.
    pub connections: u32,
    /// Trials in which they were held.
    pub held: usize,
    /// Trials in which the kernel killed the server for want of memory.
    pub killed: usize,
    /// Trials that ended in another way, such as connections that were not established in time.
    pub other: usize,
    /// The most memory of the group at one time, in bytes: the median over the trials that held the connections.
    pub memory_bytes: Option<f64>,
}

/// Whether a prediction agrees with what was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoxedVerdict {
    /// The interval reaches into the range from the most connections that were held to the fewest at which the server
    /// was killed.
    Agrees,
    /// The server was killed at fewer connections than the whole interval.
    TooHigh,
    /// More connections were held than the whole interval.
    TooLow,
    /// No server was killed, so that the limit was not reached.
    NotReached,
    /// There is no prediction with an interval, or nothing was held.
    NotPredicted,
}

/// What became of the connections of each server that has a limit of memory; none of a plan that sends requests.
pub fn boxed(plan: &Plan, observations: &[Observation]) -> Vec<Boxed> {
    if !plan.campaign.hold {
        return Vec::new();
    }
    let of = |name: &String| {
        let server = plan.server(name).ok()?;
        let memory_max_bytes = plan.environment_of(server).size().memory_max?.0;
        let own = observations.iter().filter(|one| &one.trial.server == name && Lost::of(one).is_none());
        let mut by_level: BTreeMap<u32, Vec<&Outcome>> = BTreeMap::new();
        for observation in own {
            by_level.entry(observation.trial.connections).or_default().push(&observation.outcome);
        }
        (!by_level.is_empty()).then(|| Boxed::new(name, memory_max_bytes, &by_level))
    };
    plan.campaign.servers.iter().filter_map(of).collect()
}

/// Whether an outcome that is no measurement is what a campaign wants to know, and no failure: where connections are
/// held in a box, a kill for want of memory says that they don't fit.
pub(super) fn is_answer(campaign: &Campaign, outcome: &Outcome) -> bool {
    campaign.hold && matches!(outcome, Outcome::OutOfMemory { .. })
}

impl Boxed {
    fn new(server: &str, memory_max_bytes: u64, by_level: &BTreeMap<u32, Vec<&Outcome>>) -> Self {
        let level = |(connections, outcomes): (&u32, &Vec<&Outcome>)| {
            let held = outcomes.iter().filter(|outcome| outcome.sample().is_some()).count();
            let is_killed = |outcome: &&&Outcome| matches!(outcome, Outcome::OutOfMemory { .. });
            let killed = outcomes.iter().filter(is_killed).count();
            BoxedLevel {
                connections: *connections,
                held,
                killed,
                other: outcomes.len() - held - killed,
                memory_bytes: middle_of(outcomes.iter().filter_map(|outcome| group_memory(outcome))),
            }
        };
        let levels: Vec<BoxedLevel> = by_level.iter().map(level).collect();
        let points = by_level.iter().flat_map(|(connections, outcomes)| {
            let memory = outcomes.iter().filter_map(|outcome| group_memory(outcome));
            let fitted = memory.filter(|bytes| is_fitted(*bytes, memory_max_bytes));
            fitted.map(|bytes| (f64::from(*connections), bytes))
        });
        let points: Vec<(f64, f64)> = points.collect();
        let reached = bench_stats::reached(&points, memory_max_bytes as f64, 1.0 - CONFIDENCE);
        // Levels rise.
        let most_held = levels.iter().rfind(|level| level.held > 0).map(|level| level.connections);
        let least_killed = levels.iter().find(|level| level.killed > 0).map(|level| level.connections);
        let predicted = reached.map(|(_, at)| at);
        Self {
            server: server.to_owned(),
            memory_max_bytes,
            levels,
            fitted: points.len(),
            line: reached.map(|(line, _)| (line.intercept, line.slope)),
            predicted,
            most_held,
            least_killed,
            verdict: verdict(predicted, most_held, least_killed),
        }
    }
}

/// Whether trials with that much memory of the group count for the line of a box, both in bytes.
pub fn is_fitted(memory_bytes: f64, memory_max_bytes: u64) -> bool {
    memory_bytes <= memory_max_bytes as f64 * FITTED_UP_TO
}

/// The most memory of a server's group, in bytes, where the connections were held.
fn group_memory(outcome: &Outcome) -> Option<f64> {
    Some(outcome.sample()?.limited?.memory_peak_bytes? as f64)
}

fn verdict(predicted: Option<Estimate>, most_held: Option<u32>, least_killed: Option<u32>) -> BoxedVerdict {
    let interval = predicted.and_then(|predicted| predicted.interval);
    let Some(((low, high), held)) = interval.zip(most_held.map(f64::from)) else {
        return BoxedVerdict::NotPredicted;
    };
    // Near the limit one trial may hold what another one did not.
    let killed = least_killed.map(f64::from);
    if high < killed.map_or(held, |killed| killed.min(held)) {
        return BoxedVerdict::TooLow;
    }
    match killed {
        None => BoxedVerdict::NotReached,
        Some(killed) if low > killed.max(held) => BoxedVerdict::TooHigh,
        Some(_) => BoxedVerdict::Agrees,
    }
}
