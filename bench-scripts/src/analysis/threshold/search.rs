//! One search as a pure state machine: asked which connection count comes next, told what a trial there showed.
//!
//! It climbs by doubling until a trial fails, halves the gap on a geometric grid until the highest passing count and the lowest
//! failing one stand side by side, and then repeats both until each holds by itself:
//!
//! - *passing*: none of `confirmations` trials fails;
//! - *failing*: so many fail that a count that fails every other time would give as many in at most one of twenty cases.
//!
//! An end that does not hold moves away from the other one, by growing strides, and the gap is halved again; counts that are
//! neither stay in between. A count whose connections were not held in two trials leaves the grid, and while no trial failed
//! above it, all higher ones with it: they were not tried. Starts no process, reads no clock, draws nothing: told the same it asks the same.

use super::found::{Counted, Ending, Found};
use crate::analysis::schedule::Searching;

/// The chance with which a count that fails every other time may pass for a failing one.
const LUCK: f64 = 0.05;

/// Trials in all that may give nothing before a search is given up.
const MOST_UNMEASURED: u32 = 8;

/// Trials at a count whose connections were not held before the count leaves the grid.
const MOST_NOT_HELD: u32 = 2;

/// How finely and how surely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Counts from one to its double.
    pub steps_per_doubling: u32,
    /// Trials at each end.
    pub confirmations: u32,
    /// Trials at most, those that gave nothing included.
    pub most_trials: u32,
}

impl Rules {
    /// Bad trials of `confirmations` that make a count a failing one: the fewest that a fair coin throws in at most one of
    /// twenty cases.
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

/// What a trial showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// The connections were held, and every request was answered, and in time.
    Pass,
    /// A request failed or was too slow, or the server went.
    Fail,
    /// No request failed or was too slow, but the connections were not held: no trial at that count.
    NotHeld,
    /// Nothing of the server: the load tool failed, or what was counted does not fit together.
    Nothing,
}

/// The connection counts that a search may ask for: from the lowest, so many to a doubling, the highest by itself.
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
    clean: u32,
    bad: u32,
    not_held: u32,
}

impl Point {
    fn trials(self) -> u32 {
        self.clean + self.bad
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Doubling, now at this place.
    Climb(usize),
    /// Between the ends, and at them.
    Settle,
    /// One look a doubling beyond the failing end.
    Beyond(usize),
    Done,
}

/// A search.
#[derive(Debug, Clone)]
pub struct Search {
    grid: Vec<u32>,
    rules: Rules,
    points: Vec<Point>,
    phase: Phase,
    /// The place that is taken for the highest clean one; none: below the grid.
    low: Option<usize>,
    /// The place that is taken for the lowest failing one; none: above the grid.
    high: Option<usize>,
    stride_down: usize,
    stride_up: usize,
    looked_beyond: bool,
    /// Counts that left the grid, rising.
    not_held: Vec<Counted>,
    trials: u32,
    unmeasured: u32,
}

impl Search {
    /// Of connection counts, in rising order.
    pub fn new(grid: Vec<u32>, rules: Rules) -> Self {
        Self {
            points: vec![Point::default(); grid.len()],
            phase: if grid.is_empty() { Phase::Done } else { Phase::Climb(0) },
            grid,
            rules,
            low: None,
            high: None,
            stride_down: 1,
            stride_up: 1,
            looked_beyond: false,
            not_held: Vec::new(),
            trials: 0,
            unmeasured: 0,
        }
    }

    /// The connection count that is to be tried next; none once the search has ended.
    pub fn next(&self) -> Option<u32> {
        if self.trials >= self.rules.most_trials || self.unmeasured >= MOST_UNMEASURED {
            return None;
        }
        Some(self.grid[self.wanted()?])
    }

    /// Takes what the trial that was asked for showed. Once the search has ended there is no such trial.
    pub fn tell(&mut self, shown: Shown) {
        let Some(place) = self.next().and(self.wanted()) else { return };
        self.trials += 1;
        match shown {
            Shown::Nothing => {
                self.unmeasured += 1;
                return;
            }
            Shown::NotHeld => {
                self.not_held_at(place);
                return self.settle();
            }
            Shown::Pass => self.points[place].clean += 1,
            Shown::Fail => self.points[place].bad += 1,
        }
        match self.phase {
            Phase::Climb(at) => self.climb(at, shown),
            Phase::Settle => self.narrow(place, shown),
            Phase::Beyond(_) => self.phase = Phase::Done,
            Phase::Done => {}
        }
        self.settle();
    }

    /// A place whose connections were not held leaves the grid once that is sure, with all above it while none of these ever
    /// failed.
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
        let failed_above = (place + 1..self.grid.len()).find(|above| self.points[*above].bad > 0);
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

    fn climb(&mut self, at: usize, shown: Shown) {
        let last = self.grid.len() - 1;
        if shown == Shown::Fail {
            self.high = Some(at);
            self.phase = Phase::Settle;
        } else {
            self.low = Some(at);
            let up = (at + self.rules.steps_per_doubling as usize).min(last);
            self.phase = if at == last { Phase::Settle } else { Phase::Climb(up) };
        }
    }

    /// A trial strictly between the ends moves one of them there.
    fn narrow(&mut self, place: usize, shown: Shown) {
        let above_low = self.low.is_none_or(|low| low < place);
        let below_high = self.high.is_none_or(|high| place < high);
        if above_low && below_high {
            let end = if shown == Shown::Fail { &mut self.high } else { &mut self.low };
            *end = Some(place);
        }
    }

    /// Moves ends that do not hold, until one wants a trial or both hold.
    fn settle(&mut self) {
        while self.phase == Phase::Settle && (self.move_low() || self.move_high()) {}
        if self.phase == Phase::Settle && self.wanted().is_none() {
            self.phase = match self.beyond() {
                Some(place) if !self.looked_beyond => Phase::Beyond(place),
                _ => Phase::Done,
            };
            self.looked_beyond = true;
        }
    }

    /// The clean end moves down where a trial there was bad. Where most were, that may be the failing end.
    fn move_low(&mut self) -> bool {
        let Some(low) = self.low.filter(|low| self.points[*low].bad > 0) else { return false };
        let point = self.points[low];
        if point.bad > point.clean && self.may_fail(low) {
            self.high = Some(low);
        }
        let down = low.saturating_sub(self.stride_down);
        self.stride_down *= 2;
        let held = (down..low).rev().find(|place| self.is_clean(*place));
        self.low = held.or((low > 0).then_some(down));
        true
    }

    /// The failing end moves up where too many trials there were clean. Where all were, that may be the clean end.
    fn move_high(&mut self) -> bool {
        let Some(high) = self.high.filter(|high| !self.may_fail(*high)) else { return false };
        if self.points[high].bad == 0 {
            self.low = Some(high);
        }
        let last = self.grid.len() - 1;
        let up = high.saturating_add(self.stride_up).min(last);
        self.stride_up *= 2;
        let held = (high + 1..=up).find(|place| self.is_failing(*place));
        self.high = held.or((high < last).then_some(up));
        true
    }

    /// The place that wants a trial.
    fn wanted(&self) -> Option<usize> {
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

    /// The end that holds less surely.
    fn unsure(&self) -> Option<usize> {
        let low = self.low.filter(|low| !self.is_clean(*low));
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

    fn is_clean(&self, place: usize) -> bool {
        let point = self.points[place];
        point.bad == 0 && point.clean >= self.rules.confirmations
    }

    fn is_failing(&self, place: usize) -> bool {
        self.points[place].bad >= self.rules.bad_to_fail()
    }

    fn may_fail(&self, place: usize) -> bool {
        self.points[place].clean <= self.rules.confirmations - self.rules.bad_to_fail()
    }

    /// What was found so far.
    pub fn found(&self) -> Found {
        let places = 0..self.grid.len();
        let counted = |place: usize| self.counted(place);
        let first_failing = match self.high {
            Some(high) if self.is_failing(high) => Some(high),
            _ => places.clone().find(|place| self.is_failing(*place)),
        };
        let below = first_failing.unwrap_or(self.grid.len());
        let last_clean = (0..below).rev().find(|place| self.is_clean(*place));
        let tried = |place: &usize| self.points[*place].trials() > 0;
        let is_between = |place: &usize| last_clean.is_none_or(|low| low < *place) && *place < below;
        let contradicts = |place: &usize| {
            last_clean.is_some_and(|low| *place < low && self.points[*place].bad > 0)
                || first_failing.is_some_and(|high| *place > high && self.points[*place].clean > 0)
        };
        Found {
            last_clean: last_clean.map(counted),
            first_failing: first_failing.map(counted),
            between: places.clone().filter(tried).filter(is_between).map(counted).collect(),
            contradictions: places.filter(contradicts).map(counted).collect(),
            not_held: self.not_held.clone(),
            ending: self.ending(),
            trials: self.trials,
            unmeasured: self.unmeasured,
        }
    }

    fn counted(&self, place: usize) -> Counted {
        let point = self.points[place];
        Counted { connections: self.grid[place], bad: point.bad, trials: point.trials() }
    }

    fn ending(&self) -> Ending {
        match (self.phase, self.low, self.high) {
            _ if self.next().is_some() => Ending::Unfinished,
            (Phase::Done | Phase::Beyond(_), _, None) if !self.not_held.is_empty() => Ending::NotHeld,
            (Phase::Done | Phase::Beyond(_), Some(_), Some(_)) => Ending::Interval,
            (Phase::Done | Phase::Beyond(_), None, _) => Ending::FailsAtLowest,
            (Phase::Done | Phase::Beyond(_), Some(_), None) => Ending::HoldsToHighest,
            _ if self.unmeasured >= MOST_UNMEASURED => Ending::Unmeasured,
            _ => Ending::Unsettled,
        }
    }
}

impl Searching for Search {
    type Load = u32;
    type Shown = Shown;

    fn next(&self) -> Option<u32> {
        Self::next(self)
    }

    fn tell(&mut self, shown: Shown) {
        Self::tell(self, shown);
    }
}
