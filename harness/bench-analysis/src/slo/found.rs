//! What a search found: the interval in which the highest sustained rate lies, with its counts, or why an end of it is
//! missing.

use serde::{Deserialize, Serialize};

use crate::search::Ending;

/// A rate and how its trials ended. A trial is short where its window is below the goal's final trial duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tested {
    /// Requests a second.
    pub rate: u32,
    /// Trials of full length that met the service level.
    pub passed: u32,
    /// Trials of full length that did not.
    pub failed: u32,
    /// Short trials that met it.
    pub short_passed: u32,
    /// Short trials that did not.
    pub short_failed: u32,
}

/// The highest rate that a server sustains: at least the lower bound, and below the upper one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundRate {
    /// The relevant lower bound: the highest sustained rate below the upper bound.
    pub lower: Option<Tested>,
    /// The relevant upper bound: the lowest rate that is not sustained.
    pub upper: Option<Tested>,
    /// The conditional throughput at the lower bound: requests a second that met the service level.
    pub conditional_rate: Option<f64>,
    /// Rates above the upper bound at which a trial met the level nevertheless.
    pub inversions: Vec<Tested>,
    /// How the search ended.
    pub ending: Ending,
    /// Trials in all.
    pub trials: u32,
    /// Trials of these in which the load tool was the limit.
    pub tool_limited: u32,
    /// Trials of these that showed nothing of the server.
    pub unmeasured: u32,
}

impl FoundRate {
    /// How the search ended, but for the reason why no higher rate was tried.
    pub const fn ended(&self) -> &'static str {
        match self.ending {
            Ending::Interval => "both bounds were found",
            Ending::FailsAtLowest => "the lowest rate already fails",
            Ending::HoldsToHighest => "sustained up to the highest rate",
            Ending::ToolCeiling | Ending::NotHeld => "the tool's ceiling",
            Ending::TrialsUsedUp | Ending::Unsettled => "trials used up",
            Ending::Unmeasured => "given up because trials showed nothing",
            Ending::Unfinished => "the search has not ended",
        }
    }
}

impl std::fmt::Display for Tested {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}/s ({}/{} failed", self.rate, self.failed, self.failed + self.passed)?;
        match self.short_failed + self.short_passed {
            0 => out.write_str(")"),
            short => write!(out, "; short {}/{short})", self.short_failed),
        }
    }
}

impl std::fmt::Display for FoundRate {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let end = |tested: Option<Tested>| tested.map_or_else(|| "none".to_owned(), |end| end.to_string());
        write!(out, "sustains {}, fails at {}: {}", end(self.lower), end(self.upper), self.ended())
    }
}
