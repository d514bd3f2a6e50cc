//! The rule of a search along a rate, under a service level, after MLRsearch (RFC 9971). What the RFC calls the loss ratio
//! of a trial is here the share of its requests that missed the level: those that failed and those that were too late.
//!
//! It goes through two goals of RFC 9971. The first is coarse: one short trial decides a rate. It climbs from the
//! lowest rate by doubling until one fails, and halves the gap down to two steps of the grid. The second is the
//! campaign's goal: it tries both ends of the first answer again, the lower one first, and moves an end that is not
//! confirmed away, by growing steps. A rate is tried until its trials decide it. The relevant upper bound is the lowest
//! rate that is not sustained; the relevant lower bound is the highest sustained one *below* it, so that a rate that
//! passes above one that fails (loss inversion) never counts, and is reported.
//!
//! A trial in which the load tool was the limit shows nothing of the server. Two at a rate end the search there.

use super::goal::{Class, Goal, Tried};
use super::grid::{doubling, place_of};
use super::{Ending, Found, Judgement, Load, MOST_NOT_REACHED, Rule, Tested};

/// How far apart the ends of the coarse stage may stay, in steps of the grid.
const COARSE: usize = 2;

/// How finely, and what must be seen of a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Goal Width: how far the lower bound may lie below the upper one, as a share of the upper one, above 0 and below
    /// 1.
    pub width: f64,
    /// Goal Initial Trial Duration: how long a trial of the coarse stage is, in milliseconds.
    pub initial_trial_ms: u64,
    /// What must be seen of a rate.
    pub goal: Goal,
}

/// A goal, and how many steps of the grid apart its ends may stay.
#[derive(Debug, Clone, Copy)]
struct Stage {
    goal: Goal,
    stride: usize,
}

/// The ends of a stage: places of the relevant lower and of the relevant upper bound.
type Bounds = (Option<usize>, Option<usize>);

/// MLRsearch: a coarse stage, then the campaign's goal.
#[derive(Debug)]
pub struct Mlr {
    rates: Vec<u32>,
    /// The trials of each rate.
    tried: Vec<Vec<Tried>>,
    /// What they say of it, for each stage.
    classes: [Vec<Class>; 2],
    /// How often the load tool was the limit at each rate.
    not_reached: Vec<u32>,
    /// The place of the rate that is tried first.
    begin: usize,
    stages: [Stage; 2],
    /// Which stage it is in; past the last one once both have ended.
    stage: usize,
    /// The ends of the stage before.
    anchors: Bounds,
    /// Steps of the grid from a rate to its double.
    doubling: usize,
}

impl Mlr {
    /// Among these rates, rising and no further apart than the rules' width; it begins at `begin`, or at the highest below
    /// that.
    pub fn new(rates: Vec<u32>, begin: u32, rules: Rules) -> Self {
        let coarse = Goal {
            final_trial_ms: rules.initial_trial_ms,
            duration_sum_ms: rules.initial_trial_ms,
            exceed_ratio: rules.goal.exceed_ratio,
        };
        Self {
            tried: vec![Vec::new(); rates.len()],
            classes: [(); 2].map(|()| vec![Class::Undecided; rates.len()]),
            not_reached: vec![0; rates.len()],
            begin: place_of(begin, &rates),
            rates,
            stages: [Stage { goal: coarse, stride: COARSE }, Stage { goal: rules.goal, stride: 1 }],
            stage: 0,
            anchors: (None, None),
            doubling: doubling(rules.width),
        }
    }

    /// The stage, and the place that wants a trial; none where the stage has ended. The trials of such a place never
    /// decide it yet: one that is decided is an end, or lies beyond one.
    fn place(&self) -> Option<(&Stage, usize)> {
        let stage = self.stages.get(self.stage)?;
        let (low, high) = self.bounds(self.stage);
        let ceiling = self.ceiling();
        // Nothing at or above it is tried: there the server fails, or the load tool does.
        let wall = [high, ceiling].into_iter().flatten().min();
        let last = self.rates.len() - 1;
        let place = match (low, wall) {
            (None, None) => self.anchors.0.unwrap_or(self.begin),
            (None, Some(0)) => return None,
            (None, Some(wall)) => self.below(wall, stage.stride),
            (Some(low), None) if low == last => return None,
            (Some(low), None) => self.above(low, stage.stride).min(last),
            (Some(low), Some(wall)) if wall <= low + stage.stride => return None,
            (Some(low), Some(wall)) => match self.anchors.1 {
                Some(anchor) if high.is_none() && low < anchor && anchor < wall => anchor,
                _ => usize::midpoint(low, wall),
            },
        };
        Some((stage, place))
    }

    /// Where to search for an upper bound: a doubling up in the first stage, then at the end of the stage before, then
    /// beyond it by growing steps.
    fn above(&self, low: usize, stride: usize) -> usize {
        match self.anchors.1 {
            _ if self.stage == 0 => low + self.doubling,
            None => self.rates.len() - 1,
            Some(anchor) if anchor > low => anchor,
            Some(anchor) => low + (low - anchor) + stride,
        }
    }

    /// Where to search for a lower bound: at the end of the stage before, then below it by growing steps.
    fn below(&self, wall: usize, stride: usize) -> usize {
        match self.anchors.0.unwrap_or(0) {
            anchor if anchor < wall => anchor,
            anchor => wall.saturating_sub(anchor - wall + stride),
        }
    }

    /// The lowest place that the load tool does not reach.
    fn ceiling(&self) -> Option<usize> {
        self.not_reached.iter().position(|times| *times >= MOST_NOT_REACHED)
    }

    /// The relevant lower and upper bound of a stage.
    fn bounds(&self, stage: usize) -> Bounds {
        let classes = &self.classes[stage];
        let high = classes.iter().position(|class| *class == Class::Upper);
        let below = &classes[..high.unwrap_or(classes.len())];
        (below.iter().rposition(|class| *class == Class::Lower), high)
    }

    fn tested(&self, place: usize) -> Tested {
        let goal = &self.stages[1].goal;
        let count = |full: bool, passed: bool| {
            let of_kind = |tried: &&Tried| goal.is_full(tried) == full && tried.passed == passed;
            self.tried[place].iter().filter(of_kind).count() as u32
        };
        Tested {
            at: self.rates[place],
            passed: count(true, true),
            failed: count(true, false),
            short_passed: count(false, true),
            short_failed: count(false, false),
        }
    }
}

impl Rule for Mlr {
    fn wanted(&self) -> Option<Load> {
        let (_, place) = self.place()?;
        // Where both have one length, a trial of the coarse stage counts in full.
        let [coarse, full] = self.stages.map(|stage| stage.goal.final_trial_ms);
        Some(Load { at: self.rates[place], is_short: self.stage == 0 && coarse < full })
    }

    fn take(&mut self, judgement: Judgement) {
        let Some((stage, place)) = self.place() else { return };
        let duration_ms = stage.goal.final_trial_ms;
        if let Judgement::Measured { passed, missed } = judgement {
            self.tried[place].push(Tried { duration_ms, passed, missed });
            for (classes, stage) in self.classes.iter_mut().zip(&self.stages) {
                classes[place] = stage.goal.classify(&self.tried[place]);
            }
        } else {
            self.not_reached[place] += 1;
        }
        while self.stage < self.stages.len() && self.place().is_none() {
            self.anchors = self.bounds(self.stage);
            self.stage += 1;
        }
    }

    fn settled(&self) -> Option<Ending> {
        match self.bounds(1) {
            _ if self.stage < self.stages.len() => None,
            (Some(low), Some(high)) if high - low <= 1 => Some(Ending::Interval),
            (None, Some(0)) => Some(Ending::FailsAtLowest),
            _ if self.ceiling().is_some() => Some(Ending::NotReached),
            (None, _) => Some(Ending::FailsAtLowest),
            (Some(_), _) => Some(Ending::HoldsToHighest),
        }
    }

    fn found(&self) -> Found {
        let (low, high) = self.bounds(1);
        let all: Vec<Tested> = (0..self.rates.len()).map(|place| self.tested(place)).collect();
        let conditional =
            |low: usize| self.stages[1].goal.conditional_rate(self.rates[low], &self.tried[low]);
        let not_reached = all.iter().zip(&self.not_reached).filter(|(_, times)| **times > 0);
        let mut found = Found::between(&all, low, high);
        // Below the highest rate that holds, a share of the trials may fail.
        found.contradictions.retain(|other| high.is_some_and(|high| other.at > self.rates[high]));
        Found {
            not_reached: not_reached.map(|(rate, _)| *rate).collect(),
            conditional_rate: low.and_then(conditional),
            ..found
        }
    }
}
