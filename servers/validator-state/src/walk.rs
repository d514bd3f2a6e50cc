//! A simulated block store: the time that reading slots from a store takes, spent on the calling thread.
//!
//! A node reads each slot of a getBlocks answer from its block store, on the thread that answers; here the slots are in memory
//! and cost next to nothing. Out of scope: what a store does besides taking time, such as waiting for a disk or filling caches.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use crate::error::RpcError;
use crate::methods::Answer;
use crate::state::State;

/// The most time between two readings of the clock that counts as work. Two readings are well below a microsecond apart; after
/// a longer gap the thread had not been running, and other processes' time is no work of this one.
const LONGEST_STEP: Duration = Duration::from_micros(5);

impl State {
    /// The same node, whose calling thread is kept busy for that many nanoseconds for each slot of an answer with blocks.
    #[must_use]
    pub fn with_simulated_walk(mut self, ns_per_slot: Option<NonZeroU64>) -> Self {
        self.walk_ns_per_slot = ns_per_slot;
        self
    }

    /// The answer, after the time that its slots take where that is simulated.
    #[inline]
    pub(crate) fn walked(&self, answer: Result<Answer, RpcError>) -> Result<Answer, RpcError> {
        if let (Some(ns_per_slot), Ok(Answer::Blocks(slots))) = (self.walk_ns_per_slot, &answer) {
            simulate(ns_per_slot, slots.len() as u64);
        }
        answer
    }
}

/// Keeps the calling thread busy for `ns_per_slot` nanoseconds for each of `slots`. Time in which the thread does not run is not
/// counted.
#[cold]
#[inline(never)]
fn simulate(ns_per_slot: NonZeroU64, slots: u64) {
    let mut left = Duration::from_nanos(ns_per_slot.get().saturating_mul(slots));
    let mut before = Instant::now();
    while !left.is_zero() {
        let now = Instant::now();
        left = left.saturating_sub(now.duration_since(before).min(LONGEST_STEP));
        before = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ledger, Method, Params, SeededSpec};

    #[test]
    fn an_answer_is_the_same_and_takes_its_slots_time() {
        let state = || State::new(Ledger::seeded(&SeededSpec { accounts: 1, slots: 3_000, seed: 1 }));
        let blocks = |state: &State, params| {
            let began = Instant::now();
            let answer = state.call(Method::GetBlocks, Params::Raw(params)).unwrap();
            let Answer::Blocks(slots) = answer else { panic!("{answer:?}") };
            (slots, began.elapsed())
        };
        let walking = state().with_simulated_walk(NonZeroU64::new(2_000));
        let (slots, took) = blocks(&walking, "[0, 1000000]");
        assert!(slots.len() > 2_000 && took >= Duration::from_nanos(2_000 * slots.len() as u64), "{took:?}");
        assert_eq!(slots, blocks(&state(), "[0, 1000000]").0);
    }

    #[test]
    fn a_walk_takes_at_least_its_time_for_each_slot() {
        let took = |slots: u64| {
            let began = Instant::now();
            simulate(NonZeroU64::new(1_000).unwrap(), slots);
            began.elapsed()
        };
        assert!(took(2_000) >= Duration::from_millis(2));
        // The quickest of several, so that a busy machine does not decide.
        let quickest = |slots: u64| (0..20).map(|_| took(slots)).min().unwrap();
        assert!(quickest(0) * 10 < quickest(1_000), "no slots, no walk");
    }
}
