//! The line of a trial on standard error: in a terminal shown while it runs, and replaced by its result.

use std::io::{IsTerminal, Write, stderr};

/// Where standard error goes.
pub(super) struct TrialLine {
    is_terminal: bool,
}

impl TrialLine {
    pub fn new() -> Self {
        Self { is_terminal: stderr().is_terminal() }
    }

    /// A trial begins.
    pub fn begin(&self, head: &str) {
        if self.is_terminal {
            eprint!("\r\x1b[K{head} …");
            // A terminal that takes no text is no reason to stop measuring.
            let _ = stderr().flush();
        }
    }

    /// A trial has ended.
    pub fn end(&self, head: &str, gave: &str) {
        let start = if self.is_terminal { "\r\x1b[K" } else { "" };
        eprintln!("{start}{head}  {gave}");
    }
}
