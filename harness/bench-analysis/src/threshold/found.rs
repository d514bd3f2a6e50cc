//! What a search found: an interval with its counts, or the reason why an end of it is missing.

use serde::{Deserialize, Serialize};

use crate::search::Ending;

/// A connection count and what its trials showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Connections.
    pub connections: u32,
    /// Trials that failed.
    pub bad: u32,
    /// All trials that passed or failed.
    pub trials: u32,
}

/// Where a server starts to fail. Its threshold, the count from which a trial fails more often than not, is above the
/// highest passing count and at or below the lowest failing one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundThreshold {
    /// The highest count at which every trial passed, with no failing count below it.
    pub last_passing: Option<Counted>,
    /// The failing count above it.
    pub first_failing: Option<Counted>,
    /// Counts between the two, and what was seen there.
    pub between: Vec<Counted>,
    /// Counts below the highest passing one at which a trial failed, and above the lowest failing one at which one
    /// passed: failing does not simply begin somewhere.
    pub contradictions: Vec<Counted>,
    /// Counts that were not tried because their connections were not held; with what other trials showed there, rising.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_held: Vec<Counted>,
    /// How the search ended.
    pub ending: Ending,
    /// Trials in all.
    pub trials: u32,
    /// Trials that showed nothing of the server.
    pub unmeasured: u32,
}

impl FoundThreshold {
    /// The lowest count that is known to fail: the failing one, or else the lowest above the highest passing one at
    /// which a trial failed.
    pub fn fails_at(&self) -> Option<Counted> {
        self.first_failing.or_else(|| self.between.iter().copied().find(|counted| counted.bad > 0))
    }

    /// The count at which it fails most often, to find out why: the failing one, or else that with the largest share
    /// of failed trials, which one failed trial of one is not yet; the lowest of several.
    pub fn fails_most(&self) -> Option<Counted> {
        let share = |counted: &Counted| f64::from(counted.bad) / f64::from(counted.trials + 1);
        let at_times = self.between.iter().copied().filter(|counted| counted.bad > 0);
        let more = |most: Counted, next: Counted| if share(&next) > share(&most) { next } else { most };
        self.first_failing.or_else(|| at_times.reduce(more))
    }
}

impl std::fmt::Display for Counted {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} ({}/{} fail)", self.connections, self.bad, self.trials)
    }
}

impl std::fmt::Display for FoundThreshold {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let end = |counted: Option<Counted>| counted.map_or_else(|| "none".to_owned(), |end| end.to_string());
        write!(
            out,
            "highest passing {}, lowest failing {}",
            end(self.last_passing),
            end(self.first_failing)
        )?;
        match self.ending {
            Ending::Unsettled | Ending::TrialsUsedUp => out.write_str(", not settled"),
            Ending::Unmeasured => out.write_str(", given up because trials showed nothing"),
            Ending::NotHeld | Ending::ToolCeiling => out.write_str(", higher counts not held"),
            Ending::Interval | Ending::FailsAtLowest | Ending::HoldsToHighest | Ending::Unfinished => Ok(()),
        }
    }
}
