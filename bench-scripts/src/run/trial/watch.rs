//! What observes a window: resources, the server's count in the middle, and answers under load.

use std::time::Duration;

use super::checker::{self, Checker};
use super::{Seen, half};
use crate::http::ServerCounts;
use crate::probe::listen::Listening;
use crate::probe::process::CpuTime;
use crate::probe::resources::{Sampled, Sampler};
use crate::subject::Subject;

/// What observes a window, each from a thread of its own.
pub(super) struct Watch {
    sampler: Option<Sampler>,
    question: Option<half::Question>,
    pub(super) checker: Option<Checker>,
}

/// What was seen.
pub(super) struct Watched {
    pub(super) sampled: Sampled,
    pub(super) half: half::Counted,
    pub(super) checked: checker::Found,
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
        let sampler = Sampler::start(pid, at_rest, window, Listening::at(subject.target.addr()));
        let question = subject.metrics.clone().zip(counts).map(|(metrics, counts)| {
            half::ask_after(window / 2, half::Start { pid, metrics, counts, cpu_s: cpu.total_s() })
        });
        Self { sampler: Some(sampler), question, checker: None }
    }

    pub(super) fn end(self) -> Watched {
        Watched {
            sampled: self.sampler.map(Sampler::stop).unwrap_or_default(),
            half: self.question.map(half::Question::answer).unwrap_or_default(),
            checked: self.checker.map(Checker::end).unwrap_or_default(),
        }
    }
}
