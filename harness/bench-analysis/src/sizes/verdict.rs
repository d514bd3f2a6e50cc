//! Why a box holds no higher rate: a server that is throttled or out of memory is not slow.

use serde::{Deserialize, Serialize};

use super::ladder::End;
use crate::observed::{middle_of, valid_evidence};
use bench_model::config::SizedBox;
use bench_model::observation::{Observation, Outcome, Sample};
use bench_system::cgroup::Usage;
use bench_system::probe::other_processes::ForeignCpu;

/// From this share of the quota's periods on, a server was throttled: each of them holds requests up for tens of
/// milliseconds, so a tenth moves a 99th percentile far.
pub const THROTTLED: f64 = 0.1;

/// From this share of the processors on that a server may use, or that the machine has, they were used up.
pub const FULL: f64 = 0.85;

/// Why a box holds no higher rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum BoxVerdict {
    /// It holds the highest rate that is tried.
    HoldsAll,
    /// The kernel killed the server for want of memory, in this number of windows.
    OutOfMemory {
        /// Windows.
        kills: usize,
    },
    /// The quota was used up in this share of its periods, from 0 to 1: the server would do more in a larger box.
    Throttled {
        /// The share, a median over windows.
        share: f64,
    },
    /// The processors of its set were used up to this share, from 0 to 1.
    SetFull {
        /// The share, a median over windows.
        share: f64,
    },
    /// Server, load tool and other processes used up the machine's processors to this share, from 0 to 1: a limit of
    /// the machine and not of the box.
    MachineFull {
        /// The share, a median over windows.
        share: f64,
    },
    /// The load tool could not send the next rate.
    ToolLimited,
    /// No window gave a figure, as where the server did not start: nothing is known of its speed.
    NotMeasured,
    /// None of these: the server itself missed the level, with processors free.
    Slow,
    /// The search has not ended.
    Open,
}

impl BoxVerdict {
    /// Of the windows at the lowest rate that a box does not hold, on a machine with `cores` processors.
    pub(super) fn of(end: End, of: &SizedBox, windows: &[&Observation], cores: usize) -> Self {
        match end {
            End::Highest => return Self::HoldsAll,
            End::Left => return Self::Open,
            End::ToolLimited => return Self::ToolLimited,
            End::NotHeld => {}
        }
        let is_killed = |window: &&&Observation| matches!(window.outcome, Outcome::OutOfMemory { .. });
        let kills = windows.iter().filter(is_killed).count();
        if kills > 0 {
            return Self::OutOfMemory { kills };
        }
        let samples: Vec<&Sample> = windows.iter().filter_map(|window| valid_evidence(window)).collect();
        if samples.is_empty() {
            return Self::NotMeasured;
        }
        let median = |figure: &dyn Fn(&Sample) -> Option<f64>| {
            middle_of(samples.iter().filter_map(|sample| figure(sample)))
        };
        let throttled = median(&|sample| sample.limited.as_ref().and_then(Usage::throttled_share));
        if let Some(share) = throttled.filter(|share| *share >= THROTTLED) {
            return Self::Throttled { share };
        }
        let in_set = |sample: &Sample| Some(sample.server_cores()? / f64::from(of.cpuset?.0.count_ones()));
        if let Some(share) = median(&in_set).filter(|share| *share >= FULL) {
            return Self::SetFull { share };
        }
        let in_machine = |sample: &Sample| {
            let others = sample.foreign_cpu.as_ref().map_or(0.0, ForeignCpu::share);
            Some((sample.server_cores()? + sample.client_cores()) / cores.max(1) as f64 + others)
        };
        match median(&in_machine) {
            Some(share) if share >= FULL => Self::MachineFull { share },
            _ => Self::Slow,
        }
    }
}
