//! Another process that uses the processors during a trial: the trial is invalid, says so, and its block is run again.

use std::num::NonZero;
use std::process::{Child, Command, Stdio};
use std::thread::available_parallelism;

use crate::bench::{Bench, stderr};

/// Processes that do nothing but use a processor each; they end with their owner, or after a minute where a signal
/// ended that.
struct Busy(Vec<Child>);

impl Busy {
    fn on_every_processor() -> Self {
        let start = |_| {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", "ulimit -t 60; while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap()
        };
        Self((0..available_parallelism().map_or(1, NonZero::get)).map(start).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_trial_with_a_busy_process_is_invalid_and_says_so() {
    let Some(bench) = Bench::new(1) else { return };
    let _busy = Busy::on_every_processor();
    bench.replace("campaigns/tiny.toml", "max_foreign_cpu = \"100%\"", "max_foreign_cpu = \"5%\"");
    bench.replace("campaigns/tiny.toml", "max_extra_blocks = 0", "max_extra_blocks = 2");
    let output = bench.run(&["run", "tiny"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("exit code 1: No valid trial of "), "{said}");
    assert!(bench.run(&["check"]).status.success(), "invalid trials are no failure of a server");
    assert!(said.contains("INVALID: another process"), "{said}");
    assert!(said.contains("1 block was lost and is run again"), "{said}");

    // One block was planned and two more are allowed; all of them were spoiled.
    let observations = bench.observations();
    assert_eq!(observations.len(), 6, "{said}");
    for observation in &observations {
        let foreign = &observation["outcome"]["foreign_cpu"];
        let [used_s, of_s] = ["used_s", "of_s"].map(|field| foreign[field].as_f64().unwrap());
        assert!(used_s > of_s * 0.05 && used_s < of_s, "{foreign}");
    }
    bench.report_has(&[
        "100 % of 6 trials discarded: another process used the CPU (6)*",
        "in 3 tries: other processes used ",
        "(max_foreign_cpu is 5 %)",
        "are **not compared**: no block has a valid trial of both: in block 1 with",
        "| invalid: another process",
    ]);
}
