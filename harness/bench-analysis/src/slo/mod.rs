//! The highest rate that a server sustains under a service level, after MLRsearch (RFC 9971): which trials meet the
//! level, what many trials say of a rate, the rule of the search, and what was found. Starts no process and reads no
//! clock.
//!
//! What the RFC calls the loss ratio of a trial is here the share of its requests that missed the level: those that
//! failed and those that were too late.

use anyhow::Result;

use bench_model::results::{RunFolder, SLO_PLAN};

mod found;
mod goal;
mod judge;
mod plan;
mod search;
mod summary;

pub use super::search::Ending;
pub use found::{FoundRate, Tested};
pub use goal::{Class, Goal, Tried};
pub use judge::{Judge, Missed};
pub use plan::{RateBound, RateLimit, SloPlan, SloSearched};
pub use search::{MlrSearch, RateLoad, Rules, Search, grid};
pub use summary::{AtLower, Point, PointResult, SloSearch, SloSummary, ToolLimited, summarize};

/// Works out what the searches for rates found, in their folder.
///
/// # Errors
/// A file of the folder can't be read, or its trials are not those of its searches.
pub fn read(folder: &RunFolder) -> Result<SloSummary> {
    let (plan, conditions) = (folder.plan()?, folder.conditions()?);
    let searches: SloPlan = folder.read_json(SLO_PLAN)?;
    summarize(&searches, &plan.campaign, &conditions.servers, &folder.observations()?)
}
