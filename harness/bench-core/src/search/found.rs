//! What a search found: the highest load that holds and the lowest that fails, with their trials, or why one of them is
//! missing.

use serde::{Deserialize, Serialize};

use super::Ending;

/// A load and how its trials ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tested {
    /// Connections, or requests a second.
    pub at: u32,
    /// Trials of full length that passed.
    pub passed: u32,
    /// Trials of full length that failed.
    pub failed: u32,
    /// Short trials that passed.
    pub short_passed: u32,
    /// Short trials that failed.
    pub short_failed: u32,
}

impl Tested {
    /// Trials of full length.
    pub const fn trials(&self) -> u32 {
        self.passed + self.failed
    }

    /// Short trials.
    pub const fn short_trials(&self) -> u32 {
        self.short_passed + self.short_failed
    }

    /// Whether any trial failed.
    pub const fn any_failed(&self) -> bool {
        self.failed + self.short_failed > 0
    }

    const fn any_passed(&self) -> bool {
        self.passed + self.short_passed > 0
    }
}

/// From where on a server fails: above the highest load that holds, and at or below the lowest that fails.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The highest load that holds, below those that fail.
    pub holds: Option<Tested>,
    /// The lowest load above it that fails.
    pub fails: Option<Tested>,
    /// Loads between the two, and what was seen there.
    pub between: Vec<Tested>,
    /// Loads that contradict the two, rising: failing does not simply begin somewhere.
    pub contradictions: Vec<Tested>,
    /// Loads that were not reached, and the server not to blame: connections were not held, or the load tool could not
    /// send. With what other trials showed there, rising.
    pub not_reached: Vec<Tested>,
    /// The conditional throughput at the highest rate that holds: requests a second that met the service level.
    pub conditional_rate: Option<f64>,
    /// How the search ended.
    pub ending: Ending,
    /// Trials in all.
    pub trials: u32,
    /// Trials of these that showed nothing of the server.
    pub unmeasured: u32,
}

impl Found {
    /// Of all loads, rising, and the places among them of the two ends.
    pub(super) fn between(loads: &[Tested], holds: Option<usize>, fails: Option<usize>) -> Self {
        let (first, end) = (holds.map_or(0, |holds| holds + 1), fails.unwrap_or(loads.len()));
        let is_tried = |load: &&Tested| load.any_passed() || load.any_failed();
        let below = loads[..holds.unwrap_or(0)].iter().filter(|load| load.any_failed());
        let above = loads.get(end + 1..).unwrap_or_default().iter().filter(|load| load.any_passed());
        Self {
            holds: holds.map(|place| loads[place]),
            fails: fails.map(|place| loads[place]),
            between: loads[first..end].iter().filter(is_tried).copied().collect(),
            contradictions: below.chain(above).copied().collect(),
            not_reached: Vec::new(),
            conditional_rate: None,
            ending: Ending::Unfinished,
            trials: 0,
            unmeasured: 0,
        }
    }

    /// The lowest load that is known to fail: the failing one, or else the lowest above the highest that holds at which
    /// a trial failed.
    pub fn fails_at(&self) -> Option<Tested> {
        self.fails.or_else(|| self.between.iter().copied().find(Tested::any_failed))
    }

    /// The load at which it fails most often, to find out why: the failing one, or else that with the largest share of
    /// failed trials, which one failed trial of one is not yet; the lowest of several.
    pub fn fails_most(&self) -> Option<Tested> {
        let share = |load: &Tested| {
            let (failed, all) = (load.failed + load.short_failed, load.trials() + load.short_trials());
            f64::from(failed) / f64::from(all + 1)
        };
        let at_times = self.between.iter().copied().filter(Tested::any_failed);
        let more = |most: Tested, next: Tested| if share(&next) > share(&most) { next } else { most };
        self.fails.or_else(|| at_times.reduce(more))
    }
}

impl std::fmt::Display for Tested {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} ({}/{} failed", self.at, self.failed, self.trials())?;
        match self.short_trials() {
            0 => out.write_str(")"),
            short => write!(out, "; short {}/{short})", self.short_failed),
        }
    }
}

impl std::fmt::Display for Found {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let end = |load: Option<Tested>| load.map_or_else(|| "none".to_owned(), |end| end.to_string());
        write!(out, "holds {}, fails at {}: {}", end(self.holds), end(self.fails), self.ending.words())
    }
}
