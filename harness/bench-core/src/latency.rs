//! A cell's latency. Through the window, in an open loop and of users in stages: the median trial in parts that all
//! trials share. Over the whole window: its quantile function.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::observed::{middle_of, quantile_us};
use crate::load::k6::Second;
use crate::load::{Bin, LoadSample, width_ms};
use crate::observation::Sample;

/// Latency from when requests were due, of those due in one part of the window; of users, from the send, of those that
/// ended in it. Medians over trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LatencyMoment {
    /// The middle of the part, in milliseconds since the window's start.
    pub t_ms: f64,
    /// The median request, in microseconds.
    pub p50_us: f64,
    /// The 99th percentile, in microseconds; of fewer than a hundred requests the slowest.
    pub p99_us: f64,
    /// Answers a second to the requests that were due in the part; `None` where the tool does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_per_s: Option<f64>,
}

/// The parts of a window: those of an open loop, and the seconds of users in stages.
fn parts(load: &LoadSample) -> Vec<Bin> {
    let Some(staged) = &load.staged else { return load.series.clone() };
    let of = |(place, second): (u32, &Second)| {
        let Second { requests, failed, p50_us, p99_us, .. } = *second;
        let answered = Some(requests.saturating_sub(failed));
        let (p50_us, p99_us) = (p50_us?, p99_us?);
        Some(Bin { from_ms: place * 1_000, requests, answered, p50_us, p99_us, max_us: p99_us })
    };
    (0..).zip(&staged.seconds).filter_map(of).collect()
}

/// The course of the median trial. Empty in a closed loop without a pause.
pub(super) fn latency_course<'a>(samples: impl Iterator<Item = &'a Sample>) -> Vec<LatencyMoment> {
    let trials: Vec<Vec<Bin>> = samples.map(|sample| parts(&sample.load)).collect();
    let width_ms = trials.iter().find_map(|parts| width_ms(parts)).unwrap_or(0.0);
    let mut parts: BTreeMap<u32, Vec<Bin>> = BTreeMap::new();
    for bin in trials.into_iter().flatten() {
        parts.entry(bin.from_ms).or_default().push(bin);
    }
    let moment = |(from_ms, bins): (&u32, &Vec<Bin>)| {
        let over = |value: fn(&Bin) -> f64| middle_of(bins.iter().map(value));
        Some(LatencyMoment {
            t_ms: f64::from(*from_ms) + width_ms / 2.0,
            p50_us: over(|bin| bin.p50_us)?,
            p99_us: over(|bin| bin.p99_us)?,
            answered_per_s: middle_of(bins.iter().filter_map(|bin| bin.answered).map(f64::from))
                .map(|answered| answered / width_ms * 1e3),
        })
    };
    parts.iter().filter_map(moment).collect()
}

/// For each probability that all trials report, from 0 to 1, the median over trials of the trial's own quantile, in
/// microseconds. Requests of several trials are never pooled: a trial that the machine disturbed would make the tail by
/// itself.
pub(super) fn quantiles(samples: &[&Sample]) -> Vec<(f64, f64)> {
    let probabilities = samples.iter().take(1).flat_map(|first| &first.load.quantiles).map(|(of, _)| *of);
    probabilities
        .filter_map(|probability| {
            let values = samples.iter().map(|sample| quantile_us(sample, probability));
            Some((probability, middle_of(values.collect::<Option<Vec<f64>>>()?)?))
        })
        .collect()
}

/// The requests of the trial that has the fewest with a latency: how far into the tail the quantiles of all trials
/// reach. Where requests are due at a rate, failed ones are left out, because some of them have no latency.
pub(super) fn fewest_requests(samples: &[&Sample]) -> Option<u64> {
    let requests = |sample: &&Sample| match sample.load.open {
        None => sample.load.succeeded + sample.load.failures(),
        Some(_) => sample.load.succeeded,
    };
    samples.iter().map(requests).min()
}
