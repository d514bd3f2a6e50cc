//! One search as a pure state machine: asked which rate comes next and for how long, told what a trial there showed.
//!
//! It goes through two goals of RFC 9971. The first is a quick look: one short trial decides a rate. It climbs from the lowest
//! rate by doubling until one fails, and halves the gap down to two steps of the grid. The second is the goal that was asked
//! for: it tries both ends of the first answer again, the lower one first, and moves an end that does not hold away, by growing
//! steps. A rate is tried until its trials decide it. The relevant upper bound is the lowest rate that is not sustained; the
//! relevant lower bound is the highest sustained one *below* it, so that a rate that passes above one that fails (loss
//! inversion) never counts, and is told.
//!
//! A trial in which the load tool was the limit says nothing of the server. Two at a rate end the search there.
//!
//! Starts no process, reads no clock, draws nothing: told the same it asks the same.

use super::found::{Ending, Found, Tested};
use super::goal::{Class, Goal, Tried};
use crate::analysis::schedule::Searching;

/// How far apart the ends of the quick look may stay, in steps of the grid.
const COARSE: usize = 2;

/// Trials at a rate in which the load tool was the limit, from which on no such rate is asked for.
const TOOL_LIMITED: u32 = 2;

/// Trials in all that may give nothing before a search is given up.
const MOST_NOTHING: u32 = 8;

/// How finely and how surely.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Goal Width: how far the lower bound may lie below the upper one, as a share of the upper one, above 0 and below 1.
    pub width: f64,
    /// Goal Initial Trial Duration: how long a trial of the quick look is, in milliseconds.
    pub initial_trial_ms: u64,
    /// What must be seen of a rate.
    pub goal: Goal,
    /// Trials at most, those that gave nothing included.
    pub most_trials: u32,
}

/// What is to be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Requests a second.
    pub rate: u32,
    /// The window, in milliseconds.
    pub duration_ms: u64,
}

/// What a trial showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shown {
    /// Whether the service level was met, and the share of the requests that missed it, from 0 to 1.
    Measured {
        /// Whether the level was met.
        passed: bool,
        /// The share that missed it.
        missed: f64,
    },
    /// The level was not met, since the load tool could not send as asked.
    ToolLimited,
    /// Nothing: the load tool failed, or what was counted does not fit together.
    Nothing,
}

/// The rates that a search may ask for: from the lowest to the highest, evenly (by ratio) and so close that two neighbours are an
/// answer.
pub fn grid(from: u32, most: u32, width: f64) -> Vec<u32> {
    let from = from.min(most);
    let ratio = f64::from(most) / f64::from(from);
    // A hair less, since a whole number of widths may come out as a little more.
    let steps = (ratio.ln() / -(1.0 - width).ln() - 1e-9).ceil().max(0.0);
    let rate = |step: u32| (f64::from(from) * ratio.powf(f64::from(step) / steps)).round() as u32;
    let mut grid: Vec<u32> = (0..steps as u32).map(rate).collect();
    grid.push(most);
    grid.dedup();
    grid
}

/// A goal, and how many steps of the grid apart its ends may stay.
#[derive(Debug, Clone, Copy)]
struct Stage {
    goal: Goal,
    stride: usize,
}

/// The ends of a stage: places of the relevant lower and of the relevant upper bound.
type Bounds = (Option<usize>, Option<usize>);

/// A search.
#[derive(Debug, Clone)]
pub struct Search {
    rates: Vec<u32>,
    /// The trials of each rate.
    tried: Vec<Vec<Tried>>,
    /// What they say of it, for each stage.
    classes: [Vec<Class>; 2],
    /// How often the load tool was the limit at each rate.
    tool_limited: Vec<u32>,
    stages: [Stage; 2],
    /// Which stage it is in; past the last one once both have ended.
    stage: usize,
    /// The ends of the stage before.
    anchors: Bounds,
    /// Steps of the grid from a rate to its double.
    doubling: usize,
    most_trials: u32,
    trials: u32,
    nothing: u32,
}

impl Search {
    /// From one rate to another, both in requests a second.
    pub fn new(from: u32, most: u32, rules: Rules) -> Self {
        let rates = grid(from, most, rules.width);
        let quick = Goal {
            final_trial_ms: rules.initial_trial_ms,
            duration_sum_ms: rules.initial_trial_ms,
            exceed_ratio: rules.goal.exceed_ratio,
        };
        let doubling = (-std::f64::consts::LN_2 / (1.0 - rules.width).ln()).round().max(1.0);
        Self {
            tried: vec![Vec::new(); rates.len()],
            classes: [(); 2].map(|()| vec![Class::Undecided; rates.len()]),
            tool_limited: vec![0; rates.len()],
            rates,
            stages: [Stage { goal: quick, stride: COARSE }, Stage { goal: rules.goal, stride: 1 }],
            stage: 0,
            anchors: (None, None),
            doubling: doubling as usize,
            most_trials: rules.most_trials,
            trials: 0,
            nothing: 0,
        }
    }

    /// What is to be tried next; none once the search has ended.
    pub fn next(&self) -> Option<Load> {
        if self.trials >= self.most_trials || self.nothing >= MOST_NOTHING {
            return None;
        }
        let (stage, place) = self.wanted()?;
        Some(Load { rate: self.rates[place], duration_ms: stage.goal.final_trial_ms })
    }

    /// Takes what the trial that was asked for showed. Once the search has ended there is no such trial.
    pub fn tell(&mut self, shown: Shown) {
        let Some((load, (_, place))) = self.next().zip(self.wanted()) else { return };
        self.trials += 1;
        match shown {
            Shown::Nothing => self.nothing += 1,
            Shown::ToolLimited => self.tool_limited[place] += 1,
            Shown::Measured { passed, missed } => {
                self.tried[place].push(Tried { duration_ms: load.duration_ms, passed, missed });
                for (classes, stage) in self.classes.iter_mut().zip(&self.stages) {
                    classes[place] = stage.goal.classify(&self.tried[place]);
                }
            }
        }
        while self.stage < self.stages.len() && self.wanted().is_none() {
            self.anchors = self.bounds(self.stage);
            self.stage += 1;
        }
    }

    /// The stage, and the place that wants a trial; none where the stage has ended. The trials of such a place never decide it
    /// yet: one that is decided is an end, or lies beyond one.
    fn wanted(&self) -> Option<(&Stage, usize)> {
        let stage = self.stages.get(self.stage)?;
        let (low, high) = self.bounds(self.stage);
        let ceiling = self.ceiling();
        // Nothing at or above it is asked for: there the server fails, or the load tool does.
        let wall = [high, ceiling].into_iter().flatten().min();
        let last = self.rates.len() - 1;
        let place = match (low, wall) {
            (None, None) => self.anchors.0.unwrap_or(0),
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

    /// Where to look for an upper bound: a doubling up in the first stage, then at the end of the stage before, then beyond it by
    /// growing steps.
    fn above(&self, low: usize, stride: usize) -> usize {
        match self.anchors.1 {
            _ if self.stage == 0 => low + self.doubling,
            None => self.rates.len() - 1,
            Some(anchor) if anchor > low => anchor,
            Some(anchor) => low + (low - anchor) + stride,
        }
    }

    /// Where to look for a lower bound: at the end of the stage before, then below it by growing steps.
    fn below(&self, wall: usize, stride: usize) -> usize {
        match self.anchors.0.unwrap_or(0) {
            anchor if anchor < wall => anchor,
            anchor => wall.saturating_sub(anchor - wall + stride),
        }
    }

    /// The lowest place that the load tool does not reach.
    fn ceiling(&self) -> Option<usize> {
        self.tool_limited.iter().position(|times| *times >= TOOL_LIMITED)
    }

    /// The relevant lower and upper bound of a stage.
    fn bounds(&self, stage: usize) -> Bounds {
        let classes = &self.classes[stage];
        let high = classes.iter().position(|class| *class == Class::Upper);
        let below = &classes[..high.unwrap_or(classes.len())];
        (below.iter().rposition(|class| *class == Class::Lower), high)
    }

    /// What was found so far.
    pub fn found(&self) -> Found {
        let goal = &self.stages[1].goal;
        let (low, high) = self.bounds(1);
        let above = high.map_or(self.rates.len(), |high| high + 1)..self.rates.len();
        let passed = |place: &usize| self.tried[*place].iter().any(|tried| tried.passed);
        let conditional = |low: usize| goal.conditional_rate(self.rates[low], &self.tried[low]);
        Found {
            lower: low.map(|place| self.tested(place)),
            upper: high.map(|place| self.tested(place)),
            conditional_rate: low.and_then(conditional),
            inversions: above.filter(passed).map(|place| self.tested(place)).collect(),
            ending: self.ending(low, high),
            trials: self.trials,
            tool_limited: self.tool_limited.iter().sum(),
            unmeasured: self.nothing,
        }
    }

    fn tested(&self, place: usize) -> Tested {
        let goal = &self.stages[1].goal;
        let count = |full: bool, passed: bool| {
            let of_kind = |tried: &&Tried| goal.is_full(tried) == full && tried.passed == passed;
            self.tried[place].iter().filter(of_kind).count() as u32
        };
        Tested {
            rate: self.rates[place],
            passed: count(true, true),
            failed: count(true, false),
            short_passed: count(false, true),
            short_failed: count(false, false),
        }
    }

    fn ending(&self, low: Option<usize>, high: Option<usize>) -> Ending {
        match (low, high) {
            _ if self.next().is_some() => Ending::Unfinished,
            _ if self.nothing >= MOST_NOTHING => Ending::Unmeasured,
            _ if self.stage < self.stages.len() => Ending::TrialsUsedUp,
            (Some(low), Some(high)) if high - low <= 1 => Ending::Interval,
            (None, Some(0)) => Ending::FailsAtLowest,
            _ if self.ceiling().is_some() => Ending::ToolCeiling,
            (None, _) => Ending::FailsAtLowest,
            (Some(_), _) => Ending::HoldsToHighest,
        }
    }
}

impl Searching for Search {
    type Load = Load;
    type Shown = Shown;

    fn next(&self) -> Option<Load> {
        Self::next(self)
    }

    fn tell(&mut self, shown: Shown) {
        Self::tell(self, shown);
    }
}
