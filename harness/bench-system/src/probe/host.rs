//! The machine that the measurement runs on: what it is, and what it was doing meanwhile.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use procfs::{CpuInfo, Current, Meminfo};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::processor::Processor;
use crate::kernel_files::{counted, text, value};
use crate::repository::{self, git, printed};

/// What of a machine decides figures. Names no person, no path and no address.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// What the processor calls itself.
    pub cpu: String,
    /// What it is: its name alone says little. None in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<Processor>,
    /// Processors that this process may use.
    pub cores: usize,
    /// Memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Frequency governor of the first processor.
    pub governor: Option<String>,
    /// Open files that a process may hold.
    pub open_files: u64,
    /// First and last port that a client may connect from.
    pub client_ports: Option<(u16, u16)>,
    /// Longest accept queue that the kernel grants (`somaxconn`).
    pub max_backlog: Option<u64>,
    /// The processor that placement `one-core` puts server and load tool on: the last that this process may use.
    pub one_core: Option<usize>,
    /// The compiler.
    pub rustc: Option<String>,
    /// The commit that was measured, with `+` where files had changed since.
    pub commit: Option<String>,
    /// The files that git tracks and that had changed since, by their paths in the repository; none where unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_files: Option<Vec<String>>,
}

impl Host {
    /// Looks at the machine, and at what the harness was built from.
    pub fn read() -> Self {
        let rustc =
            printed(Command::new("rustc").arg("--version")).ok().map(|version| version.trim().to_owned());
        let changed_files = repository::changed_files(Path::new("."));
        Self { rustc, commit: commit(), changed_files, ..Self::machine() }
    }

    /// The processor for readers: by vendor, family and model where these are known, such as `AMD EPYC (family 25,
    /// model 17)`.
    pub fn processor_name(&self) -> String {
        self.processor.as_ref().map_or_else(|| self.cpu.clone(), |processor| processor.name(&self.cpu))
    }

    /// Looks at the machine alone, for which no program is started.
    pub fn machine() -> Self {
        let info = CpuInfo::current().ok();
        let model = info.as_ref().and_then(|info| info.model_name(0).map(str::to_owned));
        Self {
            cpu: model.unwrap_or_else(|| "unknown".to_owned()),
            processor: info.as_ref().and_then(Processor::of),
            cores: cores(),
            memory_bytes: Meminfo::current().ok().map(|memory| memory.mem_total),
            kernel: text("/proc/sys/kernel/osrelease"),
            governor: text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            open_files: open_files(),
            client_ports: client_ports(),
            max_backlog: text("/proc/sys/net/core/somaxconn").and_then(|text| text.parse().ok()),
            one_core: last_processor(),
            ..Self::default()
        }
    }
}

/// Processors that this process may use. Found once: to find it reads files of the kernel, and reports need it for
/// each sample.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
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

/// The program of that name on the `PATH`.
pub fn on_path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|dir| dir.join(program)).find(|path| path.is_file())
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

/// Steal above this share of the processors' time makes a trial invalid, unless its campaign states another one.
pub const MUCH_STEAL: f64 = 0.02;

/// What the machine has done since it started; the difference of two readings says what it did meanwhile.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct HostActivity {
    /// CPU time in which a processor worked, summed over processors, in seconds.
    pub busy_s: Option<f64>,
    /// CPU time that the hypervisor gave to others (steal), in seconds.
    pub steal_s: Option<f64>,
    /// The share of the processors' time that may be stolen, where the campaign states it.
    pub steal_limit: Option<f64>,
    /// Periods in which the control group was held back (throttled).
    pub throttled_periods: Option<u64>,
    /// Time in which some task had to wait for a processor (`some` of /proc/pressure/cpu), in microseconds.
    pub cpu_pressure_us: Option<u64>,
    /// Time in which some task had to wait for memory (`some` of /proc/pressure/memory), in microseconds.
    pub memory_pressure_us: Option<u64>,
    /// Time for which the control group was held back, in microseconds.
    pub throttled_us: Option<u64>,
}

impl HostActivity {
    /// As of now.
    pub fn read() -> Self {
        let stat = text("/proc/stat").unwrap_or_default();
        let spent_s = spent_s(&stat, "cpu ").unwrap_or_default();
        let field = |index: usize| spent_s.get(index).copied();
        let busy = [0, 1, 2, 5, 6].map(field).into_iter().sum::<Option<f64>>();
        // The first is where version 2 of control groups has it, the second version 1.
        let group = text("/sys/fs/cgroup/cpu.stat").or_else(|| text("/sys/fs/cgroup/cpu/cpu.stat"));
        let throttled = |name: &str| value(group.as_ref()?, name);
        let pressure = |of: &str| text(format!("/proc/pressure/{of}"))?.lines().find_map(some_total_us);
        Self {
            busy_s: busy,
            steal_s: field(7),
            steal_limit: None,
            throttled_periods: throttled("nr_throttled"),
            cpu_pressure_us: pressure("cpu"),
            memory_pressure_us: pressure("memory"),
            throttled_us: throttled("throttled_usec").or_else(|| Some(throttled("throttled_time")? / 1_000)),
        }
    }

    /// What happened between an earlier reading and this one.
    pub fn since(self, earlier: Self) -> Self {
        let grown = |now: Option<f64>, then: Option<f64>| Some(now? - then?);
        Self {
            busy_s: grown(self.busy_s, earlier.busy_s),
            steal_s: grown(self.steal_s, earlier.steal_s),
            steal_limit: None,
            throttled_periods: counted(self.throttled_periods, earlier.throttled_periods),
            cpu_pressure_us: counted(self.cpu_pressure_us, earlier.cpu_pressure_us),
            memory_pressure_us: counted(self.memory_pressure_us, earlier.memory_pressure_us),
            throttled_us: counted(self.throttled_us, earlier.throttled_us),
        }
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
