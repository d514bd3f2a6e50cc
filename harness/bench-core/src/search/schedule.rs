//! Many searches at once, interleaved, so that what the machine does meanwhile affects all of them alike.
//!
//! A round gives each unfinished search one trial, in an order drawn from the seed and the round's number. What comes
//! next follows from the observations alone, so a run that was stopped is resumed by replaying them.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::{Found, Judgement, Load, Search, Tested};
use crate::observation::Observation;
use crate::plan::shuffle;

/// A trial that is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextTrial {
    /// Which of the searches, from 0.
    pub search: usize,
    /// The round, from 1.
    pub round: u32,
    /// The trial's number among all, from 1.
    pub number: u32,
    /// The load.
    pub load: Load,
}

/// Searches, and whose turn it is.
#[derive(Debug)]
pub struct Schedule {
    searches: Vec<Search>,
    seed: u64,
    round: u32,
    trials: u32,
    /// Who still comes in this round, the next one last.
    waiting: Vec<usize>,
}

impl Schedule {
    /// Of searches that have not begun.
    pub fn new(searches: Vec<Search>, seed: u64) -> Self {
        let mut schedule = Self { searches, seed, round: 0, trials: 0, waiting: Vec::new() };
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
    pub fn next(&self) -> Option<NextTrial> {
        let search = *self.waiting.last()?;
        let load = self.searches[search].next()?;
        Some(NextTrial { search, round: self.round, number: self.trials + 1, load })
    }

    /// Takes what that trial showed.
    pub fn take(&mut self, judgement: Judgement) {
        if let Some(search) = self.waiting.pop() {
            self.searches[search].take(judgement);
            self.trials += 1;
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

/// Searches after the observations of a folder.
#[derive(Debug)]
pub struct Replay<'a> {
    /// The searches, and what comes next.
    pub schedule: Schedule,
    /// Each search's trials, in order.
    pub judged: Vec<Vec<Judged<'a>>>,
}

impl<'a> Replay<'a> {
    /// What each search found, with its trials.
    pub fn found(&self) -> impl Iterator<Item = (Found, &[Judged<'a>])> {
        let found = self.schedule.searches().iter().map(Search::found);
        found.zip(self.judged.iter().map(Vec::as_slice))
    }
}

/// An observation, and what it showed.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// The observation.
    pub observation: &'a Observation,
    /// What it showed.
    pub judgement: Judgement,
}

/// The trials of a search in which the server failed, at a load.
pub fn failing_at<'a>(judged: &[Judged<'a>], at: Option<Tested>) -> Vec<&'a Observation> {
    let is_there = |of: &&Judged<'_>| {
        let trial = &of.observation.trial;
        at.is_some_and(|load| load.at == trial.rate.unwrap_or(trial.connections))
    };
    let failing = judged.iter().filter(|of| of.judgement.passed() == Some(false)).filter(is_there);
    failing.map(|of| of.observation).collect()
}
