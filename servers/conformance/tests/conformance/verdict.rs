//! Collects the outcomes of a server's cases, so that one failed test lists every case that fails.

use crate::servers::Server;

/// The outcome of many cases.
pub struct Verdict<'a> {
    server: &'a Server,
    cases: usize,
    failures: Vec<String>,
}

impl<'a> Verdict<'a> {
    pub fn of(server: &'a Server) -> Self {
        Self { server, cases: 0, failures: Vec::new() }
    }

    /// Takes the outcome of one case, an error being what went wrong.
    pub fn take(&mut self, case: &str, outcome: Result<(), String>) {
        self.cases += 1;
        if let Err(problem) = outcome {
            self.failures.push(format!("{case}: {problem}"));
        }
    }

    /// Fails if any case did.
    pub fn close(self) {
        assert!(self.cases > 0, "there was no case");
        let (failed, cases) = (self.failures.len(), self.cases);
        let list = self.failures.join("\n");
        assert!(self.failures.is_empty(), "{}: {failed} of {cases} cases fail:\n{list}", self.server.name);
    }
}
