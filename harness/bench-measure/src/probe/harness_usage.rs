//! The CPU time of this process and of the children that it has started.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::process_usage::clock_s;

/// The children of this process, so that their CPU time can be distinguished from that of other processes.
static CHILDREN: Mutex<Children> = Mutex::new(Children { running: BTreeSet::new(), ended_s: 0.0 });

/// Children that run, by process id, and the CPU time of those that have ended, in seconds.
#[derive(Debug)]
pub struct Children {
    /// By process id.
    pub running: BTreeSet<u32>,
    /// CPU time of those that have ended, in seconds.
    pub ended_s: f64,
}

/// The registry of children, locked: whoever starts or ends one writes it here.
pub fn children() -> MutexGuard<'static, Children> {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// CPU time so far of this process, all its threads, and of every child that it has started, in seconds. The difference
/// of two readings is what all of them used in between; a child's own children count once it has waited for them and
/// has ended. `None` where the system does not say.
pub fn own_cpu_s() -> Option<f64> {
    // Held throughout, so that no child is counted twice or not at all while it ends.
    let children = children();
    let running: f64 = children.running.iter().filter_map(|pid| clock_s(*pid).ok()).sum();
    Some(clock_s(std::process::id()).ok()? + running + children.ended_s)
}

/// This process and its children that run, by process id.
pub fn own_pids() -> BTreeSet<u32> {
    let mut pids = children().running.clone();
    pids.insert(std::process::id());
    pids
}
