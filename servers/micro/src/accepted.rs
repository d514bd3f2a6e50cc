//! Instruction counts that were accepted, and what to say of new ones.
//!
//! A count hardly depends on the machine: the same binary executes the same instructions on another one, but for what the C
//! library chooses by the processor's features, such as how it copies memory. It does depend on the compiler, which is why the
//! file names the one that it was made with.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// The share by which a path may grow, in percent of its accepted count.
pub const TOLERANCE_PERCENT: u64 = 5;

/// Requests that each benchmark of `benches/instructions.rs` answers.
pub const REQUESTS: usize = 100;

/// Instructions for one request, by path.
pub type Counts = BTreeMap<String, u64>;

/// The file of accepted counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// What the counts were made with: `rustc --version`.
    pub rustc: String,
    /// And `valgrind --version`.
    pub valgrind: String,
    /// Instructions for one request, by path.
    pub instructions_per_request: Counts,
}

/// The comment above the counts in the file.
const HEAD: &str = "\
# Instructions for one request on each path, counted by callgrind. `just check-instructions` fails where one has grown by
# more than 5 %; `just accept-instructions` writes this file anew. A smaller count is worth accepting too, so that it is kept.

";

impl Accepted {
    /// Reads the file.
    ///
    /// # Errors
    /// It is missing, or not of this shape.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("read {}; make it with just accept-instructions", path.display()))?;
        toml::from_str(&text).with_context(|| format!("understand {}", path.display()))
    }

    /// Writes the file.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = HEAD.to_owned() + &toml::to_string(self).context("write counts as TOML")?;
        std::fs::write(path, text).with_context(|| format!("write {}", path.display()))
    }

    /// What to say of each path, those that were accepted and those that were counted now.
    pub fn compare(&self, now: &Counts) -> Vec<Finding> {
        let accepted = &self.instructions_per_request;
        let gone = accepted.keys().filter(|path| !now.contains_key(*path));
        let gone = gone.map(|path| Finding { path: path.clone(), kind: Kind::Gone });
        let counted = now.iter().map(|(path, &now)| {
            let kind = accepted.get(path).map_or(Kind::New { now }, |&before| Kind::of(before, now));
            Finding { path: path.clone(), kind }
        });
        gone.chain(counted).collect()
    }
}

/// What there is to say of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    path: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Grown { before: u64, now: u64 },
    Shrunk { before: u64, now: u64 },
    Same { before: u64, now: u64 },
    New { now: u64 },
    Gone,
}

impl Kind {
    fn of(before: u64, now: u64) -> Self {
        if now * 100 > before * (100 + TOLERANCE_PERCENT) {
            Self::Grown { before, now }
        } else if now * 100 < before * (100 - TOLERANCE_PERCENT) {
            Self::Shrunk { before, now }
        } else {
            Self::Same { before, now }
        }
    }
}

impl Finding {
    /// Whether this is no longer what was accepted, to the worse or in kind.
    pub fn fails(&self) -> bool {
        matches!(self.kind, Kind::Grown { .. } | Kind::New { .. } | Kind::Gone)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        let against = |before: u64, now: u64| {
            let percent = (now as f64 / before as f64 - 1.0) * 100.0;
            format!("{path}: {now} instructions a request, {before} accepted ({percent:+.2} %)")
        };
        match self.kind {
            Kind::Grown { before, now } => write!(out, "GREW    {}", against(before, now)),
            Kind::Shrunk { before, now } => write!(out, "shrank  {}", against(before, now)),
            Kind::Same { before, now } => write!(out, "ok      {}", against(before, now)),
            Kind::New { now } => write!(out, "NEW     {path}: {now} instructions a request, none accepted"),
            Kind::Gone => write!(out, "GONE    {path}: accepted, and no longer counted"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(counts: &[(&str, u64)]) -> Accepted {
        let instructions_per_request = counts.iter().map(|&(path, count)| (path.to_owned(), count)).collect();
        Accepted { rustc: "rustc 1".to_owned(), valgrind: "valgrind-3".to_owned(), instructions_per_request }
    }

    fn fails(before: u64, now: u64) -> bool {
        let findings = accepted(&[("a", before)]).compare(&accepted(&[("a", now)]).instructions_per_request);
        findings.iter().any(Finding::fails)
    }

    #[test]
    fn five_percent_are_let_pass_and_no_more() {
        assert!(!fails(1_000, 1_050));
        assert!(fails(1_000, 1_051));
        assert!(!fails(1_000, 100));
        assert!(fails(0, 1));
    }

    #[test]
    fn a_path_that_came_or_went_is_not_what_was_accepted() {
        let findings = accepted(&[("a", 1), ("b", 2)])
            .compare(&accepted(&[("b", 2), ("c", 3)]).instructions_per_request);
        let lines: Vec<_> = findings.iter().map(|finding| (finding.to_string(), finding.fails())).collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].0.starts_with("GONE    a") && lines[0].1, "{lines:?}");
        assert!(lines[1].0.starts_with("ok      b") && !lines[1].1, "{lines:?}");
        assert!(lines[2].0.starts_with("NEW     c") && lines[2].1, "{lines:?}");
    }

    #[test]
    fn the_file_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accepted.toml");
        let wrote = accepted(&[("actix/getBlocks of 10", 12_345)]);
        wrote.write(&path).unwrap();
        assert_eq!(Accepted::read(&path).unwrap(), wrote);
        assert!(std::fs::read_to_string(&path).unwrap().contains("just accept-instructions"));
    }
}
