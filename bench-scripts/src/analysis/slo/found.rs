//! What a search found: the interval in which the highest sustained rate lies, with its counts, or why an end of it is missing.

use serde::{Deserialize, Serialize};

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
pub struct Found {
    /// The relevant lower bound: the highest sustained rate below the upper bound.
    pub lower: Option<Tested>,
    /// The relevant upper bound: the lowest rate that is not sustained.
    pub upper: Option<Tested>,
    /// The conditional throughput at the lower bound: requests a second that met the service level.
    pub conditional_rate: Option<f64>,
    /// Rates above the upper bound at which a trial met the level all the same.
    pub inversions: Vec<Tested>,
    /// How the search ended.
    pub ending: Ending,
    /// Trials in all.
    pub trials: u32,
    /// Trials of these in which the load tool was the limit.
    pub tool_limited: u32,
    /// Trials of these that gave nothing.
    pub unmeasured: u32,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Both bounds were found, as close as was asked for.
    Interval,
    /// The lowest rate already fails.
    FailsAtLowest,
    /// The highest rate that may be asked for is sustained.
    HoldsToHighest,
    /// The load tool reached no higher rate.
    ToolCeiling,
    /// The trials ran out.
    TrialsUsedUp,
    /// Too many trials gave nothing.
    Unmeasured,
    /// It has not ended yet.
    Unfinished,
}

impl Ending {
    /// As a person says it, but for the reason why no higher rate was asked for.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Interval => "both bounds were found",
            Self::FailsAtLowest => "the lowest rate already fails",
            Self::HoldsToHighest => "sustained up to the highest rate",
            Self::ToolCeiling => "the tool's ceiling",
            Self::TrialsUsedUp => "trials used up",
            Self::Unmeasured => "given up, since trials gave nothing",
            Self::Unfinished => "the search has not ended",
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

impl std::fmt::Display for Found {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let end = |tested: Option<Tested>| tested.map_or_else(|| "none".to_owned(), |end| end.to_string());
        write!(out, "sustains {}, fails at {}: {}", end(self.lower), end(self.upper), self.ending.words())
    }
}
