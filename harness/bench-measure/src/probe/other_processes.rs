//! CPU time that went to processes which are no part of a measurement, bounded from two sides: what the processors
//! worked in all, less what the harness and its children used, and less what the kernel's own threads did for them and
//! what its switching takes; and, where every process of the machine can be seen, what the clocks of the others say.
//! The smaller of the two counts.
//!
//! How long a processor worked is taken from how long it idled. The kernel measures idle time, but on most systems only
//! samples what kind of work was done, at its ticks: too coarse for a window of a second. Time in which a processor
//! wakes up or falls idle is work by it and no process's: with a request every 60 µs it was 5 to 7 % of two processors,
//! and there was no other process. The clocks know nothing of that. They miss a process that began and ended in the
//! window and that its parent did not wait for.

use bench_core::machine::ForeignCpu;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use super::harness_usage::{own_cpu_s, own_pids};
use super::host::{may_use, spent_s};
use super::process_usage::{clock_s, process};
use crate::kernel_files::{text, value};

/// How the kernel calls its threads that work for whoever uses the network: soft interrupts put off under load, memory
/// of closed connections given back, work queues. With thousands of connections they use more than [`MUCH_FOREIGN`] by
/// themselves.
const NETWORK_THREADS: [&str; 3] = ["ksoftirqd/", "rcu_", "kworker/"];

/// What a switch between tasks costs that the kernel charges to no process, in seconds: the way into idling and out of
/// it, mostly. Two processes that pass a byte to and fro, with nothing else running, left 0.5 to 0.75 µs for each
/// switch unaccounted on a virtual machine of two processors. A server with one connection switches a hundred thousand
/// times a second.
const SWITCH_S: f64 = 0.7e-6;

/// How long processes are watched for the busiest of them.
const WATCH: Duration = Duration::from_millis(100);

/// The share of one processor from which a process is worth naming.
const NAMED: f64 = 0.05;

/// The same with the busiest other process. It is searched only where it is too much, because that takes a tenth of
/// a second.
pub fn with_busiest(foreign: ForeignCpu) -> ForeignCpu {
    let busiest = foreign.is_too_much().then(busiest).flatten();
    ForeignCpu { busiest, ..foreign }
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
        let mut sum = Self { switches: value(stat, "ctxt").unwrap_or(0) as f64, ..Self::default() };
        for processor in processors {
            let fields = spent_s(stat, &format!("cpu{processor} "))?;
            let &[_, _, _, idle, iowait, irq, softirq, steal] = fields.as_slice() else { return None };
            sum.count += 1;
            sum.not_working_s += idle + iowait + steal;
            sum.interrupts_s = [sum.interrupts_s[0] + irq, sum.interrupts_s[1] + softirq];
            sum.all_s += fields.iter().sum::<f64>();
        }
        (sum.count > 0).then_some(sum)
    }

    /// How long they worked for processes since an earlier reading, `passed_s` ago, in seconds. `None` where the system
    /// accounts for none of the time, as some sandboxes do.
    ///
    /// A kernel that samples charges interrupts to whatever they interrupt, and so to processes; because it samples in
    /// an interrupt it never sees one, and its `irq` is 0 for ever. A kernel that measures them charges them to nobody:
    /// most are the measured network traffic, and none is a foreign process.
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
    /// That of each other process, with the children that it waited for; `None` where not all can be seen.
    others_s: Option<BTreeMap<u32, f64>>,
}

impl Reading {
    /// As of now. `None` where the machine does not say.
    pub fn now() -> Option<Self> {
        let kernel_s = sees_the_machine().then(network_threads);
        let others_s = kernel_s.as_ref().map(others_s);
        let stat = fs::read_to_string("/proc/stat").ok()?;
        let at = Instant::now();
        let processors = Processors::parse(&stat, &may_use())?;
        let kernel_s = kernel_s.unwrap_or_default();
        Some(Self { at, processors, own_s: own_cpu_s()?, kernel_s, others_s })
    }

    /// What other processes used from this reading to a later one; above `limit`, a share of the processors' time from
    /// 0 to 1, it is too much. `None` where the system accounts for none of the time.
    pub fn until(&self, end: &Self, limit: f64) -> Option<ForeignCpu> {
        let passed_s = end.at.duration_since(self.at).as_secs_f64();
        let worked_s = end.processors.worked_s(&self.processors, passed_s)?;
        let of_s = passed_s * end.processors.count as f64;
        let kernel_s = gained_s(&self.kernel_s, &end.kernel_s);
        let own_s = end.own_s - self.own_s;
        let switching_s = (end.processors.switches - self.processors.switches) * SWITCH_S;
        let unaccounted_s = worked_s - own_s - kernel_s - switching_s;
        let by_clocks_s = self.others_s.as_ref().zip(end.others_s.as_ref());
        let used_s =
            by_clocks_s.map_or(unaccounted_s, |(before, now)| unaccounted_s.min(gained_s(before, now)));
        Some(ForeignCpu { used_s, of_s, limit, busiest: None })
    }
}

/// What the clocks of `now` have gained since `before`, in seconds. One that is new has all its time from here. One
/// that is gone is in its parent's, with what it used earlier too: too much, not too little.
fn gained_s(before: &BTreeMap<u32, f64>, now: &BTreeMap<u32, f64>) -> f64 {
    let of = |(pid, now_s): (&u32, &f64)| (now_s - before.get(pid).copied().unwrap_or_default()).max(0.0);
    now.iter().map(of).sum()
}

/// The name of a process's program.
fn name_of(pid: u32) -> Option<String> {
    text(format!("/proc/{pid}/comm"))
}

/// Whether all processes of the machine can be seen, the kernel's included: not so in a container. The parent of the
/// kernel's is the machine's second process.
fn sees_the_machine() -> bool {
    name_of(2).as_deref() == Some("kthreadd")
}

/// CPU time of the kernel's threads that work for the network, by process id, in seconds.
fn network_threads() -> BTreeMap<u32, f64> {
    let children = text("/proc/2/task/2/children").unwrap_or_default();
    let pids = children.split_whitespace().filter_map(|pid| pid.parse().ok());
    let works_for_it = |name: String| NETWORK_THREADS.iter().any(|of| name.starts_with(of));
    pids.filter(|pid| name_of(*pid).is_some_and(works_for_it))
        .filter_map(|pid| Some((pid, clock_s(pid).ok()?)))
        .collect()
}

/// CPU time of every process that neither is ours, nor descends from one of ours, nor works for the network, by process
/// id, in seconds: its own, to the nanosecond, and that of children that it waited for, in ticks.
fn others_s(network: &BTreeMap<u32, f64>) -> BTreeMap<u32, f64> {
    let tick_s = 1.0 / procfs::ticks_per_second() as f64;
    let stat_of = |pid: u32| {
        let stat = process(pid)?.stat().ok()?;
        let waited_for_s = (stat.cutime + stat.cstime).max(0) as f64 * tick_s;
        Some((pid, (u32::try_from(stat.ppid).ok()?, waited_for_s)))
    };
    let all: BTreeMap<u32, (u32, f64)> = all_pids().filter_map(stat_of).collect();
    let own = own_pids();
    // Up to the first process, whose parent is none.
    let is_ours = |pid: u32| {
        std::iter::successors(Some(pid), |pid| all.get(pid).map(|(parent, _)| *parent))
            .any(|pid| own.contains(&pid))
    };
    all.iter()
        .filter(|(pid, _)| !is_ours(**pid) && !network.contains_key(pid))
        .filter_map(|(pid, (_, waited_for_s))| Some((*pid, clock_s(*pid).ok()? + waited_for_s)))
        .collect()
}

/// The processes that can be seen.
fn all_pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
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
    Some((name_of(pid)?, share))
}

/// CPU time of every process but ours, by process id, in seconds.
fn cpu_of_others() -> BTreeMap<u32, f64> {
    let own: BTreeSet<u32> = own_pids();
    all_pids().filter(|pid| !own.contains(pid)).filter_map(|pid| Some((pid, clock_s(pid).ok()?))).collect()
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
        Reading { at, processors, own_s, kernel_s: BTreeMap::new(), others_s: None }
    }

    #[test]
    fn foreign_is_all_work_less_our_own() {
        let began = Instant::now();
        let start = reading(began, stat([100, 0, 0, 500, 0, 0, 0, 0], [100, 0, 0, 500, 0, 0, 0, 0]), 7.0);
        // One second: of 2 s processors idled 0.3, waited 0.1 and lost 0.2 to the hypervisor. Of the 1.4 s of work 1.3
        // are ours.
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
    fn what_no_clock_shows_is_no_process() {
        let began = Instant::now();
        let with = |reading: Reading, others: &[(u32, f64)]| Reading {
            others_s: Some(others.iter().copied().collect()),
            ..reading
        };
        let start = with(reading(began, stat([0; 8], [0; 8]), 0.0), &[(1, 5.0), (300, 2.0), (301, 9.0)]);
        let ended = stat([100, 0, 0, 0, 0, 0, 0, 0], [50, 0, 0, 50, 0, 0, 0, 0]);
        let end = reading(began + Duration::from_secs(1), ended, 1.2);
        // 0.3 s are unaccounted for. One process used 0.02 s, and a new one 0.03; one is gone, unwaited for.
        let seen = with(end.clone(), &[(1, 5.0), (300, 2.02), (302, 0.03)]);
        assert!((start.until(&seen, 0.03).unwrap().used_s - 0.05).abs() < 1e-9);
        // Clocks can't show more than what was worked.
        let seen = with(end.clone(), &[(1, 5.0), (300, 4.0)]);
        assert!((start.until(&seen, 0.03).unwrap().used_s - 0.3).abs() < 1e-9);
        // Where not all can be seen, what no clock shows may be another's.
        assert!((start.until(&end, 0.03).unwrap().used_s - 0.3).abs() < 1e-9);
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
    fn a_child_s_child_is_ours_and_the_first_process_is_not() {
        if !sees_the_machine() {
            return;
        }
        let others = others_s(&network_threads());
        assert!(others.contains_key(&1) && !others.contains_key(&std::process::id()));
        // Not started as the harness starts its children, so that only descent says whose it is.
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let is_foreign = others_s(&BTreeMap::new()).contains_key(&child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_foreign);
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
