//! The names of groups, which say whose they are, and the removal of those whose harness is gone.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use procfs::process::Process;

/// What the names of all groups of harnesses begin with.
const PREFIX: &str = "rpc-bench";

/// A harness: its process id, and when it started, because ids are used again.
fn harness(pid: i32) -> Option<(i32, u64)> {
    Some((pid, Process::new(pid).ok()?.stat().ok()?.starttime))
}

/// A name for one of this harness' groups.
pub(super) fn own_name(number: u64) -> Result<String> {
    let own = i32::try_from(std::process::id()).ok().and_then(harness);
    let (pid, started) = own.context("can't read when this process started")?;
    Ok(format!("{PREFIX}-{pid}-{started}-{number}"))
}

/// Removes the groups in `parent` whose harness has gone. Their processes have died with it; where one is still there,
/// the group is left to the next harness.
pub(super) fn remove(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_stale) {
            // It may be another harness that removes it at the same time.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Whether a name is that of a group whose harness is gone.
fn is_stale(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('-')) else { return false };
    let mut parts = rest.split('-');
    let pid = parts.next().and_then(|pid| pid.parse().ok());
    let started = parts.next().and_then(|started| started.parse::<u64>().ok());
    pid.zip(started).is_some_and(|(pid, started)| harness(pid) != Some((pid, started)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_of_harnesses_that_are_gone_are_stale() {
        let own = own_name(3).unwrap();
        assert!(!is_stale(&own), "{own}");
        // The same id with another start is an earlier process.
        assert!(is_stale(&format!("{PREFIX}-{}-1-0", std::process::id())));
        assert!(is_stale("rpc-bench-4194305-17-0"), "no process has that id");
        for other in ["rpc-bench", "rpc-bench-x-1-0", "docker-4194305-17-0", "tasks"] {
            assert!(!is_stale(other), "{other}");
        }
    }
}
