//! The percentiles of latency that are read from every load tool.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

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
