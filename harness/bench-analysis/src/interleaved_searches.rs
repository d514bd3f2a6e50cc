//! Many searches at once, interleaved, so that what the machine does meanwhile affects all of them alike.
//!
//! A round gives each unfinished search one trial, in an order drawn from the seed and the round's number. What comes
//! next follows from the observations alone, so a run that was stopped is resumed by replaying them.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::observed::counts;
use super::search::{Judgement, Rule, Search};
use bench_model::observation::Observation;
use bench_model::plan::{Trial, shuffle};

/// A trial that is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextTrial<L> {
    /// Which of the searches, from 0.
    pub search: usize,
    /// The round, from 1.
    pub round: u32,
    /// The trial's number among all, from 1.
    pub number: u32,
    /// The load.
    pub load: L,
}

/// Searches, and whose turn it is.
#[derive(Debug, Clone)]
pub struct Schedule<R> {
    searches: Vec<Search<R>>,
    seed: u64,
    round: u32,
    trials: u32,
    /// Who still comes in this round, the next one last.
    waiting: Vec<usize>,
}

impl<R: Rule> Schedule<R> {
    /// Of searches that have not begun.
    pub fn new(searches: Vec<Search<R>>, seed: u64) -> Self {
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
    pub fn next(&self) -> Option<NextTrial<R::Load>> {
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
    pub fn searches(&self) -> &[Search<R>] {
        &self.searches
    }
}

/// All searches of a run, as the file in their folder has them.
pub trait Searches {
    /// What decides which load comes next.
    type Rule: Rule;

    /// The searches before their first trial.
    fn schedule(&self) -> Schedule<Self::Rule>;

    /// The trial that a search wants.
    fn trial(&self, next: NextTrial<<Self::Rule as Rule>::Load>) -> Trial;

    /// What a trial showed of its server.
    fn judgement(&self, observation: &Observation) -> Judgement;

    /// What is wrong with a trial that did not pass, by kind and without figures.
    fn complaints(&self, observation: &Observation) -> Vec<String>;

    /// The searches after these observations.
    ///
    /// # Errors
    /// They are not of the trials that the searches want.
    fn replay<'a>(&self, observations: &'a [Observation]) -> Result<Replay<'a, Self::Rule>> {
        let mut schedule = self.schedule();
        let mut judged = vec![Vec::new(); schedule.searches().len()];
        for observation in observations {
            let trial = &observation.trial;
            let next = schedule.next().filter(|next| self.trial(*next) == *trial);
            let next =
                next.with_context(|| format!("trial {} is not the next one of its search", trial.number))?;
            let judgement = self.judgement(observation);
            judged[next.search].push(Judged { observation, judgement });
            schedule.take(judgement);
        }
        Ok(Replay { schedule, judged })
    }

    /// What is wrong with trials that did not pass: by kind, how many of them have it.
    fn complaints_of(&self, wrong: &[&Observation]) -> BTreeMap<String, u32> {
        counts(wrong.iter().flat_map(|observation| self.complaints(observation)))
    }
}

/// Searches after the observations of a folder.
#[derive(Debug)]
pub struct Replay<'a, R> {
    /// The searches, and what comes next.
    pub schedule: Schedule<R>,
    /// Each search's trials, in order.
    pub judged: Vec<Vec<Judged<'a>>>,
}

impl<'a, R: Rule> Replay<'a, R> {
    /// What each search found, with its trials.
    pub fn found(&self) -> impl Iterator<Item = (R::Found, &[Judged<'a>])> {
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

/// The trials in which the server failed, at a load.
pub fn failing<'a>(judged: &[Judged<'a>], is_there: impl Fn(&Trial) -> bool) -> Vec<&'a Observation> {
    let of_failing = judged.iter().filter(|of| of.judgement.passed() == Some(false));
    of_failing.map(|of| of.observation).filter(|observation| is_there(&observation.trial)).collect()
}

/// The trials to explain: those that fail, or where there is none those that showed nothing.
pub fn to_explain<'a>(judged: &[Judged<'a>], failing: &[&'a Observation]) -> Vec<&'a Observation> {
    if !failing.is_empty() {
        return failing.to_vec();
    }
    let of_nothing = judged.iter().filter(|of| of.judgement == Judgement::Nothing);
    of_nothing.map(|of| of.observation).collect()
}
