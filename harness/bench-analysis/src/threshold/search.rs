//! The rule of a search for a connection count.
//!
//! It climbs by doubling until a trial fails or the highest count passes, halves the gap on a geometric grid until the
//! highest passing count and the lowest failing one are neighbours, and then repeats both until each is settled by
//! itself:
//!
//! - *passing*: none of `confirmations` trials fails;
//! - *failing*: as many fail as a count that fails every other time would give in at most one of twenty cases.
//!
//! An end that is not confirmed moves away from the other one, by growing strides, and the gap is halved again; counts
//! that are neither stay in between. A count whose connections were not held in two trials leaves the grid, and while
//! no trial failed above it, all higher ones with it: they were not tried.

use super::found::{Counted, FoundThreshold};
use crate::search::{self, Ending, Judgement, Rule};

/// The chance with which a count that fails every other time may pass for a failing one.
const LUCK: f64 = 0.05;

/// Trials at a count whose connections were not held before the count leaves the grid.
const MOST_NOT_HELD: u32 = 2;

/// How finely, and with how many trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Counts from one to its double.
    pub steps_per_doubling: u32,
    /// Trials at each end.
    pub confirmations: u32,
    /// Trials at most, those that showed nothing included.
    pub most_trials: u32,
}

impl Rules {
    /// Failing trials of `confirmations` that make a count a failing one: the fewest that a fair coin throws in at most
    /// one of twenty cases.
    pub fn bad_to_fail(&self) -> u32 {
        let trials = self.confirmations;
        let (mut ways, mut tail) = (1.0, 0.0);
        let all = 2.0_f64.powi(trials as i32);
        for bad in (0..=trials).rev() {
            tail += ways / all;
            if tail > LUCK {
                return (bad + 1).min(trials);
            }
            ways *= f64::from(bad) / f64::from(trials - bad + 1);
        }
        trials
    }
}

/// The connection counts that a search may try: from the lowest, `steps_per_doubling` to its double, and the highest.
pub fn grid(from: u32, most: u32, steps_per_doubling: u32) -> Vec<u32> {
    let from = from.min(most);
    let count = |step: u32| f64::from(from) * 2.0_f64.powf(f64::from(step) / f64::from(steps_per_doubling));
    let below = (0..).map(|step| count(step).round() as u32).take_while(|count| *count < most);
    let mut grid: Vec<u32> = below.collect();
    grid.dedup();
    grid.push(most);
    grid
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Point {
    passed: u32,
    failed: u32,
    not_held: u32,
}

impl Point {
    fn trials(self) -> u32 {
        self.passed + self.failed
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Doubling, now at this place.
    Climb(usize),
    /// Between the ends, and at them.
    Settle,
    /// One trial a doubling beyond the failing end.
    Beyond(usize),
    Done,
}

/// A search for a connection count.
pub type Search = search::Search<Doubling>;

impl Search {
    /// Of connection counts, in rising order, from the lowest on.
    pub fn new(grid: Vec<u32>, rules: Rules) -> Self {
        Self::beginning_at(0, grid, rules)
    }

    /// The same, which begins at a count, or at the highest one below it that the grid has.
    pub fn beginning_at(count: u32, grid: Vec<u32>, rules: Rules) -> Self {
        let first = grid.partition_point(|other| *other <= count).saturating_sub(1);
        let doubling = Doubling {
            points: vec![Point::default(); grid.len()],
            phase: if grid.is_empty() { Phase::Done } else { Phase::Climb(first) },
            grid,
            rules,
            low: None,
            high: None,
            stride_down: 1,
            stride_up: 1,
            tried_beyond: false,
            not_held: Vec::new(),
        };
        Self::by(doubling, rules.most_trials)
    }
}

/// Doubling, then halving the gap, then confirming both ends.
#[derive(Debug, Clone)]
pub struct Doubling {
    grid: Vec<u32>,
    rules: Rules,
    points: Vec<Point>,
    phase: Phase,
    /// The place that is taken for the highest passing one; none: below the grid.
    low: Option<usize>,
    /// The place that is taken for the lowest failing one; none: above the grid.
    high: Option<usize>,
    stride_down: usize,
    stride_up: usize,
    tried_beyond: bool,
    /// Counts that left the grid, rising.
    not_held: Vec<Counted>,
}

impl Rule for Doubling {
    type Load = u32;
    type Found = FoundThreshold;
    const OUT_OF_TRIALS: Ending = Ending::Unsettled;

    fn wanted(&self) -> Option<u32> {
        self.place().map(|place| self.grid[place])
    }

    fn take(&mut self, judgement: Judgement) {
        let Some(place) = self.place() else { return };
        let Some(passed) = judgement.passed() else {
            self.not_held_at(place);
            return self.settle();
        };
        let point = &mut self.points[place];
        *(if passed { &mut point.passed } else { &mut point.failed }) += 1;
        match self.phase {
            Phase::Climb(at) => self.climb(at, passed),
            Phase::Settle => self.narrow(place, passed),
            Phase::Beyond(_) => self.phase = Phase::Done,
            Phase::Done => {}
        }
        self.settle();
    }

    fn settled(&self) -> Option<Ending> {
        match (self.phase, self.low, self.high) {
            (Phase::Climb(_) | Phase::Settle, ..) => None,
            (.., None) if !self.not_held.is_empty() => Some(Ending::NotHeld),
            (_, Some(_), Some(_)) => Some(Ending::Interval),
            (_, None, _) => Some(Ending::FailsAtLowest),
            (_, Some(_), None) => Some(Ending::HoldsToHighest),
        }
    }

    fn found(&self, ending: Ending, trials: u32, unmeasured: u32) -> FoundThreshold {
        let places = 0..self.grid.len();
        let counted = |place: usize| self.counted(place);
        let first_failing = match self.high {
            Some(high) if self.is_failing(high) => Some(high),
            _ => places.clone().find(|place| self.is_failing(*place)),
        };
        let below = first_failing.unwrap_or(self.grid.len());
        let last_passing = (0..below).rev().find(|place| self.is_passing(*place));
        let tried = |place: &usize| self.points[*place].trials() > 0;
        let is_between = |place: &usize| last_passing.is_none_or(|low| low < *place) && *place < below;
        let contradicts = |place: &usize| {
            last_passing.is_some_and(|low| *place < low && self.points[*place].failed > 0)
                || first_failing.is_some_and(|high| *place > high && self.points[*place].passed > 0)
        };
        FoundThreshold {
            last_passing: last_passing.map(counted),
            first_failing: first_failing.map(counted),
            between: places.clone().filter(tried).filter(is_between).map(counted).collect(),
            contradictions: places.filter(contradicts).map(counted).collect(),
            not_held: self.not_held.clone(),
            ending,
            trials,
            unmeasured,
        }
    }
}

impl Doubling {
    /// A place whose connections were not held leaves the grid once that is sure, with all above it while none of these
    /// ever failed.
    fn not_held_at(&mut self, place: usize) {
        self.points[place].not_held += 1;
        if let Phase::Beyond(_) = self.phase {
            self.phase = Phase::Done;
            return;
        }
        if self.points[place].not_held < MOST_NOT_HELD {
            return;
        }
        let counted = self.counted(place);
        let after = self.not_held.partition_point(|other| other.connections < counted.connections);
        self.not_held.insert(after, counted);
        let failed_above = (place + 1..self.grid.len()).find(|above| self.points[*above].failed > 0);
        let end = if failed_above.is_some() { place + 1 } else { self.grid.len() };
        self.grid.drain(place..end);
        self.points.drain(place..end);
        let below = place.checked_sub(1);
        self.low = match self.low {
            Some(low) if low > place && failed_above.is_some() => Some(low - 1),
            Some(low) if low >= place => below,
            low => low,
        };
        self.high = match self.high {
            Some(high) if high > place => failed_above.map(|_| high - 1),
            Some(high) if high == place => failed_above.map(|above| above - 1),
            high => high,
        };
        self.phase = match (self.phase, below) {
            (Phase::Climb(_), Some(below)) if self.low != Some(below) => Phase::Climb(below),
            _ => Phase::Settle,
        };
    }

    fn climb(&mut self, at: usize, passed: bool) {
        let last = self.grid.len() - 1;
        if passed {
            self.low = Some(at);
            let up = (at + self.rules.steps_per_doubling as usize).min(last);
            self.phase = if at == last { Phase::Settle } else { Phase::Climb(up) };
        } else {
            self.high = Some(at);
            self.phase = Phase::Settle;
        }
    }

    /// A trial strictly between the ends moves one of them there.
    fn narrow(&mut self, place: usize, passed: bool) {
        let above_low = self.low.is_none_or(|low| low < place);
        let below_high = self.high.is_none_or(|high| place < high);
        if above_low && below_high {
            let end = if passed { &mut self.low } else { &mut self.high };
            *end = Some(place);
        }
    }

    /// Moves ends that are not confirmed, until one wants a trial or both are settled.
    fn settle(&mut self) {
        while self.phase == Phase::Settle && (self.move_low() || self.move_high()) {}
        if self.phase == Phase::Settle && self.place().is_none() {
            self.phase = match self.beyond() {
                Some(place) if !self.tried_beyond => Phase::Beyond(place),
                _ => Phase::Done,
            };
            self.tried_beyond = true;
        }
    }

    /// The passing end moves down where a trial there failed. Where most did, that may be the failing end.
    fn move_low(&mut self) -> bool {
        let Some(low) = self.low.filter(|low| self.points[*low].failed > 0) else { return false };
        let point = self.points[low];
        if point.failed > point.passed && self.may_fail(low) {
            self.high = Some(low);
        }
        let down = low.saturating_sub(self.stride_down);
        self.stride_down *= 2;
        let passing = (down..low).rev().find(|place| self.is_passing(*place));
        self.low = passing.or((low > 0).then_some(down));
        true
    }

    /// The failing end moves up where too many trials there passed. Where all did, that may be the passing end.
    fn move_high(&mut self) -> bool {
        let Some(high) = self.high.filter(|high| !self.may_fail(*high)) else { return false };
        if self.points[high].failed == 0 {
            self.low = Some(high);
        }
        let last = self.grid.len() - 1;
        let up = high.saturating_add(self.stride_up).min(last);
        self.stride_up *= 2;
        let failing = (high + 1..=up).find(|place| self.is_failing(*place));
        self.high = failing.or((high < last).then_some(up));
        true
    }

    /// The place that wants a trial.
    fn place(&self) -> Option<usize> {
        match self.phase {
            Phase::Climb(at) | Phase::Beyond(at) => Some(at),
            Phase::Done => None,
            Phase::Settle => self.untried().or_else(|| self.unsure()),
        }
    }

    /// An end that was never tried, or the middle of the places between them that were not.
    fn untried(&self) -> Option<usize> {
        let new = |place: &usize| self.points[*place].trials() == 0;
        if let Some(end) = self.low.filter(new).or(self.high.filter(new)) {
            return Some(end);
        }
        let first = self.low.map_or(0, |low| low + 1);
        let end = self.high.unwrap_or(self.grid.len());
        let twice_middle = first + end.saturating_sub(1);
        (first..end).filter(new).min_by_key(|place| (2 * place).abs_diff(twice_middle))
    }

    /// The end that is less sure.
    fn unsure(&self) -> Option<usize> {
        let low = self.low.filter(|low| !self.is_passing(*low));
        let high = self.high.filter(|high| !self.is_failing(*high));
        let trials = |place: &usize| self.points[*place].trials();
        high.into_iter().chain(low).min_by_key(trials)
    }

    /// The place a doubling above the failing end, where nothing is known yet.
    fn beyond(&self) -> Option<usize> {
        let high = self.high?;
        let place = (high + self.rules.steps_per_doubling as usize).min(self.grid.len() - 1);
        (place > high && self.points[place].trials() == 0).then_some(place)
    }

    fn is_passing(&self, place: usize) -> bool {
        let point = self.points[place];
        point.failed == 0 && point.passed >= self.rules.confirmations
    }

    fn is_failing(&self, place: usize) -> bool {
        self.points[place].failed >= self.rules.bad_to_fail()
    }

    fn may_fail(&self, place: usize) -> bool {
        self.points[place].passed <= self.rules.confirmations - self.rules.bad_to_fail()
    }

    fn counted(&self, place: usize) -> Counted {
        let point = self.points[place];
        Counted { connections: self.grid[place], bad: point.failed, trials: point.trials() }
    }
}
