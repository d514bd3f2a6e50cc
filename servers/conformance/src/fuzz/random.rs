//! The one source of chance: a generator seeded with the run's seed and the case's number.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Draws of one case.
#[derive(Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The draws of the case of that number.
    pub fn new(seed: u64, number: u64) -> Self {
        // The multiplier (2^64 over the golden ratio) keeps neighbouring numbers apart.
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `end`, which is at least 1.
    pub fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }

    /// True once in `count` draws.
    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// One of some words with a space between.
    pub fn word<'a>(&mut self, words: &'a str) -> &'a str {
        self.pick(&words.split(' ').collect::<Vec<_>>())
    }

    /// One of a list that is not empty.
    pub fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}
