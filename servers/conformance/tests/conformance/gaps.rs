//! What a server can't do yet: each gap is listed with its reason, said aloud in every run, and has to go once it is closed.

use std::io::Write;

use crate::servers::Server;

/// A case that a server is known to fail.
struct Gap {
    server: &'static str,
    case: &'static str,
    reason: &'static str,
}

const KNOWN_GAPS: &[Gap] = &[];

/// Collects what a server did, and weighs it against its known gaps.
pub struct Verdict {
    server: &'static Server,
    asked: Vec<String>,
    failures: Vec<String>,
}

impl Verdict {
    pub fn of(server: &'static Server) -> Self {
        Self { server, asked: Vec::new(), failures: Vec::new() }
    }

    /// Takes the outcome of one case, an error being what went wrong.
    pub fn take(&mut self, case: &str, outcome: Result<(), String>) {
        self.asked.push(case.to_owned());
        match (gap(self.server, case), outcome) {
            (None, Ok(())) => {}
            (None, Err(problem)) => self.failures.push(format!("{case}: {problem}")),
            (Some(gap), Err(_)) => say(&format!("KNOWN GAP, skipped: {} {case}: {}", gap.server, gap.reason)),
            (Some(_), Ok(())) => self.failures.push(format!("{case}: passes; take it out of KNOWN_GAPS")),
        }
    }

    /// Fails if any case did.
    pub fn close(self) {
        assert!(!self.asked.is_empty(), "no case was asked");
        let (failed, asked) = (self.failures.len(), self.asked.len());
        let list = self.failures.join("\n");
        assert!(self.failures.is_empty(), "{}: {failed} of {asked} cases fail:\n{list}", self.server.package);
    }
}

fn gap(server: &Server, case: &str) -> Option<&'static Gap> {
    KNOWN_GAPS.iter().find(|gap| gap.server == server.package && gap.case == case)
}

/// Says it even where the test runner hides what tests print.
fn say(line: &str) {
    let _nobody_reads_it = writeln!(std::io::stderr(), "{line}");
}
