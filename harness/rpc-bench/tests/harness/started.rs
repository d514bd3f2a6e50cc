//! Processes that a test started itself, killed with it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::bench::{Bench, kill, until};

/// A server that a test started itself, and where it is; killed with the test.
pub struct Started {
    pub child: Child,
    pub url: String,
}

impl Started {
    /// Waits for its ready line.
    pub fn new(program: PathBuf, args: &[&str]) -> Self {
        let mut child = Command::new(program).args(args).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        Self { child, url: format!("http://{}/", ready["addr"].as_str().unwrap()) }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A harness that was started; killed where a test ends early.
pub struct Running {
    pub child: Child,
}

impl Running {
    pub fn signal(&self, signal: i32) {
        kill(self.child.id() as i32, signal);
    }

    /// Waits until a part of its run has that many observations.
    ///
    /// # Panics
    /// It ended before: with what it said, instead of waiting for what never comes.
    pub fn wait_for_observations(&mut self, bench: &Bench, folder: &str, count: usize) {
        until("enough observations are there", || {
            let ended = self.child.try_wait().unwrap();
            if bench.observations_in(folder).len() >= count {
                return Some(());
            }
            let said = || fs::read_to_string(bench.path("log")).unwrap();
            assert!(ended.is_none(), "it ended before {count} observations: {ended:?}\n{}", said());
            None
        });
    }

    /// How it ended.
    pub fn exit_code(mut self) -> Option<i32> {
        until("the harness ends", || self.child.try_wait().unwrap()).code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
