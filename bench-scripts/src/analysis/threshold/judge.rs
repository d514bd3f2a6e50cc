//! What one trial showed: pass, fail, or nothing. A trial fails where any request is bad: it failed, or took longer than the load
//! tool's timeout. One that did not pass while the machine was busy with something else shows nothing.

use super::search::Shown;
use crate::analysis::observed::{disturbed, invalid};
use crate::observation::{Observation, Outcome};

/// What a trial showed of its server. One that goes, answers wrongly or leaves the tool waiting has failed; a tool that
/// fails, or counts that don't fit, say nothing. A bad request is one however many connections were held; a trial without any
/// is a pass only where they were held. A neighbour that takes CPU time can make a server fail and can't make it pass.
pub fn shown(observation: &Observation, timeout_ms: u64) -> Shown {
    match &observation.outcome {
        Outcome::Completed(sample) if sample.load.bad(timeout_ms) == 0 => Shown::Pass,
        outcome if disturbed(outcome) => Shown::Nothing,
        Outcome::NotHeld(sample) if sample.load.bad(timeout_ms) == 0 => Shown::NotHeld,
        Outcome::Completed(_)
        | Outcome::NotHeld(_)
        | Outcome::NoSuccess(_)
        | Outcome::Silent(_)
        | Outcome::Unanswered { .. }
        | Outcome::ServerDied { .. }
        | Outcome::WrongAnswer { .. } => Shown::Fail,
        Outcome::ToolFailed { .. } | Outcome::Invalid { .. } => Shown::Nothing,
    }
}

/// What is wrong with a trial that did not pass, without its figures: the kinds of what failed.
pub fn complaint(observation: &Observation, timeout_ms: u64) -> Vec<String> {
    let outcome = &observation.outcome;
    let Some(sample) = outcome.evidence() else {
        return outcome.failure().into_iter().collect();
    };
    if let Some(lost) = invalid(sample) {
        return vec![lost.words().to_owned()];
    }
    let mut kinds: Vec<String> = sample.load.failed.keys().cloned().collect();
    if sample.load.slower_than(timeout_ms as f64 * 1e3) > 0 {
        kinds.push("slower than the timeout".to_owned());
    }
    if sample.short_of().is_some() {
        kinds.push("connections not held".to_owned());
    }
    if kinds.is_empty() {
        kinds.extend(outcome.failure());
    }
    kinds
}
