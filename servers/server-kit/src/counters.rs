//! Counts of the calls that methods answered, cheap enough for the hottest path: each thread adds to a slot of its own.
//!
//! Every server counts a call once, where its method has answered and before the answer leaves. What reaches no method, such
//! as an unknown name or a body that is not JSON, is the framework's to answer and is not counted. So this is also where a call pays the
//! handicap, in a build that has one.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

#[cfg(feature = "handicap")]
use crate::handicap;

/// More than the threads that a server here runs; beyond it two threads share a slot, which is slower and still right.
const SLOTS: usize = 128;

/// The counts of one thread. Two cache lines, since some processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Slot {
    answered: AtomicU64,
    errors: AtomicU64,
}

/// Counts of the calls that methods answered. A copy counts into the same totals.
#[derive(Debug, Clone, Copy)]
pub struct Counters {
    /// For the life of the process, so that handing it to a request touches no count of references that threads share.
    slots: &'static [Slot; SLOTS],
    #[cfg(feature = "handicap")]
    handicap_rounds: u32,
}

/// What was counted so far, over all threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Calls that a method answered, with a result or an error.
    pub answered: u64,
    /// Those of them that were answered with a JSON-RPC error.
    pub errors: u64,
}

static NEXT_SLOT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SLOT: usize = NEXT_SLOT.fetch_add(1, Ordering::Relaxed) % SLOTS;
}

/// Which of `slots` places the calling thread counts in.
#[inline]
pub(crate) fn place_of_thread(slots: usize) -> usize {
    SLOT.with(|slot| *slot) % slots
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            slots: Box::leak(Box::new(std::array::from_fn(|_| Slot::default()))),
            #[cfg(feature = "handicap")]
            handicap_rounds: 0,
        }
    }
}

impl Counters {
    /// The same counts, for calls that each pay a handicap of `handicap_rounds`.
    #[cfg(feature = "handicap")]
    pub(crate) fn handicapped(self, handicap_rounds: u32) -> Self {
        Self { handicap_rounds, ..self }
    }

    /// Counts calls that were answered, and how many of them with a JSON-RPC error.
    #[inline]
    #[allow(clippy::indexing_slicing, reason = "SLOT is a remainder of SLOTS, the array's length")]
    pub fn count(&self, answered: u64, errors: u64) {
        #[cfg(feature = "handicap")]
        handicap::pay(self.handicap_rounds, answered);
        let slot = &self.slots[SLOT.with(|slot| *slot)];
        slot.answered.fetch_add(answered, Ordering::Relaxed);
        if errors > 0 {
            slot.errors.fetch_add(errors, Ordering::Relaxed);
        }
    }

    /// The sums over all threads. Exact once the counting threads rest.
    pub fn totals(&self) -> Totals {
        self.slots.iter().fold(Totals::default(), |sum, slot| Totals {
            answered: sum.answered + slot.answered.load(Ordering::Relaxed),
            errors: sum.errors + slot.errors.load(Ordering::Relaxed),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_summed_over_more_threads_than_slots() {
        let counters = Counters::default();
        std::thread::scope(|scope| {
            for thread in 0..2 * SLOTS as u64 {
                scope.spawn(move || {
                    for _ in 0..100 {
                        counters.count(2, thread % 2);
                    }
                });
            }
        });
        let expected = Totals { answered: 2 * 100 * 2 * SLOTS as u64, errors: 100 * SLOTS as u64 };
        assert_eq!(counters.totals(), expected);
    }

    #[test]
    fn two_threads_count_into_different_cache_lines() {
        assert!(std::mem::size_of::<Slot>() >= 128);
        let mine = SLOT.with(|slot| *slot);
        let other = std::thread::spawn(|| SLOT.with(|slot| *slot)).join().unwrap();
        assert_ne!(mine, other);
    }
}
