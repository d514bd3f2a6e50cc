//! CPU time that went to processes which are no part of a measurement: what the processors worked in all, less what the harness
//! and its children used, and less what the kernel's own threads did for them and what its switching takes.
//!
//! How long a processor worked is taken from how long it idled. The kernel measures idle time, but on most systems only samples
//! what kind of work was done, at its ticks: too coarse for a window of a second.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::harness_usage::{own_cpu_s, own_pids};
use super::host::may_use;
use super::process_usage::clock_s;

/// The share of the processors' time above which other processes make a trial invalid. Readings of `/proc/stat` are good to
/// 10 ms a processor, 2 % of the shortest window there is (500 ms); the services of an idle machine use well below 1 %. What is
/// below may move a rate by as much, in either server of a comparison alike.
pub const MUCH_FOREIGN: f64 = 0.03;

/// How the kernel calls its threads that work for whoever uses the network: soft interrupts put off under load, memory of closed
/// connections given back, work queues. With thousands of connections they use more than [`MUCH_FOREIGN`] by themselves.
const NETWORK_THREADS: [&str; 3] = ["ksoftirqd/", "rcu_", "kworker/"];

/// What a switch between tasks costs that the kernel charges to no process, in seconds: the way into idling and out of it, mostly. Two
/// processes that pass a byte to and fro, with nothing else running, left 0.5 to 0.75 µs for each switch unaccounted on a virtual machine
/// of two processors. A server with one connection switches a hundred thousand times a second.
const SWITCH_S: f64 = 0.7e-6;

/// How long processes are watched for the busiest of them.
const WATCH: Duration = Duration::from_millis(100);

/// The share of one processor from which a process is worth naming.
const NAMED: f64 = 0.05;

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

    /// The same with the busiest other process. It is searched only where it is too much, because that takes a tenth of a second.
    pub fn with_busiest(self) -> Self {
        let busiest = self.is_too_much().then(busiest).flatten();
        Self { busiest, ..self }
    }
}

/// What the processors that this process may use have done since the machine started, summed, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Processors {
    count: usize,
    /// Without any work, or kept from it by the hypervisor.
    not_working_s: f64,
    /// In interrupts: at once, and put off.
    interrupts_s: [f64; 2],
    /// All that was accounted for.
    all_s: f64,
    /// Switches between tasks.
    switches: f64,
}

impl Processors {
    /// From the text of `/proc/stat`. `None` where a processor is missing in it.
    fn parse(stat: &str, processors: &[usize]) -> Option<Self> {
        let switches = stat.lines().find_map(|line| line.strip_prefix("ctxt ")?.trim().parse().ok());
        let mut sum = Self { switches: switches.unwrap_or(0.0), ..Self::default() };
        for processor in processors {
            let name = format!("cpu{processor} ");
            let line = stat.lines().find_map(|line| line.strip_prefix(&name))?;
            // user nice system idle iowait irq softirq steal, in hundredths of a second; guests are within user and nice
            let fields: Vec<f64> = line
                .split_whitespace()
                .take(8)
                .filter_map(|field| Some(field.parse::<f64>().ok()? / 100.0))
                .collect();
            let &[_, _, _, idle, iowait, irq, softirq, steal] = fields.as_slice() else { return None };
            sum.count += 1;
            sum.not_working_s += idle + iowait + steal;
            sum.interrupts_s = [sum.interrupts_s[0] + irq, sum.interrupts_s[1] + softirq];
            sum.all_s += fields.iter().sum::<f64>();
        }
        (sum.count > 0).then_some(sum)
    }

    /// How long they worked for processes since an earlier reading, `passed_s` ago, in seconds. `None` where the system accounts
    /// for none of the time, as some sandboxes do.
    ///
    /// A kernel that samples charges interrupts to whatever they interrupt, and so to processes; because it samples in an interrupt
    /// it never sees one, and its `irq` is 0 for ever. A kernel that measures them charges them to nobody: most are the measured
    /// network traffic, and none is a foreign process.
    fn worked_s(&self, earlier: &Self, passed_s: f64) -> Option<f64> {
        let of_s = passed_s * self.count as f64;
        if self.all_s - earlier.all_s < of_s / 2.0 {
            return None;
        }
        let worked_s = of_s - (self.not_working_s - earlier.not_working_s);
        let [irq, softirq] = [0, 1].map(|kind| self.interrupts_s[kind] - earlier.interrupts_s[kind]);
        let is_measured = self.interrupts_s[0] > 0.0;
        Some(if is_measured { worked_s - irq - softirq } else { worked_s })
    }
}

/// What the processors have worked and what we have used of it, at a moment.
#[derive(Debug, Clone)]
pub struct Reading {
    at: Instant,
    processors: Processors,
    own_s: f64,
    /// CPU time of each of the kernel's network threads, by process id, in seconds.
    kernel_s: BTreeMap<u32, f64>,
}

impl Reading {
    /// As of now. `None` where the machine does not say.
    pub fn now() -> Option<Self> {
        let kernel_s = network_threads();
        let stat = fs::read_to_string("/proc/stat").ok()?;
        let at = Instant::now();
        Some(Self { at, processors: Processors::parse(&stat, &may_use())?, own_s: own_cpu_s()?, kernel_s })
    }

    /// What other processes used from this reading to a later one; above `limit`, a share of the processors' time from 0 to 1, it
    /// is too much. `None` where the system accounts for none of the time.
    pub fn until(&self, end: &Self, limit: f64) -> Option<ForeignCpu> {
        let passed_s = end.at.duration_since(self.at).as_secs_f64();
        let worked_s = end.processors.worked_s(&self.processors, passed_s)?;
        let of_s = passed_s * end.processors.count as f64;
        // A thread that has begun meanwhile has all its time from here.
        let before = |pid| self.kernel_s.get(pid).copied().unwrap_or_default();
        let kernel_s: f64 = end.kernel_s.iter().map(|(pid, now_s)| now_s - before(pid)).sum();
        let own_s = end.own_s - self.own_s;
        let switching_s = (end.processors.switches - self.processors.switches) * SWITCH_S;
        Some(ForeignCpu { used_s: worked_s - own_s - kernel_s - switching_s, of_s, limit, busiest: None })
    }
}

/// CPU time of the kernel's threads that work for the network, by process id, in seconds; none where they can't be seen, as in a
/// container.
fn network_threads() -> BTreeMap<u32, f64> {
    let name = |pid: u32| fs::read_to_string(format!("/proc/{pid}/comm")).ok();
    // The parent of them all is the machine's second process.
    if name(2).as_deref() != Some("kthreadd\n") {
        return BTreeMap::new();
    }
    let children = fs::read_to_string("/proc/2/task/2/children").unwrap_or_default();
    let pids = children.split_whitespace().filter_map(|pid| pid.parse().ok());
    pids.filter(|pid| name(*pid).is_some_and(|name| NETWORK_THREADS.iter().any(|of| name.starts_with(of))))
        .filter_map(|pid| Some((pid, clock_s(pid).ok()?)))
        .collect()
}

/// The busiest process that is none of ours, and its share of one processor; `None` where none is worth naming.
fn busiest() -> Option<(String, f64)> {
    let before = cpu_of_others();
    let began = Instant::now();
    std::thread::sleep(WATCH);
    let after = cpu_of_others();
    let passed_s = began.elapsed().as_secs_f64();
    let used = after.iter().filter_map(|(pid, now_s)| Some((*pid, (now_s - before.get(pid)?) / passed_s)));
    let (pid, share) = used.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, share)| *share >= NAMED)?;
    // The program's name only: its arguments may name persons and places.
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some((name.trim().to_owned(), share))
}

/// CPU time of every process but ours, by process id, in seconds.
fn cpu_of_others() -> BTreeMap<u32, f64> {
    let own: BTreeSet<u32> = own_pids();
    let pids = fs::read_dir("/proc").into_iter().flatten();
    pids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| !own.contains(pid))
        .filter_map(|pid| Some((pid, clock_s(pid).ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two processors: fields in hundredths of a second, in the order of `/proc/stat`.
    fn stat(cpu0: [u64; 8], cpu1: [u64; 8]) -> Processors {
        let line = |fields: [u64; 8]| fields.map(|field| field.to_string()).join(" ");
        let text =
            format!("cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 {} 0 0\ncpu1 {} 0 0\nintr 7\n", line(cpu0), line(cpu1));
        Processors::parse(&text, &[0, 1]).unwrap()
    }

    fn reading(at: Instant, processors: Processors, own_s: f64) -> Reading {
        Reading { at, processors, own_s, kernel_s: BTreeMap::new() }
    }

    #[test]
    fn foreign_is_all_work_less_our_own() {
        let began = Instant::now();
        let start = reading(began, stat([100, 0, 0, 500, 0, 0, 0, 0], [100, 0, 0, 500, 0, 0, 0, 0]), 7.0);
        // One second: of 2 s processors idled 0.3, waited 0.1 and lost 0.2 to the hypervisor. Of the 1.4 s of work 1.3 are ours.
        let ended = stat([160, 5, 10, 520, 5, 0, 0, 0], [140, 0, 20, 510, 5, 0, 5, 20]);
        let end = reading(began + Duration::from_secs(1), ended, 8.3);
        let foreign = start.until(&end, 0.03).unwrap();
        assert!((foreign.used_s - 0.1).abs() < 1e-9 && (foreign.of_s - 2.0).abs() < 1e-9, "{foreign:?}");
        assert!((foreign.share() - 0.05).abs() < 1e-9 && foreign.is_too_much());
        assert!(!start.until(&end, 0.06).unwrap().is_too_much());
        let all_ours = reading(end.at, ended, 8.45);
        assert_eq!(
            start.until(&all_ours, 0.03).unwrap().share(),
            0.0,
            "coarse readings give no negative share"
        );
    }

    #[test]
    fn the_kernel_s_network_threads_are_not_foreign() {
        let began = Instant::now();
        let with = |reading: Reading, kernel: &[(u32, f64)]| Reading {
            kernel_s: kernel.iter().copied().collect(),
            ..reading
        };
        let start = with(reading(began, stat([0; 8], [0; 8]), 0.0), &[(14, 5.0), (15, 1.0)]);
        let ended = stat([100, 0, 0, 0, 0, 0, 0, 0], [50, 0, 0, 50, 0, 0, 0, 0]);
        // Of 1.5 s of work 1.2 are ours; two threads used 0.1 s and one that is new 0.15.
        let end = reading(began + Duration::from_secs(1), ended, 1.2);
        let end = with(end, &[(14, 5.04), (15, 1.06), (99, 0.15)]);
        let foreign = start.until(&end, 0.03).unwrap();
        assert!((foreign.used_s - 0.05).abs() < 1e-9, "{foreign:?}");
    }

    #[test]
    fn switching_is_no_process() {
        let began = Instant::now();
        let at = |switches: f64, cpu0: [u64; 8]| Processors { switches, ..stat(cpu0, [0; 8]) };
        let start = reading(began, at(5e6, [0; 8]), 0.0);
        // Of 1 s of work 0.93 are ours, and 100,000 switches took the rest.
        let ended = Processors { not_working_s: 1.0, ..at(5.1e6, [100, 0, 0, 50, 0, 0, 0, 0]) };
        let end = reading(began + Duration::from_secs(1), ended, 0.93);
        let foreign = start.until(&end, 0.03).unwrap();
        assert!(foreign.used_s.abs() < 1e-9, "{foreign:?}");
        assert_eq!(Processors::parse("cpu0 1 2 3 4 5 6 7 8\nctxt 42\n", &[0]).unwrap().switches, 42.0);
    }

    #[test]
    fn measured_interrupts_are_no_process() {
        let (start, end) = ([0, 0, 0, 0, 0, 1, 0, 0], [60, 0, 20, 0, 0, 6, 15, 0]);
        let (start, end) = (stat(start, start), stat(end, end));
        assert!((end.worked_s(&start, 1.0).unwrap() - 1.6).abs() < 1e-9);
        // One that samples has never seen an interrupt, and their time is in that of processes.
        let (start, end) = ([0; 8], [60, 0, 20, 0, 0, 0, 20, 0]);
        let (start, end) = (stat(start, start), stat(end, end));
        assert!((end.worked_s(&start, 1.0).unwrap() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_system_without_accounting_is_not_busy() {
        assert_eq!(stat([0; 8], [0; 8]).worked_s(&stat([0; 8], [0; 8]), 1.0), None);
        assert_eq!(Processors::parse("cpu 1 2 3 4 5 6 7 8\n", &[0]), None);
        assert_eq!(Processors::parse("cpu0 1 2 3\n", &[0]), None);
    }

    #[test]
    fn our_own_work_is_not_foreign() {
        let Some(start) = Reading::now() else { return };
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(300) {
            std::hint::black_box(0);
        }
        let end = Reading::now().unwrap();
        assert!(end.own_s - start.own_s > 0.0);
        // Whatever else runs on this machine, ours is not counted: not all processors can have worked for others.
        let foreign = start.until(&end, 0.03).unwrap();
        assert!(foreign.used_s <= foreign.of_s - (end.own_s - start.own_s) + 0.05, "{foreign:?}");
    }
}
