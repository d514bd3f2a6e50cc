//! What observes a window: resources, the server's count in the middle, and answers under load.

use std::time::Duration;

use super::{Seen, checker, steadiness};
use crate::metrics::ServerCounts;
use crate::subject::Subject;
use bench_system::probe::listen_queue::Listening;
use bench_system::probe::process_usage::CpuTime;
use bench_system::probe::resources::{Sampled, sample};
use bench_system::probe::watcher::Watcher;

/// What observes a window, each from a thread of its own.
pub(super) struct Watch {
    sampler: Option<Watcher<Sampled>>,
    question: Option<Watcher<steadiness::Counted>>,
    pub(super) checker: Option<Watcher<checker::CheckedWindow>>,
}

/// What was seen.
pub(super) struct Watched {
    pub(super) sampled: Sampled,
    pub(super) half: steadiness::Counted,
    pub(super) checked: checker::CheckedWindow,
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
        let sampler = sample(pid, at_rest, window, Listening::at(subject.target.addr()));
        let question = subject.metrics.clone().zip(counts).map(|(metrics, counts)| {
            let start = steadiness::Start { pid, metrics, counts, cpu_s: cpu.total_s() };
            steadiness::request_after(window / 2, start)
        });
        Self { sampler: Some(sampler), question, checker: None }
    }

    pub(super) fn end(self) -> Watched {
        Watched {
            sampled: self.sampler.map(Watcher::end).unwrap_or_default(),
            half: self.question.map(Watcher::end).unwrap_or_default(),
            checked: self.checker.map(Watcher::end).unwrap_or_default(),
        }
    }
}
