//! The rule of a search for a rate.
//!
//! It goes through two goals of RFC 9971. The first is coarse: one short trial decides a rate. It climbs from the
//! lowest rate by doubling until one fails, and halves the gap down to two steps of the grid. The second is the
//! campaign's goal: it tries both ends of the first answer again, the lower one first, and moves an end that is not
//! confirmed away, by growing steps. A rate is tried until its trials decide it. The relevant upper bound is the lowest
//! rate that is not sustained; the relevant lower bound is the highest sustained one *below* it, so that a rate that
//! passes above one that fails (loss inversion) never counts, and is reported.
//!
//! A trial in which the load tool was the limit shows nothing of the server. Two at a rate end the search there.

use super::found::{FoundRate, Tested};
use super::goal::{Class, Goal, Tried};
use crate::search::{self, Ending, Judgement, Rule};

/// How far apart the ends of the coarse stage may stay, in steps of the grid.
const COARSE: usize = 2;

/// Trials at a rate in which the load tool was the limit, from which on no such rate is tried.
const TOOL_LIMITED: u32 = 2;

/// How finely, and with how many trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Goal Width: how far the lower bound may lie below the upper one, as a share of the upper one, above 0 and below
    /// 1.
    pub width: f64,
    /// Goal Initial Trial Duration: how long a trial of the coarse stage is, in milliseconds.
    pub initial_trial_ms: u64,
    /// What must be seen of a rate.
    pub goal: Goal,
    /// Trials at most, those that showed nothing included.
    pub most_trials: u32,
}

/// What is to be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLoad {
    /// Requests a second.
    pub rate: u32,
    /// The window, in milliseconds.
    pub duration_ms: u64,
}

/// The rates that a search may try: from the lowest to the highest, evenly (by ratio) and so close that two neighbours
/// are an answer.
pub fn grid(from: u32, most: u32, width: f64) -> Vec<u32> {
    let from = from.min(most);
    let ratio = f64::from(most) / f64::from(from);
    // A hair less, because a whole number of widths may come out as a little more.
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

/// A search for a rate.
pub type Search = search::Search<MlrSearch>;

impl Search {
    /// From one rate to another, both in requests a second.
    pub fn new(from: u32, most: u32, rules: Rules) -> Self {
        let rates = grid(from, most, rules.width);
        let coarse = Goal {
            final_trial_ms: rules.initial_trial_ms,
            duration_sum_ms: rules.initial_trial_ms,
            exceed_ratio: rules.goal.exceed_ratio,
        };
        let doubling = (-std::f64::consts::LN_2 / (1.0 - rules.width).ln()).round().max(1.0);
        let rule = MlrSearch {
            tried: vec![Vec::new(); rates.len()],
            classes: [(); 2].map(|()| vec![Class::Undecided; rates.len()]),
            tool_limited: vec![0; rates.len()],
            rates,
            stages: [Stage { goal: coarse, stride: COARSE }, Stage { goal: rules.goal, stride: 1 }],
            stage: 0,
            anchors: (None, None),
            doubling: doubling as usize,
        };
        Self::by(rule, rules.most_trials)
    }
}

/// MLRsearch: a coarse stage, then the campaign's goal.
#[derive(Debug, Clone)]
pub struct MlrSearch {
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
}

impl Rule for MlrSearch {
    type Load = RateLoad;
    type Found = FoundRate;
    const OUT_OF_TRIALS: Ending = Ending::TrialsUsedUp;

    fn wanted(&self) -> Option<RateLoad> {
        let (stage, place) = self.place()?;
        Some(RateLoad { rate: self.rates[place], duration_ms: stage.goal.final_trial_ms })
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
            self.tool_limited[place] += 1;
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
            _ if self.ceiling().is_some() => Some(Ending::ToolCeiling),
            (None, _) => Some(Ending::FailsAtLowest),
            (Some(_), _) => Some(Ending::HoldsToHighest),
        }
    }

    fn found(&self, ending: Ending, trials: u32, unmeasured: u32) -> FoundRate {
        let goal = &self.stages[1].goal;
        let (low, high) = self.bounds(1);
        let above = high.map_or(self.rates.len(), |high| high + 1)..self.rates.len();
        let passed = |place: &usize| self.tried[*place].iter().any(|tried| tried.passed);
        let conditional = |low: usize| goal.conditional_rate(self.rates[low], &self.tried[low]);
        FoundRate {
            lower: low.map(|place| self.tested(place)),
            upper: high.map(|place| self.tested(place)),
            conditional_rate: low.and_then(conditional),
            inversions: above.filter(passed).map(|place| self.tested(place)).collect(),
            ending,
            trials,
            tool_limited: self.tool_limited.iter().sum(),
            unmeasured,
        }
    }
}

impl MlrSearch {
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
        self.tool_limited.iter().position(|times| *times >= TOOL_LIMITED)
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
            rate: self.rates[place],
            passed: count(true, true),
            failed: count(true, false),
            short_passed: count(false, true),
            short_failed: count(false, false),
        }
    }
}
