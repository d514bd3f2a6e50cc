//! A server's resources through the window: what it used and held, at moments some 100 ms apart.
//!
//! A thread of the harness reads them, and keeps its own cost in bounds: files of `/proc` stay open, and after a
//! reading that took long it rests longer. Totals are out of scope: `process_usage` reads them at the window's ends.

use bench_core::machine::ResourceSample;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::listen_queue::Listening;
use super::proc_reader::{Reader, open_files};
use super::process_usage::thread_cpu_s;
use super::watcher::Watcher;
use crate::interrupt::Interrupt;
use bench_core::machine::counted;

/// What a server holds when it is ready, before any load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtRest {
    /// Memory (resident), in bytes.
    pub memory_bytes: Option<u64>,
    /// Open files.
    pub open_files: Option<u64>,
}

impl AtRest {
    /// Reads them.
    ///
    /// # Errors
    /// The process is gone.
    pub fn read(pid: u32) -> Result<Self> {
        let now = Reader::new(pid).and_then(|mut reader| reader.read());
        let now = now.with_context(|| format!("process {pid} is gone"))?;
        Ok(Self { memory_bytes: now.memory_bytes, open_files: now.open_files })
    }
}

/// Connections that a server holds: its open files beyond those at rest. `None` where they can't be read.
pub fn held(pid: u32, at_rest: AtRest) -> Option<u64> {
    Some(open_files(pid)?.saturating_sub(at_rest.open_files?))
}

/// How long a server may take to close connections.
const SETTLING: Duration = Duration::from_secs(1);

/// A server that closes none for this long keeps what it has open: long, since on a busy machine it may not have run.
const UNCHANGED: Duration = Duration::from_millis(500);

/// The usual time between two readings.
const INTERVAL: Duration = Duration::from_millis(100);
/// Readings in a window: at least these, so that a short one has a course too, and at most these, so that lines stay
/// short.
const READINGS: std::ops::RangeInclusive<u32> = 5..=20;
/// A window of a minute or longer may have more: its course is what it is measured for.
const LONG: (Duration, u32) = (Duration::from_secs(60), 240);
/// What readings may cost: this share of one processor's time.
const BUDGET: f64 = 0.004;

/// What was read of a server in a window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sampled {
    /// Oldest first.
    pub resources: Vec<ResourceSample>,
    /// CPU time of the reading itself, in seconds.
    pub cpu_s: Option<f64>,
}

impl Sampled {
    /// The most connections at one time: open files beyond those at rest.
    pub fn most_open_files(&self) -> Option<u64> {
        self.resources.iter().filter_map(|sample| sample.open_files).max()
    }
}

/// Starts reading a process, of which is known what it held at rest, for a window that will take about `window`; and
/// the queue of those who wait to be accepted, where it can be read. Time counts from this call. It reads once more
/// when it is ended.
pub fn sample(pid: u32, at_rest: AtRest, window: Duration, listening: Option<Listening>) -> Watcher<Sampled> {
    // The first reading, which opens files and finds threads, is made before the window.
    let reader = Reader::new(pid);
    let first = reader.and_then(|mut reader| Some((reader.read()?, reader)));
    let most = if window >= LONG.0 { LONG.1 } else { *READINGS.end() };
    let interval = INTERVAL.min(window / *READINGS.start()).max(window / most);
    let began = Instant::now();
    Watcher::start(move |ended| {
        let Some((first, mut reader)) = first else { return Sampled::default() };
        let mut resources = Vec::new();
        let mut next = interval;
        loop {
            let left = next.saturating_sub(began.elapsed());
            let last = !matches!(ended.recv_timeout(left), Err(RecvTimeoutError::Timeout));
            let before = thread_cpu_s();
            let Some(now) = reader.read() else { break };
            // After it, so that a reading that says it lies within the window does.
            let t_ms = began.elapsed().as_millis() as u64;
            let waiting = listening.as_ref().and_then(|queue| Some(queue.read()?.waiting));
            resources.push(ResourceSample { listen_waiting: waiting, ..since(&now, &first, at_rest, t_ms) });
            if last {
                break;
            }
            let cost_s = thread_cpu_s() - before;
            let rested = began.elapsed() + Duration::from_secs_f64(cost_s / BUDGET);
            while next < rested {
                next += interval;
            }
        }
        Sampled { resources, cpu_s: Some(thread_cpu_s()) }
    })
}

/// Waits until a process has closed the connections of an earlier client, so that they are not taken for others: until
/// `open`, which counts them, becomes 0 or does not become less for half a second.
///
/// # Errors
/// An interrupt.
pub fn settle(interrupt: &Interrupt, open: impl Fn() -> Option<u64>) -> Result<()> {
    let (mut least, mut changed) = (u64::MAX, Instant::now());
    interrupt.wait(SETTLING, || {
        // A server that has ended meanwhile is found by whoever measures it.
        let open = open().unwrap_or(0);
        if open < least {
            (least, changed) = (open, Instant::now());
        }
        Ok((open == 0 || changed.elapsed() >= UNCHANGED).then_some(()))
    })?;
    Ok(())
}

fn since(now: &ResourceSample, first: &ResourceSample, at_rest: AtRest, t_ms: u64) -> ResourceSample {
    ResourceSample {
        t_ms,
        user_us: counted(now.user_us, first.user_us),
        system_us: counted(now.system_us, first.system_us),
        voluntary_switches: counted(now.voluntary_switches, first.voluntary_switches),
        involuntary_switches: counted(now.involuntary_switches, first.involuntary_switches),
        run_delay_us: counted(now.run_delay_us, first.run_delay_us),
        open_files: counted(now.open_files, at_rest.open_files),
        ..*now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_gone_gives_nothing() {
        let gone = u32::MAX / 4;
        assert!(AtRest::read(gone).unwrap_err().to_string().contains("gone"));
        let at_rest = AtRest { memory_bytes: None, open_files: None };
        assert_eq!(sample(gone, at_rest, Duration::from_secs(1), None).end(), Sampled::default());
    }

    #[test]
    fn what_the_machine_lacks_is_left_out() {
        let none = ResourceSample::default();
        let some = ResourceSample { run_delay_us: Some(7), memory_bytes: Some(9), ..none };
        let at_rest = AtRest { memory_bytes: None, open_files: None };
        let sample = since(&some, &none, at_rest, 3);
        assert_eq!(sample, ResourceSample { t_ms: 3, memory_bytes: Some(9), ..none });
        assert_eq!(serde_json::to_string(&sample).unwrap(), r#"{"t_ms":3,"memory_bytes":9}"#);
    }
}
