//! The programs that place agents on hosts: how they end, and what they say.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::owned_process::Owned;
use bench_system::foreign_text::{beginning_of, bounded};

/// Waits for launchers to end; false where one of them did not in time. Ctrl-C does not cut it short, because it is
/// what ends them.
pub fn end_within(launchers: &mut [Owned], limit: Duration) -> bool {
    let end = Instant::now() + limit;
    while launchers.iter_mut().any(|launcher| matches!(launcher.ended(), Ok(None))) {
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// The line of a launcher's output that says most about why it failed, if there is one.
pub fn what_was_wrong(path: &Path) -> Option<String> {
    telling(&beginning_of(path).ok()?).map(bounded)
}

/// The first line that is no warning: launchers go on to say that they end, or draw rules. Else the last that says
/// anything.
fn telling(text: &str) -> Option<&str> {
    let lines = || text.lines().map(str::trim).filter(|line| line.contains(char::is_alphanumeric));
    let first = lines().find(|line| !line.to_lowercase().contains("warning"));
    first.or_else(|| lines().next_back())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_launchers_say_is_one_telling_line() {
        let mpirun = "[vm:7] plm:rsh: Warning: setpgid(8,8) failed\nssh: Could not resolve hostname b\n-----\nORTE \
            was unable to\n-----\n";
        assert_eq!(telling(mpirun), Some("ssh: Could not resolve hostname b"));
        let clush = "b: ssh: Could not resolve hostname b\nclush: b: exited with exit code 255\n";
        assert_eq!(telling(clush), Some("b: ssh: Could not resolve hostname b"));
        assert_eq!(telling("Warning: a\n---\nwarning: b\n"), Some("warning: b"));
        assert_eq!(telling("\n--\n"), None);
    }
}
