//! Which processes of a test's run are there.

use std::fs;

use crate::bench::{Bench, until};

impl Bench {
    /// Processes of this test's programs: their command lines hold the test's own folder.
    pub fn running(&self, program: &str) -> Vec<i32> {
        let wanted = self.path(program).to_str().unwrap().to_owned();
        let pids = fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
        pids.filter(|pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_else(|_| Vec::new());
            line.split(|byte| *byte == 0).next() == Some(wanted.as_bytes())
        })
        .collect()
    }

    /// Whether `rpc-bench load` writes into this test's results.
    fn has_a_load(&self) -> bool {
        let of = |pid: std::path::PathBuf| {
            let line = fs::read(pid.join("cmdline")).unwrap_or_default();
            let output = fs::read_link(pid.join("fd/1")).unwrap_or_default();
            line.split(|byte| *byte == 0).nth(1) == Some(b"load") && output.starts_with(self.dir.path())
        };
        fs::read_dir("/proc").unwrap().any(|entry| of(entry.unwrap().path()))
    }

    /// Waits until no server and no load tool of this test is left.
    pub fn nothing_is_left_running(&self) {
        let programs =
            ["server-actix", "server-control", "server-axum", "faulty-actix", "bombardier", "vegeta", "k6"];
        until("nothing is left running", || {
            let is_quiet = programs.iter().all(|program| self.running(program).is_empty());
            (is_quiet && !self.has_a_load()).then_some(())
        });
    }
}
