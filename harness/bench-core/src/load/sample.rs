//! What a load tool saw of one window: requests by outcome, latency, and how well it kept to a rate.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::k6;
use super::sample_details::Details;

/// A latency distribution, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile, as rpc-load calls it too; `None` where it is not known.
    #[serde(alias = "p99.9")]
    pub p999: Option<f64>,
    /// The slowest request.
    pub max: f64,
}

impl Latency {
    /// The percentiles that a quantile function has.
    pub(super) fn of(mean: f64, max: f64, quantile: impl Fn(f64) -> Result<f64>) -> Result<Self> {
        let [p50, p90, p99, p999] = [0.5, 0.9, 0.99, 0.999].map(quantile);
        Ok(Self { mean, p50: p50?, p90: p90?, p99: p99?, p999: Some(p999?), max })
    }

    /// The percentiles among the points of the quantile function that a tool gave.
    ///
    /// # Errors
    /// It lacks one of them.
    pub(super) fn given(tool: &str, mean: f64, max: f64, points: &[(f64, f64)]) -> Result<Self> {
        Self::of(mean, max, |probability| {
            let found = points.iter().find(|(of, _)| (of - probability).abs() < 1e-9);
            found.map(|(_, us)| *us).with_context(|| format!("{tool} gave no quantile of {probability}"))
        })
    }
}

/// What a load tool saw of one window.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadSample {
    /// Requests that were answered with a 2xx status. With batches, and for `failed` and latency too, a request is a
    /// whole batch.
    pub succeeded: u64,
    /// Everything else, by the tool's own words, without ports.
    #[serde(serialize_with = "crate::foreign_text::kept_kinds")]
    pub failed: BTreeMap<String, u64>,
    /// How long the tool took, in seconds: the window and the answers it still waited for.
    pub time_taken_s: f64,
    /// Bytes that the tool read, heads included; in an open-loop sample those of bodies alone.
    pub bytes_read: u64,
    /// Bytes that the tool wrote, heads included; `None` where the tool does not say.
    pub bytes_written: Option<u64>,
    /// Latency, in microseconds. Failed requests are in it too. In an open-loop sample it counts from when a request
    /// was due, and those that never ended, or of which the tool keeps no time, are not in it.
    pub latency_us: Latency,
    /// The quantile function of latency: probability from 0 to 1 and microseconds, rising, finer in the tail.
    pub quantiles: Vec<(f64, f64)>,
    /// Where requests were due at a rate: how well the tool kept to it.
    pub open: Option<OpenWindow>,
    /// The parts of the window, by when requests were due; where that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Bin>,
    /// What only a load with users has.
    pub staged: Option<Box<k6::Staged>>,
    /// What only some loads have.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub details: Details,
}

/// The requests that were due in one part of a window. Latencies count from when they were due, in microseconds.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// When it begins, in milliseconds of the window.
    pub from_ms: u32,
    /// Requests that were due and ended.
    pub requests: u32,
    /// Those of them that were answered with a 2xx status; `None` where the tool does not say.
    pub answered: Option<u32>,
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// The slowest.
    pub max_us: f64,
}

/// How long a part of the window is, in milliseconds; `None` where there are not two. Parts without an answer are
/// missing.
pub fn width_ms(series: &[Bin]) -> Option<f64> {
    series.windows(2).map(|two| f64::from(two[1].from_ms - two[0].from_ms)).min_by(f64::total_cmp)
}

/// How a tool kept to the requested rate.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OpenWindow {
    /// Requests a second that were requested.
    pub requested_rate: f64,
    /// Requests a second that were sent, from when the first was due to when the last was due or sent.
    pub achieved_rate: f64,
    /// Requests that were due.
    pub intended: u64,
    /// Requests that were sent.
    pub sent: u64,
    /// By how much a request was sent late, in microseconds: the tool was slow, or all of its connections waited for
    /// answers. `None` where the tool does not report when a request was due; `latency_us` then counts from when it was
    /// sent.
    pub send_lag_us: Option<Latency>,
    /// The part of it that is the tool's own, in microseconds: 0 for a request that waited because all connections were
    /// busy. `None` as above.
    pub own_lag_us: Option<Latency>,
    /// Latency from when a request was sent, in microseconds: what the server took, without what had to wait before.
    pub from_send_us: Latency,
}

impl LoadSample {
    /// Requests that failed, of any kind.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Calls of a number of requests: each call of a batch counts.
    pub fn calls(&self, requests: u64) -> u64 {
        requests * u64::from(self.details.batch.unwrap_or(1))
    }

    /// Requests that failed because their connection could not be established.
    pub fn not_connected(&self) -> u64 {
        let is_of_connecting = |kind: &str| kind.starts_with("dial") || kind.contains("connect:");
        self.failed.iter().filter(|(kind, _)| is_of_connecting(kind)).map(|(_, count)| count).sum()
    }

    /// Requests that took longer than `us` microseconds, failed ones included. A lower bound: between two points of the
    /// quantile function the upper one counts.
    pub fn slower_than(&self, us: f64) -> u64 {
        let all = (self.succeeded + self.failures()) as f64;
        let above = self.quantiles.iter().find(|(_, time)| *time > us);
        let counted = above.map_or(0.0, |(probability, _)| (1.0 - probability) * all).round() as u64;
        counted.max(u64::from(self.latency_us.max > us))
    }

    /// Bad requests: those that failed, and those that were answered later than the timeout. A lower bound: how long a
    /// failed request took is not known by itself, so the failed ones count as the slowest.
    pub fn bad(&self, timeout_ms: u64) -> u64 {
        self.failures().max(self.slower_than(timeout_ms as f64 * 1e3))
    }

    /// Requests a second that were sent, whatever became of them.
    pub fn sent_per_second(&self) -> f64 {
        let all = (self.succeeded + self.failures()) as f64;
        self.open.map_or(all / self.time_taken_s, |open| open.achieved_rate)
    }

    /// Share of all requests that were answered with a 2xx status, from 0 to 1.
    pub fn answered_share(&self) -> f64 {
        self.succeeded as f64 / ((self.succeeded + self.failures()) as f64).max(1.0)
    }

    /// Successful requests a second; each call of a batch counts as one.
    pub fn requests_per_second(&self) -> f64 {
        self.calls(self.succeeded) as f64 / self.time_taken_s
    }
}
