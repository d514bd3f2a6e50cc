//! Load tools: one module a tool turns a load into an argument vector, and the tool's own output into a typed sample.
//!
//! Units are converted here, once. Nothing downstream reads a tool's text.

pub mod bombardier;
pub mod burst;
pub mod toolchain;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The load tool's own HTTP client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Client {
    /// fasthttp: no limit on the time to connect; repeats a request in silence where a server closes before the first byte.
    #[default]
    Fasthttp,
    /// Go's `net/http`: one limit over all that a request needs, connecting included.
    Http1,
}

impl Client {
    /// As campaigns call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fasthttp => "fasthttp",
            Self::Http1 => "http1",
        }
    }

    /// The one that it is not.
    pub const fn other(self) -> Self {
        match self {
            Self::Fasthttp => Self::Http1,
            Self::Http1 => Self::Fasthttp,
        }
    }

    /// Whether it is the tool's default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A closed-loop load: each connection asks again once it has its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// Connections held.
    pub connections: u32,
    /// How long, in milliseconds.
    pub duration_ms: u64,
    /// When a request is given up, in milliseconds.
    pub timeout_ms: u64,
    /// The client that asks.
    pub client: Client,
}

/// What a load tool saw of one window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadSample {
    /// Requests that were answered with a 2xx status.
    pub succeeded: u64,
    /// Everything else, by what the tool calls it, with ports taken out.
    pub failed: BTreeMap<String, u64>,
    /// How long the tool took, in seconds: the window and the answers it still waited for.
    pub time_taken_s: f64,
    /// Bytes that the tool read, heads included.
    pub bytes_read: u64,
    /// Latency, in microseconds. Failed requests are in it too.
    pub latency_us: Latency,
    /// The quantile function of latency: probability from 0 to 1 and microseconds, rising, finer in the tail. Empty in runs of
    /// before it was recorded.
    #[serde(default)]
    pub quantiles: Vec<(f64, f64)>,
}

/// A latency distribution, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile; unknown in runs of before it was recorded.
    #[serde(default)]
    pub p999: Option<f64>,
    /// The slowest request.
    pub max: f64,
}

impl LoadSample {
    /// Requests that failed, of any kind.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Successful requests a second.
    pub fn requests_per_second(&self) -> f64 {
        self.succeeded as f64 / self.time_taken_s
    }
}
