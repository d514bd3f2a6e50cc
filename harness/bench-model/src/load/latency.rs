//! The percentiles of latency that are read from every load tool.

use serde::{Deserialize, Serialize};

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
    /// 99.9th percentile; `None` where it is not known.
    pub p999: Option<f64>,
    /// The slowest request.
    pub max: f64,
}
