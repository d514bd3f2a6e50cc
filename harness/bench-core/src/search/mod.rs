//! A search along a load axis (connections, or a rate) for a criterion: ever more load until a server fails, and then
//! ever closer. Starts no process, reads no clock and draws nothing, so the same observations always lead to the same
//! loads and the same answer.
//!
//! Whether a trial passed is decided in `judge`. Which load comes next, and when the answer is settled, is a [`Rule`]:
//! `bisection` for connections, and for a rate under a service level `mlr`. All else is the same for both.

mod bisection;
mod found;
mod goal;
mod grid;
mod judge;
mod mlr;
mod plan;
mod schedule;
mod summary;

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use super::observed::disturbed;
use crate::observation::{Outcome, Sample};

pub use bisection::{Bisection, bad_to_fail};
pub use found::{Found, Tested};
pub use goal::{Class, Goal, Tried};
pub use grid::grid;
pub use judge::{Judge, Missed};
pub use mlr::{Mlr, Rules};
pub use plan::{SearchPlan, Searched};
pub use schedule::{Judged, NextTrial, Replay, Schedule, failing_at};
pub use summary::{AtHeld, NotReached, Point, Searches, Shown, read, summarize};

/// Trials in all that may show nothing before a search is given up.
const MOST_UNMEASURED: u32 = 8;

/// Trials at a load that was not reached, from which on it is not tried again.
const MOST_NOT_REACHED: u32 = 2;

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
    fn of(outcome: &Outcome, window: impl FnOnce(&Sample) -> Self) -> Self {
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
    /// No load holds, down to the lowest.
    FailsAtLowest,
    /// No load fails, up to the highest.
    HoldsToHighest,
    /// No load fails among those that were reached; higher ones were not tried.
    NotReached,
    /// The trials ran out.
    TrialsUsedUp,
    /// Too many trials showed nothing of the server.
    Unmeasured,
    /// It has not ended yet.
    Unfinished,
}

impl Ending {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Interval => "both ends were found",
            Self::FailsAtLowest => "no load holds, down to the lowest",
            Self::HoldsToHighest => "no load fails, up to the highest",
            Self::NotReached => "higher loads were not reached",
            Self::TrialsUsedUp => "trials used up",
            Self::Unmeasured => "given up because trials showed nothing",
            Self::Unfinished => "the search has not ended",
        }
    }
}

/// What is to be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Connections, or requests a second.
    pub at: u32,
    /// Whether the trial is short, and only decides where to look.
    pub is_short: bool,
}

/// What decides which load comes next, and when the answer is settled.
pub trait Rule: Debug {
    /// The load that is to be tried next; none once the answer is settled.
    fn wanted(&self) -> Option<Load>;

    /// Takes what a trial at that load showed. One that showed nothing is not given here: it is made again.
    fn take(&mut self, judgement: Judgement);

    /// How the search ended; none while the answer is not settled.
    fn settled(&self) -> Option<Ending>;

    /// What was found so far, but for how the search ended.
    fn found(&self) -> Found;
}

/// A search.
#[derive(Debug)]
pub struct Search {
    rule: Box<dyn Rule>,
    most_trials: u32,
    trials: u32,
    unmeasured: u32,
}

impl Search {
    /// A search by a rule, of at most `most_trials` trials; those that showed nothing count, too.
    pub fn by(rule: impl Rule + 'static, most_trials: u32) -> Self {
        Self { rule: Box::new(rule), most_trials, trials: 0, unmeasured: 0 }
    }

    /// The load that is to be tried next; none once the search has ended.
    pub fn next(&self) -> Option<Load> {
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
    pub fn found(&self) -> Found {
        let ending = match self.rule.settled() {
            _ if self.next().is_some() => Ending::Unfinished,
            Some(ending) => ending,
            None if self.unmeasured >= MOST_UNMEASURED => Ending::Unmeasured,
            None => Ending::TrialsUsedUp,
        };
        Found { ending, trials: self.trials, unmeasured: self.unmeasured, ..self.rule.found() }
    }
}
