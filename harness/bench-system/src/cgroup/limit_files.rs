//! The kernel's controllers: which file limits what, and which file counts it, in both versions of cgroups.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::box_size::{Cpus, Size};
use super::usage::Usage;

/// The period of a quota, in microseconds: the kernel's own, and that of container engines.
const PERIOD_US: u64 = 100_000;

/// The version of a cgroup hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V2,
}

/// A controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Controller {
    Cpu,
    Cpuset,
    Memory,
}

impl Controller {
    /// As the kernel calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cpuset => "cpuset",
            Self::Memory => "memory",
        }
    }

    /// The field of a size that needs it.
    pub fn field(self) -> &'static str {
        match self {
            Self::Cpu => "cpu_quota",
            Self::Cpuset => "cpuset",
            Self::Memory => "memory_max",
        }
    }

    /// Sets the limits of a new group.
    pub fn limit(self, version: Version, group: &Path, parent: &Path, size: &Size) -> Result<()> {
        let set = |file: &str, value: &str| {
            let path = group.join(file);
            let written = fs::write(&path, value);
            written
                .with_context(|| format!("field {}: can't write {value} to {}", self.field(), path.display()))
        };
        match (self, version) {
            (Self::Cpu, version) => {
                let Some(Cpus(milli)) = size.cpu_quota else { return Ok(()) };
                let quota_us = u64::from(milli) * PERIOD_US / 1_000;
                match version {
                    Version::V1 => {
                        set("cpu.cfs_period_us", &PERIOD_US.to_string())?;
                        set("cpu.cfs_quota_us", &quota_us.to_string())
                    }
                    Version::V2 => set("cpu.max", &format!("{quota_us} {PERIOD_US}")),
                }
            }
            (Self::Cpuset, version) => {
                let Some(processors) = size.cpuset else { return Ok(()) };
                if version == Version::V1 {
                    // A new group of version 1 has no memory nodes, and takes no process without.
                    let nodes = parent.join("cpuset.effective_mems");
                    let nodes = fs::read_to_string(&nodes)
                        .with_context(|| format!("field cpuset: can't read {}", nodes.display()))?;
                    set("cpuset.mems", nodes.trim())?;
                }
                set("cpuset.cpus", &processors.to_string())
            }
            (Self::Memory, version) => {
                let Some(memory) = size.memory_max else { return Ok(()) };
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
        let text = |file: &str| fs::read_to_string(group.join(file)).unwrap_or_default();
        match (self, version) {
            (Self::Cpu, version) => {
                let stat = text("cpu.stat");
                usage.periods = value(&stat, "nr_periods");
                usage.throttled_periods = value(&stat, "nr_throttled");
                usage.throttled_s = match version {
                    Version::V1 => value(&stat, "throttled_time").map(|ns| ns as f64 / 1e9),
                    Version::V2 => value(&stat, "throttled_usec").map(|us| us as f64 / 1e6),
                };
            }
            (Self::Cpuset, _) => {}
            (Self::Memory, Version::V1) => {
                usage.memory_peak_bytes = text("memory.max_usage_in_bytes").trim().parse().ok();
                usage.memory_limit_hits = text("memory.failcnt").trim().parse().ok();
                usage.oom_kills = value(&text("memory.oom_control"), "oom_kill");
            }
            (Self::Memory, Version::V2) => {
                let events = text("memory.events");
                usage.memory_peak_bytes = text("memory.peak").trim().parse().ok();
                usage.memory_limit_hits = value(&events, "max");
                usage.oom_kills = value(&events, "oom_kill");
            }
        }
    }
}

/// A number of a file with a name and a number on each line.
fn value(text: &str, name: &str) -> Option<u64> {
    let line = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok();
    text.lines().find_map(line)
}
