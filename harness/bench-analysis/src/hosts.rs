//! Load hosts, next to each other: what each sent and saw.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::observed::{Samples, median_of, middle_of, valid};
use bench_model::figure::Figure;
use bench_model::load::sample_details::HostShare;
use bench_model::observation::{Observation, Sample};
use bench_stats::Estimate;

/// The share of a host's processors from which on its load tool may be what limits the rate.
pub const BUSY_HOST: f64 = 0.9;

/// A load host over all valid trials of a run. Medians over trials.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostSummary {
    /// Its rank, from 0.
    pub rank: u32,
    /// What its machine calls itself.
    pub name: String,
    /// What it is.
    pub kind: String,
    /// Trials.
    pub trials: usize,
    /// Requests that succeeded and that failed, in all of them.
    pub succeeded: u64,
    /// See `succeeded`.
    pub failed: u64,
    /// Median latency, in microseconds.
    pub p50_us: Estimate,
    /// 99th percentile, in microseconds.
    pub p99_us: Estimate,
    /// The share of its processors that its load tool used in the trial with the largest, from 0.
    pub busiest: f64,
    /// The latest start of its load tool, in microseconds after the start time.
    pub latest_us: f64,
    /// The largest difference of its clock, without the sign, and how far that may be wrong, in microseconds; `None`
    /// where it was never compared.
    pub clock_us: Option<(f64, f64)>,
}

/// The hosts of a run; empty where it has none.
pub fn hosts(observations: &[Observation]) -> Vec<HostSummary> {
    let measured = |observation: &Observation| -> Option<Vec<HostShare>> {
        let sample = valid(observation)?;
        Some(sample.load.details.hosts.clone()).filter(|hosts| !hosts.is_empty())
    };
    let trials: Vec<Vec<HostShare>> = observations.iter().filter_map(measured).collect();
    let mut ranks: BTreeMap<u32, Vec<&HostShare>> = BTreeMap::new();
    for host in trials.iter().flatten() {
        ranks.entry(host.rank).or_default().push(host);
    }
    let summary = |(rank, shares): (&u32, &Vec<&HostShare>)| {
        let of = |value: fn(&HostShare) -> f64| shares.iter().map(move |share| value(share));
        let most = |value: fn(&HostShare) -> f64| of(value).fold(0.0, f64::max);
        let clock =
            shares.iter().filter_map(|share| Some((share.clock_ahead_us?.abs(), share.clock_within_us?)));
        let last = shares.last()?;
        Some(HostSummary {
            rank: *rank,
            name: last.name.clone(),
            kind: last.kind.clone(),
            trials: shares.len(),
            succeeded: shares.iter().map(|share| share.succeeded).sum(),
            failed: shares.iter().map(|share| share.failed).sum(),
            p50_us: median_of(of(|share| share.p50_us))?,
            p99_us: median_of(of(|share| share.p99_us))?,
            busiest: most(|share| share.busy),
            latest_us: most(|share| share.late_us),
            clock_us: clock.max_by(|a, b| a.0.total_cmp(&b.0)),
        })
    };
    ranks.iter().filter_map(summary).collect()
}

/// Whether the load tool was what limited a closed loop. `value` gives a cell's figures.
///
/// With one load tool, where it used at least as much CPU as the server: without the server's share it is not known
/// which of the two was the bottleneck. With several hosts, where one of them used nearly all of its own in most
/// trials.
pub(super) fn is_client_bound(value: impl Fn(Figure) -> Option<f64>, measured: &Samples<'_>) -> bool {
    // The largest share of its processors that a host's load tool used; none without hosts.
    let busiest =
        |sample: &&Sample| sample.load.details.hosts.iter().map(|host| host.busy).max_by(f64::total_cmp);
    match middle_of(measured.values().filter_map(busiest)) {
        Some(share) => share >= BUSY_HOST,
        None => {
            let [server, client] = [Figure::ServerCores, Figure::ClientCores].map(value);
            server.zip(client).is_some_and(|(server, client)| client > 0.0 && client >= server)
        }
    }
}
