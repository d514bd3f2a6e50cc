//! The highest rate that a box holds: which rate is tried next, and where it ends.
//!
//! A box that holds a rate is taken to hold lower ones. A rate is held that met the service level in as many of its
//! windows as the campaign says, by default one; it is not where two missed it, because one window may be another
//! process' doing. A window that is short does not show a queue that grows slowly, and one that met the level by luck
//! says nothing of the next: so campaigns want two. One kill for want of memory is enough: nobody else's doing, and a
//! server that is gone holds nothing.

use serde::{Deserialize, Serialize};

use crate::search::Judgement;

/// Windows that must miss the level before a rate counts as not held.
const TO_MISS: usize = 2;

/// Windows of a rate at most, where some show nothing of the server.
const MOST_WINDOWS: usize = 4;

/// What the windows of a rate showed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Windows {
    /// Those that met the level.
    pub met: usize,
    /// Those that missed it.
    pub missed: usize,
    /// Those in which the kernel killed the server for want of memory.
    pub killed: usize,
    /// Those that showed nothing of the server: the load tool was the limit, or gave no result.
    pub nothing: usize,
}

/// What is known of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rung {
    /// Too little.
    Open,
    Held,
    NotHeld,
    /// The windows show nothing of the server.
    Unreached,
}

impl Windows {
    /// Counts another one.
    pub fn take(&mut self, judgement: Judgement) {
        match judgement {
            Judgement::Measured { passed: true, .. } => self.met += 1,
            Judgement::Measured { passed: false, .. } => self.missed += 1,
            Judgement::NotReached | Judgement::Nothing => self.nothing += 1,
        }
    }

    fn all(self) -> usize {
        self.met + self.missed + self.killed + self.nothing
    }

    fn rung(self, to_hold: usize) -> Rung {
        match self {
            _ if self.killed > 0 => Rung::NotHeld,
            _ if self.met >= to_hold => Rung::Held,
            _ if self.missed >= TO_MISS => Rung::NotHeld,
            _ if self.missed == 0 && self.nothing >= TO_MISS => Rung::Unreached,
            _ if self.all() >= MOST_WINDOWS => Rung::NotHeld,
            _ => Rung::Open,
        }
    }
}

/// Why a search went no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It has not ended.
    Left,
    /// The next rate is not held.
    NotHeld,
    /// The load tool could not send the next rate.
    ToolLimited,
    /// The highest rate is held.
    Highest,
}

/// Where a search stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldRate {
    /// The highest rate that is held.
    pub held: Option<u32>,
    /// The lowest rate above it that is not, or that was not reached.
    pub not_held: Option<u32>,
    /// How it ended.
    pub end: End,
    /// The rate to try next; `None` where it has ended.
    pub next: Option<u32>,
}

/// Where the search among rising rates stands. Those of `always` are tried once first. A rate is held that met the
/// level in `to_hold` windows.
pub fn found(rates: &[u32], always: &[u32], to_hold: usize, of: impl Fn(u32) -> Windows) -> HeldRate {
    let rung = |place: usize| of(rates[place]).rung(to_hold);
    let low = (0..rates.len()).rev().find(|place| rung(*place) == Rung::Held);
    let above = low.map_or(0, |low| low + 1);
    let high = (above..rates.len()).find(|place| matches!(rung(*place), Rung::NotHeld | Rung::Unreached));
    let untried = always.iter().copied().find(|rate| of(*rate).all() == 0);
    let end = high.unwrap_or(rates.len());
    let between = (above < end).then(|| rates[above + (end - 1 - above) / 2]);
    let next = untried.or(between);
    let why = match high.map(rung) {
        _ if next.is_some() => End::Left,
        None => End::Highest,
        Some(Rung::Unreached) => End::ToolLimited,
        Some(_) => End::NotHeld,
    };
    HeldRate { held: low.map(|place| rates[place]), not_held: high.map(|place| rates[place]), end: why, next }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const RATES: [u32; 11] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

    /// Runs a search to its end with a server whose windows are as `passes` says.
    fn searched(always: &[u32], passes: impl Fn(u32, usize) -> Judgement) -> (HeldRate, usize) {
        let mut tried: BTreeMap<u32, Windows> = BTreeMap::new();
        loop {
            let now = found(&RATES, always, 1, |rate| tried.get(&rate).copied().unwrap_or_default());
            let Some(rate) = now.next else {
                return (now, tried.values().map(|windows| windows.all()).sum());
            };
            assert!(RATES.contains(&rate));
            let windows = tried.entry(rate).or_default();
            let before = windows.all();
            windows.take(passes(rate, before));
        }
    }

    const MET: Judgement = Judgement::Measured { passed: true, missed: 0.0 };
    const MISSED: Judgement = Judgement::Measured { passed: false, missed: 1.0 };

    #[test]
    fn it_finds_the_highest_rate_that_is_held_in_few_windows() {
        for capacity in 0..=11 {
            let (found, windows) = searched(&[], |rate, _| if rate <= capacity { MET } else { MISSED });
            assert_eq!(found.held, (capacity > 0).then_some(capacity));
            assert_eq!(found.not_held, (capacity < 11).then_some(capacity + 1));
            assert_eq!(found.end, if capacity < 11 { End::NotHeld } else { End::Highest });
            assert!(windows <= 8, "{windows} windows for {capacity}");
        }
    }

    #[test]
    fn one_missed_window_is_tried_again_and_the_reference_is_always_tried() {
        let (found, _) = searched(&[], |rate, before| if rate > 7 || before == 0 { MISSED } else { MET });
        assert_eq!((found.held, found.not_held), (Some(7), Some(8)));
        let tried = std::cell::RefCell::new(Vec::new());
        searched(&[2], |rate, _| {
            tried.borrow_mut().push(rate);
            MET
        });
        assert_eq!(tried.borrow()[0], 2);
    }

    #[test]
    fn where_two_windows_are_wanted_one_that_met_the_level_by_luck_does_not_hold() {
        let at_four = |met, missed| {
            found(&RATES, &[], 2, move |rate| match rate {
                ..4 => Windows { met: 2, ..Windows::default() },
                4 => Windows { met, missed, ..Windows::default() },
                _ => Windows { missed: 2, ..Windows::default() },
            })
        };
        assert_eq!((at_four(1, 0).held, at_four(1, 0).next), (Some(3), Some(4)), "another window");
        assert_eq!((at_four(1, 1).held, at_four(1, 1).next), (Some(3), Some(4)), "and a third");
        assert_eq!((at_four(1, 2).held, at_four(1, 2).next), (Some(3), None));
        assert_eq!((at_four(2, 1).held, at_four(2, 1).next), (Some(4), None));
    }

    #[test]
    fn one_kill_is_enough_whatever_other_windows_met() {
        let windows = |rate| match rate {
            1..=3 => Windows { met: 1, ..Windows::default() },
            _ => Windows { met: 1, killed: 1, ..Windows::default() },
        };
        let found = found(&RATES, &[4], 1, windows);
        assert_eq!((found.held, found.not_held, found.next), (Some(3), Some(4), None));
    }

    #[test]
    fn a_tool_that_is_the_limit_is_no_slow_server_and_ends_the_search() {
        let (found, _) = searched(&[], |rate, _| if rate <= 4 { MET } else { Judgement::NotReached });
        assert_eq!((found.held, found.end), (Some(4), End::ToolLimited));
        // Windows that show nothing do not hide that others missed the level.
        let (found, _) = searched(&[], |rate, before| match (rate <= 4, before % 2) {
            (true, _) => MET,
            (false, 0) => Judgement::Nothing,
            (false, _) => MISSED,
        });
        assert_eq!((found.held, found.end), (Some(4), End::NotHeld));
    }
}
