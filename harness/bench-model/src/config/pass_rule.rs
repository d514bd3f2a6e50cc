//! Bounds of a campaign on ratios.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::Percent;
use bench_stats::Estimate;

/// A bound on a ratio between two servers: the whole interval must lie within it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassRule {
    /// The figure; `cpu_us_per_request` or `requests_per_second`.
    pub figure: crate::figure::Figure,
    /// The server in the numerator.
    pub server: String,
    /// The server in the denominator.
    pub over: String,
    /// The largest ratio that passes.
    pub at_most: Option<f64>,
    /// Equivalence: the largest difference that passes, either way. `"5%"` is from 1/1.05 to 1.05.
    pub within: Option<Percent>,
}

impl PassRule {
    /// Whether the ratio passes. It is the interval's ends that decide and not its middle, so a ratio without an
    /// interval does not pass.
    pub fn holds(&self, ratio: Estimate) -> bool {
        let Some((low, high)) = ratio.interval else { return false };
        let within = |margin: Percent| low >= 1.0 / (1.0 + margin.0) && high <= 1.0 + margin.0;
        self.at_most.is_none_or(|most| high <= most) && self.within.is_none_or(within)
    }

    /// The bound in words.
    pub fn words(&self) -> String {
        match (self.within, self.at_most) {
            (Some(within), _) => format!("equivalent within {within}"),
            (None, Some(most)) => format!("at most {most:.2}"),
            (None, None) => "no bound".to_owned(),
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        let is_one = self.at_most.is_some() != self.within.is_some();
        ensure!(is_one, "field pass: give either at_most (a ratio) or within (a percentage)");
        let most = self.at_most.unwrap_or(1.0);
        ensure!(most > 0.0, "field pass.at_most: {most} is no ratio; give a number above 0");
        Ok(())
    }
}
