//! The kernel's controllers: which file limits what, and which file counts it, in both versions of cgroups.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::kernel_files::{text, value};
use bench_core::machine::{Cpus, MemoryMax, Size, Usage};

/// The period of a quota, in microseconds: the kernel's own, and that of container engines.
const PERIOD_US: u64 = 100_000;

/// The version of a cgroup hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V2,
}

/// A controller, and what it limits a group to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Controller {
    Cpu(Cpus),
    Memory(MemoryMax),
}

impl Controller {
    /// Those that a size takes.
    pub fn of(size: &Size) -> Vec<Self> {
        size.cpu_quota.map(Self::Cpu).into_iter().chain(size.memory_max.map(Self::Memory)).collect()
    }

    /// As the kernel calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu(_) => "cpu",
            Self::Memory(_) => "memory",
        }
    }

    /// The field of a size that needs it.
    pub fn field(self) -> &'static str {
        match self {
            Self::Cpu(_) => "cpu_quota",
            Self::Memory(_) => "memory_max",
        }
    }

    /// Sets the limit of a new group.
    pub fn limit(self, version: Version, group: &Path) -> Result<()> {
        let set = |file: &str, value: &str| {
            let path = group.join(file);
            let context = || format!("field {}: can't write {value} to {}", self.field(), path.display());
            fs::write(&path, value).with_context(context)
        };
        match (self, version) {
            (Self::Cpu(Cpus(milli)), version) => {
                let quota_us = u64::from(milli) * PERIOD_US / 1_000;
                if version == Version::V2 {
                    return set("cpu.max", &format!("{quota_us} {PERIOD_US}"));
                }
                set("cpu.cfs_period_us", &PERIOD_US.to_string())?;
                set("cpu.cfs_quota_us", &quota_us.to_string())
            }
            (Self::Memory(memory), version) => {
                let bytes = memory.0.to_string();
                let (limit, swap, swap_limit) = match version {
                    Version::V1 => ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", bytes.as_str()),
                    Version::V2 => ("memory.max", "memory.swap.max", "0"),
                };
                set(limit, &bytes)?;
                // Where the kernel does not count swap, there is no such file.
                if group.join(swap).exists() { set(swap, swap_limit) } else { Ok(()) }
            }
        }
    }

    /// Adds what the kernel has counted in a group. What it does not count stays unknown.
    pub fn read(self, version: Version, group: &Path, usage: &mut Usage) {
        let said = |file: &str| text(group.join(file)).unwrap_or_default();
        match (self, version) {
            (Self::Cpu(_), version) => {
                let stat = said("cpu.stat");
                usage.periods = value(&stat, "nr_periods");
                usage.throttled_periods = value(&stat, "nr_throttled");
                usage.throttled_s = match version {
                    Version::V1 => value(&stat, "throttled_time").map(|ns| ns as f64 / 1e9),
                    Version::V2 => value(&stat, "throttled_usec").map(|us| us as f64 / 1e6),
                };
            }
            (Self::Memory(_), Version::V1) => {
                usage.memory_peak_bytes = said("memory.max_usage_in_bytes").parse().ok();
                usage.memory_limit_hits = said("memory.failcnt").parse().ok();
                usage.oom_kills = value(&said("memory.oom_control"), "oom_kill");
            }
            (Self::Memory(_), Version::V2) => {
                let events = said("memory.events");
                usage.memory_peak_bytes = said("memory.peak").parse().ok();
                usage.memory_limit_hits = value(&events, "max");
                usage.oom_kills = value(&events, "oom_kill");
            }
        }
    }
}
