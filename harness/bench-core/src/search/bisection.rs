//! The rule of a search along connections.
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

use super::grid::{doubling, place_of};
use super::{Ending, Found, Judgement, Load, MOST_NOT_REACHED, Rule, Tested};

/// The chance with which a count that fails every other time may pass for a failing one.
const LUCK: f64 = 0.05;

/// Failing trials of `confirmations` that make a count a failing one: the fewest that a fair coin throws in at most one
/// of twenty cases.
pub fn bad_to_fail(confirmations: u32) -> u32 {
    let (mut ways, mut tail) = (1.0, 0.0);
    let all = 2.0_f64.powi(confirmations as i32);
    for bad in (0..=confirmations).rev() {
        tail += ways / all;
        if tail > LUCK {
            return (bad + 1).min(confirmations);
        }
        ways *= f64::from(bad) / f64::from(confirmations - bad + 1);
    }
    confirmations
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

/// Doubling, then halving the gap, then confirming both ends.
#[derive(Debug)]
pub struct Bisection {
    /// The counts that may be tried, rising.
    loads: Vec<Tested>,
    /// How often connections were not held at each.
    not_held: Vec<u32>,
    confirmations: u32,
    doubling: usize,
    phase: Phase,
    /// The place that is taken for the highest passing one; none: below the grid.
    low: Option<usize>,
    /// The place that is taken for the lowest failing one; none: above the grid.
    high: Option<usize>,
    stride_down: usize,
    stride_up: usize,
    tried_beyond: bool,
    /// Counts that left the grid, rising.
    left_out: Vec<Tested>,
}

impl Bisection {
    /// Among these counts, rising and no further apart than `width`; it begins at `begin`, or at the highest below that.
    pub fn new(grid: &[u32], begin: u32, width: f64, confirmations: u32) -> Self {
        let untried = |at: &u32| Tested { at: *at, passed: 0, failed: 0, short_passed: 0, short_failed: 0 };
        Self {
            loads: grid.iter().map(untried).collect(),
            not_held: vec![0; grid.len()],
            confirmations,
            doubling: doubling(width),
            phase: if grid.is_empty() { Phase::Done } else { Phase::Climb(place_of(begin, grid)) },
            low: None,
            high: None,
            stride_down: 1,
            stride_up: 1,
            tried_beyond: false,
            left_out: Vec::new(),
        }
    }

    /// A place whose connections were not held leaves the grid once that is sure, with all above it while none of these
    /// ever failed.
    fn not_held_at(&mut self, place: usize) {
        self.not_held[place] += 1;
        if let Phase::Beyond(_) = self.phase {
            self.phase = Phase::Done;
            return;
        }
        if self.not_held[place] < MOST_NOT_REACHED {
            return;
        }
        let left = self.loads[place];
        let after = self.left_out.partition_point(|other| other.at < left.at);
        self.left_out.insert(after, left);
        let failed_above = (place + 1..self.loads.len()).find(|above| self.loads[*above].failed > 0);
        let end = if failed_above.is_some() { place + 1 } else { self.loads.len() };
        self.loads.drain(place..end);
        self.not_held.drain(place..end);
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
        let last = self.loads.len() - 1;
        if passed {
            self.low = Some(at);
            let up = (at + self.doubling).min(last);
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
        let Some(low) = self.low.filter(|low| self.loads[*low].failed > 0) else { return false };
        let point = self.loads[low];
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
        if self.loads[high].failed == 0 {
            self.low = Some(high);
        }
        let last = self.loads.len() - 1;
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
        let new = |place: &usize| self.loads[*place].trials() == 0;
        if let Some(end) = self.low.filter(new).or(self.high.filter(new)) {
            return Some(end);
        }
        let first = self.low.map_or(0, |low| low + 1);
        let end = self.high.unwrap_or(self.loads.len());
        let twice_middle = first + end.saturating_sub(1);
        (first..end).filter(new).min_by_key(|place| (2 * place).abs_diff(twice_middle))
    }

    /// The end that is less sure.
    fn unsure(&self) -> Option<usize> {
        let low = self.low.filter(|low| !self.is_passing(*low));
        let high = self.high.filter(|high| !self.is_failing(*high));
        let trials = |place: &usize| self.loads[*place].trials();
        high.into_iter().chain(low).min_by_key(trials)
    }

    /// The place a doubling above the failing end, where nothing is known yet.
    fn beyond(&self) -> Option<usize> {
        let high = self.high?;
        let place = (high + self.doubling).min(self.loads.len() - 1);
        (place > high && self.loads[place].trials() == 0).then_some(place)
    }

    fn is_passing(&self, place: usize) -> bool {
        let point = self.loads[place];
        point.failed == 0 && point.passed >= self.confirmations
    }

    fn is_failing(&self, place: usize) -> bool {
        self.loads[place].failed >= bad_to_fail(self.confirmations)
    }

    fn may_fail(&self, place: usize) -> bool {
        self.loads[place].passed <= self.confirmations - bad_to_fail(self.confirmations)
    }
}

impl Rule for Bisection {
    fn wanted(&self) -> Option<Load> {
        self.place().map(|place| Load { at: self.loads[place].at, is_short: false })
    }

    fn take(&mut self, judgement: Judgement) {
        let Some(place) = self.place() else { return };
        let Some(passed) = judgement.passed() else {
            self.not_held_at(place);
            return self.settle();
        };
        let load = &mut self.loads[place];
        *(if passed { &mut load.passed } else { &mut load.failed }) += 1;
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
            (.., None) if !self.left_out.is_empty() => Some(Ending::NotReached),
            (_, Some(_), Some(_)) => Some(Ending::Interval),
            (_, None, _) => Some(Ending::FailsAtLowest),
            (_, Some(_), None) => Some(Ending::HoldsToHighest),
        }
    }

    fn found(&self) -> Found {
        let fails = match self.high {
            Some(high) if self.is_failing(high) => Some(high),
            _ => (0..self.loads.len()).find(|place| self.is_failing(*place)),
        };
        let holds = (0..fails.unwrap_or(self.loads.len())).rev().find(|place| self.is_passing(*place));
        Found { not_reached: self.left_out.clone(), ..Found::between(&self.loads, holds, fails) }
    }
}
