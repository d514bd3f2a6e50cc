//! Many searches at once, interleaved, so that what the machine does meanwhile hits all of them alike.
//!
//! A round gives each search that goes on one trial, in an order drawn from the seed and the round's number. Told the same it
//! asks the same, so a run that was stopped goes on by being told what it has seen.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::search::{Search, Shown};
use crate::plan::shuffle;

/// A trial that is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// Which of the searches, from 0.
    pub search: usize,
    /// The round, from 1.
    pub round: u32,
    /// The trial's number among all, from 1.
    pub number: u32,
    /// Connections.
    pub connections: u32,
}

/// Searches, and whose turn it is.
#[derive(Debug, Clone)]
pub struct Schedule {
    searches: Vec<Search>,
    seed: u64,
    round: u32,
    told: u32,
    /// Who still comes in this round, the next one last.
    waiting: Vec<usize>,
}

impl Schedule {
    /// Of searches that have not begun.
    pub fn new(searches: Vec<Search>, seed: u64) -> Self {
        let mut schedule = Self { searches, seed, round: 0, told: 0, waiting: Vec::new() };
        schedule.turn();
        schedule
    }

    /// Goes to the next search that wants a trial.
    fn turn(&mut self) {
        loop {
            while self.waiting.last().is_some_and(|search| self.searches[*search].next().is_none()) {
                self.waiting.pop();
            }
            if !self.waiting.is_empty() || self.left() == 0 {
                return;
            }
            self.round += 1;
            let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed.wrapping_add(self.round.into()));
            self.waiting = (0..self.searches.len()).collect();
            shuffle(&mut self.waiting, &mut random);
        }
    }

    /// The trial that comes next; none once all searches have ended.
    pub fn next(&self) -> Option<Asked> {
        let search = *self.waiting.last()?;
        let connections = self.searches[search].next()?;
        Some(Asked { search, round: self.round, number: self.told + 1, connections })
    }

    /// Takes what the trial that was asked for showed.
    pub fn tell(&mut self, shown: Shown) {
        if let Some(search) = self.waiting.pop() {
            self.searches[search].tell(shown);
            self.told += 1;
            self.turn();
        }
    }

    /// Searches that have not ended.
    pub fn left(&self) -> usize {
        self.searches.iter().filter(|search| search.next().is_some()).count()
    }

    /// The searches, in the order they were given.
    pub fn searches(&self) -> &[Search] {
        &self.searches
    }
}
