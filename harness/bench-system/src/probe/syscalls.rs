//! Counting another process's calls of the kernel: `strace -c`, or `perf trace -s` where there is no strace. Each call
//! under strace stops the process twice, so nothing that is counted this way is timed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::host::on_path;

/// What to do where neither program is there.
pub const INSTALL: &str =
    "neither strace nor perf is on the PATH; install one, such as with: apt install strace";

/// Calls that send an answer.
const SENDING: [&str; 5] = ["write", "writev", "sendto", "sendmsg", "sendmmsg"];

/// The share of answers whose sending must have been seen.
const NEARLY_ALL: f64 = 0.98;

/// A program that counts system calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracer {
    /// strace 5 or newer.
    Strace,
    /// perf, with the rights to trace.
    Perf,
}

impl Tracer {
    /// The first one that is on the `PATH`, and where it is.
    pub fn find() -> Option<(Self, PathBuf)> {
        let found = |tracer: Self| Some((tracer, on_path(tracer.program())?));
        [Self::Strace, Self::Perf].into_iter().find_map(found)
    }

    /// Its name.
    pub fn program(self) -> &'static str {
        self.command().split(' ').next().unwrap_or_default()
    }

    /// As a reader should know it.
    pub const fn command(self) -> &'static str {
        match self {
            Self::Strace => "strace -f -c",
            Self::Perf => "perf trace -s",
        }
    }

    /// The arguments that count what a process and its threads call until SIGINT, and then write a summary to `output`.
    pub fn arguments(self, pid: u32, output: &Path) -> Vec<String> {
        let (output, pid) = (output.display().to_string(), pid.to_string());
        let own = self.command().split(' ').skip(1);
        own.chain(["-o", &output, "-p", &pid]).map(str::to_owned).collect()
    }

    /// Whether the tracer, of which are given the process and what it printed on standard error, counts now. strace
    /// says so; perf says nothing, but has opened its counters.
    pub fn is_attached(self, tracer_pid: u32, said: &str) -> bool {
        match self {
            Self::Strace => said.contains(" attached"),
            Self::Perf => holds_counters(tracer_pid),
        }
    }

    /// Whether it may have missed calls while `requests` answers were sent: perf drops what it can't keep up with. A
    /// server sends each answer by a call of its own; one that does not can't be distinguished from one whose calls
    /// were missed.
    pub fn missed(self, calls: &BTreeMap<String, u64>, requests: u64) -> bool {
        let sends: u64 = SENDING.iter().filter_map(|name| calls.get(*name)).sum();
        self == Self::Perf && (sends as f64) < NEARLY_ALL * requests as f64
    }

    /// Reads its summary: calls by name.
    ///
    /// # Errors
    /// It is not such a summary, or an empty one.
    pub fn parse(self, text: &str) -> Result<BTreeMap<String, u64>> {
        match self {
            Self::Strace => parse_strace(text),
            Self::Perf => parse_perf(text),
        }
    }
}

/// Whether a process has an event of the kernel's open.
fn holds_counters(pid: u32) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    files
        .filter_map(|file| fs::read_link(file.ok()?.path()).ok())
        .any(|target| target.to_string_lossy().contains("perf_event"))
}

/// `% time     seconds  usecs/call     calls    errors syscall` and, between two rules, a line a call; the error count
/// may be blank. The total after the second rule is compared with the sum.
fn parse_strace(text: &str) -> Result<BTreeMap<String, u64>> {
    let header = text.lines().next().is_some_and(|line| line.starts_with("% time"));
    ensure!(header, "strace's summary does not begin with its header");
    let row = |line: &str| -> Option<(String, u64)> {
        let words: Vec<&str> = line.split_whitespace().collect();
        Some(((*words.last()?).to_owned(), words.get(3)?.parse().ok()?))
    };
    let lines: Vec<&str> = text.lines().collect();
    let mut parts = lines.split(|line| line.starts_with("------")).skip(1);
    let rows = parts.next().context("strace's summary has no rows")?;
    let total = parts.next().and_then(|part| part.iter().find_map(|line| row(line)));
    let calls: BTreeMap<String, u64> = rows.iter().filter_map(|line| row(line)).collect();
    let (_, total) = total.filter(|(name, _)| name == "total").context("strace's summary has no total")?;
    let sum: u64 = calls.values().sum();
    ensure!(sum == total, "strace's rows sum to {sum} calls, its total says {total}");
    Ok(calls)
}

/// A table a thread: `   syscall            calls  errors  total …`, a line of units, a rule, a line a call, a blank
/// line.
fn parse_perf(text: &str) -> Result<BTreeMap<String, u64>> {
    let mut calls = BTreeMap::new();
    let mut inside = false;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [rule, ..] if rule.starts_with("---") => inside = true,
            [name, count, ..] if inside => {
                let count: u64 = count
                    .parse()
                    .with_context(|| format!("perf trace's row has no count of calls: {line:?}"))?;
                *calls.entry((*name).to_owned()).or_insert(0) += count;
            }
            _ => inside = false,
        }
    }
    ensure!(!calls.is_empty(), "perf trace's summary has no rows");
    Ok(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRACE: &str = include_str!("../../tests/fixtures/strace-6.1-summary.txt");
    const PERF: &str = include_str!("../../tests/fixtures/perf-trace-summary.txt");

    #[test]
    fn strace_summaries_are_read() {
        let calls = Tracer::Strace.parse(STRACE).unwrap();
        assert_eq!((calls["newfstatat"], calls["vfork"], calls["rseq"]), (63, 2, 3));
        assert_eq!((calls.len(), calls.values().sum::<u64>()), (34, 341));
    }

    #[test]
    fn perf_s_tables_of_all_threads_are_summed() {
        let calls = Tracer::Perf.parse(PERF).unwrap();
        assert_eq!((calls["write"], calls["clock_nanosleep"], calls["munmap"]), (5, 7, 5));
    }

    #[test]
    fn other_text_is_an_error_and_not_a_zero() {
        for tracer in [Tracer::Strace, Tracer::Perf] {
            for text in ["", "strace: attach: ptrace(PTRACE_SEIZE, 1): Operation not permitted\n"] {
                assert!(tracer.parse(text).is_err(), "{text}");
            }
        }
        assert!(Tracer::Strace.parse(&STRACE.replace("       341", "       342")).is_err());
        assert!(Tracer::Strace.parse(STRACE.split("\n------ ").next().unwrap()).is_err());
    }

    #[test]
    fn a_tracer_counts_once_it_is_attached() {
        let own = std::process::id();
        assert!(!Tracer::Strace.is_attached(own, "strace: "));
        assert!(Tracer::Strace.is_attached(own, "strace: Process 7 attached with 4 threads\n"));
        assert!(!Tracer::Perf.is_attached(own, ""));
    }

    #[test]
    fn a_perf_that_saw_too_few_answers_missed_some() {
        let calls = BTreeMap::from([("write".to_owned(), 900), ("futex".to_owned(), 5_000)]);
        assert!(Tracer::Perf.missed(&calls, 1_000) && !Tracer::Perf.missed(&calls, 910));
        assert!(!Tracer::Strace.missed(&calls, 1_000));
    }
}
