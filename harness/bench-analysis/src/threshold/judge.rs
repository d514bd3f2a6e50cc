//! What one trial showed of its server. It fails where any request is bad: it failed, or took longer than the load
//! tool's timeout. One in which the connections were not held is not one at that count.

use crate::observed::{disturbed, invalid};
use crate::search::Judgement;
use bench_model::observation::{Observation, Outcome, Sample};

/// What a trial showed of its server. A bad request is one however many connections were held; a trial without any
/// passes only where they were held.
pub fn judgement(observation: &Observation, timeout_ms: u64) -> Judgement {
    let has_bad = |sample: &Sample| sample.load.bad(timeout_ms) > 0;
    match &observation.outcome {
        Outcome::NotHeld(sample) if !has_bad(sample) && !disturbed(&observation.outcome) => {
            Judgement::NotReached
        }
        outcome => {
            Judgement::of(outcome, |sample| if has_bad(sample) { Judgement::FAIL } else { Judgement::PASS })
        }
    }
}

/// What is wrong with a trial that did not pass, without its figures: the kinds of what failed.
pub(super) fn complaints(observation: &Observation, timeout_ms: u64) -> Vec<String> {
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
