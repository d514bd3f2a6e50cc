//! Many searches at once, interleaved, so that what the machine does meanwhile hits all of them alike.
//!
//! A round gives each search that goes on one trial, in an order drawn from the seed and the round's number. Told the same it
//! asks the same, so a run that was stopped goes on by being told what it has seen.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::plan::shuffle;

/// A search: asked which load comes next, told what a trial at it showed.
pub trait Searching {
    /// What it asks for.
    type Load: Copy;
    /// What it is told.
    type Shown;

    /// The load that is to be tried next; none once the search has ended.
    fn next(&self) -> Option<Self::Load>;

    /// Takes what the trial that was asked for showed.
    fn tell(&mut self, shown: Self::Shown);
}

/// A trial that is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked<L> {
    /// Which of the searches, from 0.
    pub search: usize,
    /// The round, from 1.
    pub round: u32,
    /// The trial's number among all, from 1.
    pub number: u32,
    /// What the search asks for.
    pub load: L,
}

/// Searches, and whose turn it is.
#[derive(Debug, Clone)]
pub struct Schedule<S> {
    searches: Vec<S>,
    seed: u64,
    round: u32,
    told: u32,
    /// Who still comes in this round, the next one last.
    waiting: Vec<usize>,
}

impl<S: Searching> Schedule<S> {
    /// Of searches that have not begun.
    pub fn new(searches: Vec<S>, seed: u64) -> Self {
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
    pub fn next(&self) -> Option<Asked<S::Load>> {
        let search = *self.waiting.last()?;
        let load = self.searches[search].next()?;
        Some(Asked { search, round: self.round, number: self.told + 1, load })
    }

    /// Takes what the trial that was asked for showed.
    pub fn tell(&mut self, shown: S::Shown) {
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
    pub fn searches(&self) -> &[S] {
        &self.searches
    }
}
