//! What the kernel counts of a group.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::counted as since;
use crate::readable_numbers::{bytes, counted};

/// What the processes of a group used. What is not limited is not counted.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Periods of the quota in which a process could run.
    pub periods: Option<u64>,
    /// Those in which the quota was used up.
    pub throttled_periods: Option<u64>,
    /// How long processes that could run waited for the next period, summed over processors, in seconds.
    pub throttled_s: Option<f64>,
    /// The most memory at one time, caches of files included, in bytes.
    pub memory_peak_bytes: Option<u64>,
    /// How often memory was at its limit and the kernel had to free some.
    pub memory_limit_hits: Option<u64>,
    /// Processes that the kernel killed because there was no memory left.
    pub oom_kills: Option<u64>,
}

impl Usage {
    /// What came after an earlier reading. A peak stays that since the group was made.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            periods: since(self.periods, earlier.periods),
            throttled_periods: since(self.throttled_periods, earlier.throttled_periods),
            throttled_s: self.throttled_s.zip(earlier.throttled_s).map(|(now, then)| (now - then).max(0.0)),
            memory_peak_bytes: self.memory_peak_bytes,
            memory_limit_hits: since(self.memory_limit_hits, earlier.memory_limit_hits),
            oom_kills: since(self.oom_kills, earlier.oom_kills),
        }
    }

    /// The share of the periods in which the quota was used up, from 0 to 1; `None` without a quota, or where nothing
    /// ran.
    pub fn throttled_share(&self) -> Option<f64> {
        let periods = self.periods.filter(|periods| *periods > 0)?;
        Some(self.throttled_periods? as f64 / periods as f64)
    }

    /// Whether the kernel killed a process for want of memory.
    pub fn is_out_of_memory(&self) -> bool {
        self.oom_kills.is_some_and(|kills| kills > 0)
    }
}

/// The kernel killed a server because its group had no memory left.
#[derive(Debug, Clone, Copy)]
pub struct OutOfMemory(pub Usage);

impl std::fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Usage { oom_kills, memory_peak_bytes, .. } = self.0;
        write!(f, "out of memory: {} by the kernel", counted(oom_kills.unwrap_or(0), "kill"))?;
        memory_peak_bytes.map_or(Ok(()), |peak| write!(f, " at {}", bytes(peak as f64)))
    }
}

impl std::error::Error for OutOfMemory {}
