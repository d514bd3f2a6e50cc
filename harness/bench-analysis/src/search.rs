//! One search for the load from which a server fails: more and more load until it does, and then ever closer. A load is
//! a connection count (`threshold`) or a rate (`slo`). Which load comes next, and when the answer is settled, is the
//! [`Rule`] of each.
//!
//! A pure state machine: it starts no process, reads no clock and draws nothing, so the same judgements lead to the
//! same loads.

use serde::{Deserialize, Serialize};

use super::observed::disturbed;
use bench_model::observation::{Outcome, Sample};

/// Trials in all that may show nothing before a search is given up.
const MOST_UNMEASURED: u32 = 8;

/// What a trial showed of its server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Judgement {
    /// Whether the server did what is demanded of it.
    Measured {
        /// Whether it did.
        passed: bool,
        /// The share of the requests that failed or were too late, from 0 to 1. That of a trial that passed need not be
        /// 0.
        missed: f64,
    },
    /// The load was not reached, and the server is not to blame: connections were not held, or the load tool could not
    /// send.
    NotReached,
    /// Nothing: the load tool failed, the machine was busy with something else, or what was counted does not fit
    /// together.
    Nothing,
}

impl Judgement {
    /// Every request was answered in time.
    pub const PASS: Self = Self::Measured { passed: true, missed: 0.0 };

    /// The trial failed, in all of its requests as far as is known.
    pub const FAIL: Self = Self::Measured { passed: false, missed: 1.0 };

    /// What the outcome of a trial shows, where `window` judges one that was measured. A server that ends, answers
    /// wrongly or leaves the tool waiting has failed; a tool that fails, and counts that do not fit, show nothing.
    /// Neither does a trial that did not pass while the machine was busy with something else: that can make a server
    /// fail, and can't make it pass.
    pub fn of(outcome: &Outcome, window: impl FnOnce(&Sample) -> Self) -> Self {
        let judgement = match outcome {
            Outcome::Completed(sample) => window(sample),
            Outcome::ToolFailed { .. } | Outcome::Invalid { .. } => Self::Nothing,
            _ => Self::FAIL,
        };
        if judgement.passed() != Some(true) && disturbed(outcome) { Self::Nothing } else { judgement }
    }

    /// Whether the server did what is demanded of it; `None` where the trial does not show that.
    pub const fn passed(self) -> Option<bool> {
        match self {
            Self::Measured { passed, .. } => Some(passed),
            Self::NotReached | Self::Nothing => None,
        }
    }
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Both ends of the answer were found.
    Interval,
    /// No load passes, down to the lowest.
    FailsAtLowest,
    /// No load fails, up to the highest.
    HoldsToHighest,
    /// No connection count fails among those that could be held; higher ones were not tried.
    NotHeld,
    /// The load tool reached no higher rate.
    ToolCeiling,
    /// The trials of a search for a connection count ran out.
    Unsettled,
    /// The trials of a search for a rate ran out.
    TrialsUsedUp,
    /// Too many trials showed nothing of the server.
    Unmeasured,
    /// It has not ended yet.
    Unfinished,
}

/// What decides which load comes next, and when the answer is settled.
pub trait Rule {
    /// A load.
    type Load: Copy;
    /// What a search finds.
    type Found;
    /// How a search has ended that is not settled when its trials run out.
    const OUT_OF_TRIALS: Ending;

    /// The load that is to be tried next; none once the answer is settled.
    fn wanted(&self) -> Option<Self::Load>;

    /// Takes what a trial at that load showed. One that showed nothing is not given here: it is made again.
    fn take(&mut self, judgement: Judgement);

    /// How the search ended; none while the answer is not settled.
    fn settled(&self) -> Option<Ending>;

    /// What was found so far, in `trials` of which `unmeasured` showed nothing of the server.
    fn found(&self, ending: Ending, trials: u32, unmeasured: u32) -> Self::Found;
}

/// A search.
#[derive(Debug, Clone)]
pub struct Search<R> {
    rule: R,
    most_trials: u32,
    trials: u32,
    unmeasured: u32,
}

impl<R: Rule> Search<R> {
    /// A search by a rule, of at most `most_trials` trials; those that showed nothing count, too.
    pub const fn by(rule: R, most_trials: u32) -> Self {
        Self { rule, most_trials, trials: 0, unmeasured: 0 }
    }

    /// The load that is to be tried next; none once the search has ended.
    pub fn next(&self) -> Option<R::Load> {
        let is_over = self.trials >= self.most_trials || self.unmeasured >= MOST_UNMEASURED;
        if is_over { None } else { self.rule.wanted() }
    }

    /// Takes what the trial at the next load showed. Once the search has ended there is no such trial.
    pub fn take(&mut self, judgement: Judgement) {
        if self.next().is_none() {
            return;
        }
        self.trials += 1;
        match judgement {
            Judgement::Nothing => self.unmeasured += 1,
            judgement => self.rule.take(judgement),
        }
    }

    /// What was found so far.
    pub fn found(&self) -> R::Found {
        let ending = match self.rule.settled() {
            _ if self.next().is_some() => Ending::Unfinished,
            Some(ending) => ending,
            None if self.unmeasured >= MOST_UNMEASURED => Ending::Unmeasured,
            None => R::OUT_OF_TRIALS,
        };
        self.rule.found(ending, self.trials, self.unmeasured)
    }
}
