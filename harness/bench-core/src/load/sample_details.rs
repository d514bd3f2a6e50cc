//! What a load tool's sample holds beyond that of every load.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::Latency;
use super::silences::Silence;

/// What only some loads have. The default is a load of single calls of one method, by a tool that reports no more.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Details {
    /// Calls in each request, where a request is a batch.
    pub batch: Option<u32>,
    /// Whether connections were held and nothing was sent: there are no requests, and no latency of any.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// How long the tool took to connect, where it reports that.
    pub connects: Option<Connects>,
    /// Latency by method, where requests called several and the tool's records say which.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<MethodLatency>,
    /// Times in which no request was answered; only of tools that say when requests were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silences: Vec<Silence>,
    /// One answer of each kind of failure, where the tool reports any: what was sent, and what was answered.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub examples: BTreeMap<String, String>,
    /// The load hosts, where several put the load on together; otherwise empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostShare>,
    /// Whether the percentiles are unknown: each of several hosts gave its own, and these can't be added.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_percentiles: bool,
    /// The line of an HdrHistogram log (nanoseconds) that the tool printed of all its latencies. It is not kept with
    /// the sample.
    #[serde(skip)]
    pub histogram: Option<String>,
}

/// What one of several load hosts did of a load.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostShare {
    /// Its rank, from 0.
    pub rank: u32,
    /// Its name.
    pub name: String,
    /// What it is: processor, cores, kernel, governor.
    pub kind: String,
    /// Requests that were answered with a 2xx status.
    pub succeeded: u64,
    /// Requests that failed, of any kind.
    pub failed: u64,
    /// Successful calls a second.
    pub per_second: f64,
    /// Mean latency, in microseconds.
    pub mean_us: f64,
    /// Median latency of its own requests, in microseconds.
    pub p50_us: f64,
    /// Its 99th percentile.
    pub p99_us: f64,
    /// The share of its processors that its load tool used, from 0 to 1.
    pub busy: f64,
    /// By how much its load tool was started after the start time, by its own clock, in microseconds.
    pub late_us: f64,
    /// What its clock is ahead of the harness', in microseconds; `None` where that could not be compared.
    pub clock_ahead_us: Option<f64>,
    /// How far that may be wrong, in microseconds.
    pub clock_within_us: Option<f64>,
}

/// The connections of a load, which were all established at once, before it began.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Connects {
    /// Until the last of them was established or had failed, in seconds.
    pub all_s: f64,
    /// Each, from the call of `connect` until it could carry a request, in microseconds.
    pub each_us: Latency,
}

/// The requests of a load that called one method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MethodLatency {
    /// The method.
    pub method: String,
    /// Requests that were due.
    pub requests: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Latency from when they were due, of those that ended, in microseconds.
    pub latency_us: Latency,
}
