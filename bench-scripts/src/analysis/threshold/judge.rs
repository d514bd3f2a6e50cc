//! What one trial showed: clean, bad, or nothing. A bad trial is one in which any request failed, or took longer than the
//! load tool's timeout.

use super::search::Shown;
use crate::observation::{Observation, Outcome, Sample};

/// Whether a request took longer than the timeout. The tool's default client has no limit on the time to connect, so such a
/// request need not have failed.
pub fn is_slow(sample: &Sample, timeout_ms: u64) -> bool {
    sample.load.latency_us.max > timeout_ms as f64 * 1e3
}

/// What a trial showed of its server. One that goes, answers wrongly or leaves the tool waiting has failed; a tool that
/// fails, or counts that don't fit, say nothing.
pub fn shown(observation: &Observation, timeout_ms: u64) -> Shown {
    match &observation.outcome {
        Outcome::Completed(sample) if sample.load.failures() == 0 && !is_slow(sample, timeout_ms) => {
            Shown::Clean
        }
        Outcome::Completed(_)
        | Outcome::NoSuccess(_)
        | Outcome::Silent(_)
        | Outcome::Unanswered { .. }
        | Outcome::ServerDied { .. }
        | Outcome::WrongAnswer { .. } => Shown::Bad,
        Outcome::ToolFailed { .. } | Outcome::Invalid { .. } => Shown::Nothing,
    }
}

/// What is wrong with a trial that is not clean, without its figures: the kinds of what failed.
pub fn complaint(observation: &Observation, timeout_ms: u64) -> Vec<String> {
    let outcome = &observation.outcome;
    let Some(sample) = outcome.evidence() else {
        return outcome.failure().into_iter().collect();
    };
    let mut kinds: Vec<String> = sample.load.failed.keys().cloned().collect();
    if is_slow(sample, timeout_ms) {
        kinds.push("slower than the timeout".to_owned());
    }
    kinds
}
