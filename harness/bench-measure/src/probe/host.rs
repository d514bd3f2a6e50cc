//! The machine that the measurement runs on: what it is, and what it was doing meanwhile.

use std::path::Path;
use std::process::Command;

use bench_core::machine::{Host, HostActivity, cores};
use bench_core::repository::{self, git, printed};
use procfs::{CpuInfo, Current, Meminfo};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity};

use super::processor;
use crate::kernel_files::{text, value};

/// Looks at the machine, and at what the harness was built from.
pub fn read() -> Host {
    let rustc = printed(Command::new("rustc").arg("--version")).ok().map(|version| version.trim().to_owned());
    let changed_files = repository::changed_files(Path::new("."));
    Host { rustc, commit: commit(), changed_files, ..machine() }
}

/// Looks at the machine alone, for which no program is started.
pub fn machine() -> Host {
    let info = CpuInfo::current().ok();
    let model = info.as_ref().and_then(|info| info.model_name(0).map(str::to_owned));
    Host {
        cpu: model.unwrap_or_else(|| "unknown".to_owned()),
        processor: info.as_ref().and_then(processor::of),
        cores: cores(),
        memory_bytes: Meminfo::current().ok().map(|memory| memory.mem_total),
        kernel: text("/proc/sys/kernel/osrelease"),
        governor: text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        open_files: open_files(),
        client_ports: client_ports(),
        max_backlog: text("/proc/sys/net/core/somaxconn").and_then(|text| text.parse().ok()),
        one_core: last_processor(),
        ..Host::default()
    }
}

/// The processors that this process may use, by their numbers, rising; empty where the system does not say.
pub fn may_use() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU).filter(|processor| set.is_set(*processor)).collect()
}

/// The last processor that this process may use, by its number.
pub fn last_processor() -> Option<usize> {
    may_use().pop()
}

/// First and last port that a client may connect from.
pub fn client_ports() -> Option<(u16, u16)> {
    let text = text("/proc/sys/net/ipv4/ip_local_port_range")?;
    let mut ports = text.split_whitespace().map(str::parse);
    Some((ports.next()?.ok()?, ports.next()?.ok()?))
}

/// Open files that a process may hold now (the soft limit).
pub fn open_files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The most open files that this user can give to a process; unknown (`None`) where the system does not say it.
pub fn most_open_files() -> Option<u64> {
    let of_system = || text("/proc/sys/fs/nr_open")?.parse().ok();
    let own = getrlimit(Resource::Nofile).maximum;
    if rustix::process::geteuid().is_root() { of_system() } else { own.or_else(of_system) }
}

/// Raises the soft limit of open files to the hard one, for the harness and the processes that it starts.
pub fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    // A refusal leaves the limit as it was, which is reported.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// The commit of the folder that the harness is in, with `+` where files that git tracks have changed since; `None`
/// without git.
pub fn commit() -> Option<String> {
    let here = Path::new(".");
    let hash = git(here, &["rev-parse", "--short=12", "HEAD"]).ok()?;
    let changed = git(here, &["status", "--porcelain", "--untracked-files=no"]);
    let mark = if changed.is_ok_and(|files| files.is_empty()) { "" } else { "+" };
    Some(format!("{}{mark}", hash.trim()))
}

/// What the machine has done until now.
pub fn activity() -> HostActivity {
    let stat = text("/proc/stat").unwrap_or_default();
    let spent_s = spent_s(&stat, "cpu ").unwrap_or_default();
    let field = |index: usize| spent_s.get(index).copied();
    let busy = [0, 1, 2, 5, 6].map(field).into_iter().sum::<Option<f64>>();
    // The first is where version 2 of control groups has it, the second version 1.
    let group = text("/sys/fs/cgroup/cpu.stat").or_else(|| text("/sys/fs/cgroup/cpu/cpu.stat"));
    let throttled = |name: &str| value(group.as_ref()?, name);
    let pressure = |of: &str| text(format!("/proc/pressure/{of}"))?.lines().find_map(some_total_us);
    HostActivity {
        busy_s: busy,
        steal_s: field(7),
        steal_limit: None,
        throttled_periods: throttled("nr_throttled"),
        cpu_pressure_us: pressure("cpu"),
        memory_pressure_us: pressure("memory"),
        throttled_us: throttled("throttled_usec").or_else(|| Some(throttled("throttled_time")? / 1_000)),
    }
}

/// What processors spent their time on, by a line of `/proc/stat`, in seconds: user nice system idle iowait irq softirq
/// steal; guests are within user and nice.
pub(super) fn spent_s(stat: &str, processors: &str) -> Option<Vec<f64>> {
    let line = stat.lines().find_map(|line| line.strip_prefix(processors))?;
    let fields = line.split_whitespace().take(8);
    Some(fields.filter_map(|field| Some(field.parse::<f64>().ok()? / 100.0)).collect())
}

/// The total of a pressure file's `some` line: `some avg10=0.00 avg60=0.02 avg300=9.08 total=3540489214`.
fn some_total_us(line: &str) -> Option<u64> {
    line.strip_prefix("some ")?.split("total=").nth(1)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_is_read_from_its_some_line() {
        assert_eq!(
            some_total_us("some avg10=0.00 avg60=0.02 avg300=9.08 total=3540489214"),
            Some(3_540_489_214)
        );
        assert_eq!(some_total_us("full avg10=0.00 avg60=0.00 avg300=0.00 total=7"), None);
    }
}
