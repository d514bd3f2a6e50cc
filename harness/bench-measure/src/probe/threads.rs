//! What each thread of a server did through a window, and how many files the process may open.

use bench_core::machine::ThreadUse;
use std::collections::BTreeMap;

use procfs::process::{LimitValue, Task};

use super::process_usage::process;

/// A thread that did less than this share of the window is left out.
const LEAST_SHARE: f64 = 0.005;

/// The most threads that are kept, the busiest first.
const MOST_THREADS: usize = 32;

/// Every thread of a process by its id, since each started; empty where the process is gone or the machine lacks
/// schedstat.
pub fn read(pid: u32) -> BTreeMap<u32, ThreadUse> {
    let tasks = process(pid).and_then(|process| process.tasks().ok());
    let of = |task: Task| {
        let (name, ran) = (task.stat().ok()?.comm, task.schedstat().ok()?);
        let (cpu_us, run_delay_us) = (ran.sum_exec_runtime / 1_000, ran.run_delay / 1_000);
        Some((u32::try_from(task.tid).ok()?, ThreadUse { name, cpu_us, run_delay_us }))
    };
    tasks.into_iter().flatten().flatten().filter_map(of).collect()
}

/// What the threads that live now did since an earlier reading, the busiest first. Those that did next to nothing in
/// `window_s` are left out.
pub fn since(
    now: BTreeMap<u32, ThreadUse>,
    earlier: &BTreeMap<u32, ThreadUse>,
    window_s: f64,
) -> Vec<ThreadUse> {
    let least_us = (window_s * 1e6 * LEAST_SHARE) as u64;
    let mut threads: Vec<ThreadUse> = now
        .into_iter()
        .map(|(id, mut thread)| {
            if let Some(then) = earlier.get(&id) {
                thread.cpu_us = thread.cpu_us.saturating_sub(then.cpu_us);
                thread.run_delay_us = thread.run_delay_us.saturating_sub(then.run_delay_us);
            }
            thread
        })
        .filter(|thread| thread.runnable_us() > least_us)
        .collect();
    threads.sort_by_key(|thread| std::cmp::Reverse(thread.runnable_us()));
    threads.truncate(MOST_THREADS);
    threads
}

/// Files that a process may hold open (its soft limit).
pub fn open_files_limit(pid: u32) -> Option<u64> {
    match process(pid)?.limits().ok()?.max_open_files.soft_limit {
        LimitValue::Value(limit) => Some(limit),
        LimitValue::Unlimited => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_process_own() {
        assert_eq!(open_files_limit(std::process::id()), Some(crate::probe::host::open_files()));
        assert_eq!(open_files_limit(u32::MAX / 4), None);
    }
}
