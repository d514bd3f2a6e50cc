//! Load hosts, next to each other: what each sent and saw, and whether one differs from the others.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::observed::{Samples, median_of, middle_of, valid};
use bench_model::figure::Figure;
use bench_model::load::sample_details::HostShare;
use bench_model::observation::{Observation, Sample};
use bench_stats::{Estimate, Ranked, holm_once};

/// By how much a host's mean latency must differ from that of the others to be worth a reader's time, where it surely
/// does.
pub const WORTH_NAMING: f64 = 0.05;

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
    /// Its mean latency over the geometric mean of the others'; `None` of a host alone.
    pub over_others: Option<f64>,
    /// Whether it surely differs from the others, by more than is not worth naming. For all hosts together the chance
    /// that one is named and does not differ is at most 5 % (Holm).
    pub differs: bool,
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
    let ratios: Vec<Option<Ranked>> =
        ranks.keys().map(|rank| Ranked::paired(&differences(&trials, *rank))).collect();
    let judged = holm_once(&ratios);
    let surely = |i: usize| judged.iter().any(|judged| judged.index == i && judged.rejected);
    let summary = |(i, (rank, shares)): (usize, (&u32, &Vec<&HostShare>))| {
        let of = |value: fn(&HostShare) -> f64| shares.iter().map(move |share| value(share));
        let most = |value: fn(&HostShare) -> f64| of(value).fold(0.0, f64::max);
        let clock =
            shares.iter().filter_map(|share| Some((share.clock_ahead_us?.abs(), share.clock_within_us?)));
        let over_others = ratios.get(i)?.as_ref().map(|paired| paired.estimate().exp());
        let is_worth_it = over_others.is_some_and(|ratio| (ratio - 1.0).abs() > WORTH_NAMING);
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
            over_others,
            differs: surely(i) && is_worth_it,
        })
    };
    ranks.iter().enumerate().filter_map(summary).collect()
}

/// Per trial, the natural log of a host's mean latency over the geometric mean of the others'. Empty of a host alone.
fn differences(trials: &[Vec<HostShare>], rank: u32) -> Vec<f64> {
    let difference = |hosts: &Vec<HostShare>| {
        let own = hosts.iter().find(|host| host.rank == rank)?.mean_us.ln();
        let others: Vec<f64> =
            hosts.iter().filter(|host| host.rank != rank).map(|host| host.mean_us.ln()).collect();
        (!others.is_empty()).then(|| own - others.iter().sum::<f64>() / others.len() as f64)
    };
    trials.iter().filter_map(difference).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(means: &[f64]) -> Vec<HostShare> {
        (0..)
            .zip(means)
            .map(|(rank, mean_us)| HostShare {
                rank,
                name: format!("m{rank}"),
                kind: "2 x a".to_owned(),
                succeeded: 100,
                failed: 0,
                per_second: 100.0,
                mean_us: *mean_us,
                p50_us: *mean_us,
                p99_us: 2.0 * mean_us,
                busy: 0.25,
                late_us: 10.0,
                clock_ahead_us: None,
                clock_within_us: None,
            })
            .collect()
    }

    #[test]
    fn differences_are_from_the_others_alone() {
        let trials = vec![trial(&[200.0, 100.0, 100.0]), trial(&[100.0, 100.0, 400.0])];
        let found = differences(&trials, 0);
        assert!((found[0] - 2_f64.ln()).abs() < 1e-12 && (found[1] + 2_f64.ln()).abs() < 1e-12, "{found:?}");
        assert!(differences(&[trial(&[100.0])], 0).is_empty());
    }
}
