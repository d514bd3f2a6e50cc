//! What other processes used of the processors.

use serde::{Deserialize, Serialize};

/// The share of the processors' time above which other processes make a trial invalid. Readings of `/proc/stat` are
/// good to 10 ms a processor, 2 % of the shortest window there is (500 ms); the services of an idle machine use well
/// below 1 %. What is below may move a rate by as much, in either server of a comparison alike.
pub const MUCH_FOREIGN: f64 = 0.03;

/// CPU time of other processes in a window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForeignCpu {
    /// What they used, in seconds. Readings are coarse, so a little below 0 is possible.
    pub used_s: f64,
    /// Time that the processors had: their number times the window's length, in seconds.
    pub of_s: f64,
    /// The share of that time, from 0 to 1, above which the trial is invalid.
    pub limit: f64,
    /// The busiest other process right after the window, and its share of one processor; searched only above the limit.
    pub busiest: Option<(String, f64)>,
}

impl ForeignCpu {
    /// The share of the processors' time, from 0 to 1.
    pub fn share(&self) -> f64 {
        (self.used_s / self.of_s).max(0.0)
    }

    /// Whether it is more than the trial allows.
    pub fn is_too_much(&self) -> bool {
        self.share() > self.limit
    }
}
