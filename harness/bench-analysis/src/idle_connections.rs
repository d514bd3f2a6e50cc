//! Connections that are held and carry nothing: what memory each takes, and how long connecting all at once took.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::fitted_lines::FittedLine;
use super::observed::{Observed, Samples, median_figure, median_of};
use bench_model::figure::Figure;
use bench_model::load::Level;
use bench_model::observation::{Observation, Sample, failed_requests};
use bench_model::plan::Plan;
use bench_stats::Estimate;

/// A server that held connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// The server.
    pub server: String,
    /// By the number of connections, in the plan's order.
    pub storms: Vec<Storm>,
    /// The server's memory in bytes against connections held.
    pub memory: FittedLine,
}

/// Connections that were established all at once. Medians over valid trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Storm {
    /// Connections.
    pub connections: u32,
    /// Until one was established, in microseconds: the median of a trial.
    pub p50_us: Estimate,
    /// And the 99th percentile.
    pub p99_us: Estimate,
    /// Until all were, in seconds.
    pub all_s: Estimate,
    /// CPU time of the server for a connection in the whole window, in microseconds; unknown where its process can't be
    /// read.
    pub cpu_us: Option<Estimate>,
    /// The most memory that the server held in the window, in bytes; unknown likewise.
    pub memory_bytes: Option<Estimate>,
    /// Connections that were not established or were lost, in all trials, by kind.
    pub failed: BTreeMap<String, u64>,
    /// Valid trials.
    pub trials: usize,
}

/// What each server of a plan held; none of a plan that sends requests.
pub fn held(plan: &Plan, observations: &[Observation]) -> Vec<Held> {
    if !plan.campaign.hold {
        return Vec::new();
    }
    let observed = Observed::new(observations);
    let Some(workload) = plan.campaign.workloads.first() else { return Vec::new() };
    let levels: Vec<(f64, Level)> =
        plan.levels().into_iter().map(|level| (level.connections.into(), level)).collect();
    let of = |server: &String| {
        let mut storms = Vec::new();
        for (_, level) in &levels {
            storms.extend(storm(&observed.samples(server, workload, *level), level.connections));
        }
        (!storms.is_empty()).then(|| Held {
            server: server.clone(),
            storms,
            memory: FittedLine::of_memory(&observed, server, workload, &levels),
        })
    };
    plan.campaign.servers.iter().filter_map(of).collect()
}

fn storm(samples: &Samples<'_>, connections: u32) -> Option<Storm> {
    let connects = || samples.values().filter_map(|sample| sample.load.details.connects);
    let cpu_us = |sample: &&Sample| Some(sample.server_cpu?.total_s() * 1e6 / f64::from(connections));
    Some(Storm {
        connections,
        p50_us: median_of(connects().map(|connects| connects.each_us.p50))?,
        p99_us: median_of(connects().map(|connects| connects.each_us.p99))?,
        all_s: median_of(connects().map(|connects| connects.all_s))?,
        cpu_us: median_of(samples.values().filter_map(cpu_us)),
        memory_bytes: median_figure(samples, Figure::HeldMemoryBytes),
        failed: failed_requests(samples.values().copied()),
        trials: samples.len(),
    })
}
