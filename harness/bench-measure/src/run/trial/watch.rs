//! What observes a window: resources, answers under load, and whether it was steady: the server's own count, read once
//! at about its middle.
//!
//! That request to a port of its own costs the server some 100 µs, next to nothing in a window. On a machine that is
//! full the answer may take some milliseconds, so its time is kept with it.

use bench_core::machine::CpuTime;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use super::Seen;
use super::checker::CheckedWindow;
use crate::metrics::{self, ServerCounts};
use crate::probe::listen_queue::Listening;
use crate::probe::process_usage::{cpu_time, thread_cpu_s};
use crate::probe::resources::{Sampled, sample};
use crate::probe::watcher::Watcher;
use crate::subject::Subject;
use bench_core::observation::Half;
use bench_core::target::Target;

/// What observes a window, each from a thread of its own.
pub(super) struct Watch {
    sampler: Option<Watcher<Sampled>>,
    question: Option<Watcher<Counted>>,
    pub(super) checker: Option<Watcher<CheckedWindow>>,
}

impl Watch {
    /// With the server's process and its CPU time at the window's start, where these are known.
    pub(super) fn begin(
        subject: &Subject,
        process: Option<(Seen, CpuTime)>,
        counts: Option<ServerCounts>,
        window_ms: u64,
    ) -> Self {
        let window = Duration::from_millis(window_ms);
        let Some((Seen { pid, at_rest }, cpu)) = process else {
            return Self { sampler: None, question: None, checker: None };
        };
        let sampler = sample(pid, at_rest, window, Listening::at(&subject.target.socket()));
        let question = subject.metrics.clone().zip(counts).map(|(metrics, counts)| {
            let start = Start { pid, metrics, counts, cpu_s: cpu.total_s() };
            request_after(window / 2, start)
        });
        Self { sampler: Some(sampler), question, checker: None }
    }

    /// What each of them saw.
    pub(super) fn end(self) -> (Sampled, Counted, CheckedWindow) {
        let Self { sampler, question, checker } = self;
        let sampled = sampler.map(Watcher::end).unwrap_or_default();
        let half = question.map(Watcher::end).unwrap_or_default();
        (sampled, half, checker.map(Watcher::end).unwrap_or_default())
    }
}

/// The window's start, which the first half counts from.
struct Start {
    /// The server's process.
    pid: u32,
    /// Where its metrics are.
    metrics: Target,
    /// Its counts.
    counts: ServerCounts,
    /// Its CPU time, in seconds.
    cpu_s: f64,
}

/// The result of the request.
#[derive(Debug, Default)]
pub(super) struct Counted {
    /// The first half; `None` where the window ended before, or the server gave no count.
    pub half: Option<Half>,
    /// CPU time of the request on the harness's side, in seconds.
    pub cpu_s: Option<f64>,
}

/// Sends the request after a time, which counts from this call, unless the window ends before.
fn request_after(time: Duration, start: Start) -> Watcher<Counted> {
    let began = Instant::now();
    Watcher::start(move |ended| {
        let goes_on = ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
        let half = if goes_on { read_count(began, &start) } else { None };
        Counted { half, cpu_s: Some(thread_cpu_s()) }
    })
}

fn read_count(began: Instant, start: &Start) -> Option<Half> {
    let now = || Some((began.elapsed().as_secs_f64(), cpu_time(start.pid).ok()?.total_s()));
    let (requested_s, cpu_before_s) = now()?;
    let counts = metrics::server_counts(&start.metrics).ok()?;
    let (answered_s, cpu_after_s) = now()?;
    Some(Half {
        requests: counts.requests.saturating_sub(start.counts.requests),
        cpu_s: f64::midpoint(cpu_before_s, cpu_after_s) - start.cpu_s,
        wall_s: f64::midpoint(requested_s, answered_s),
        question_s: answered_s - requested_s,
    })
}
