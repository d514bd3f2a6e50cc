//! Where servers start to fail: searches, and what was found. Starts no process and reads no clock; `run` asks
//! what comes next and tells what it saw.

use anyhow::Result;

use super::remedies;
use crate::results::{REMEDIED, RunFolder, SEARCHES};

mod found;
mod judge;
mod search;
mod searched;
mod summary;

pub use found::{Counted, Ending, Found};
pub use judge::{complaint, shown};
pub use search::{Rules, Search, Shown, grid};
pub use searched::{Bound, Limit, SearchPlan, Searched};
pub use summary::{ConnectingAt, Died, SearchSummary, ThresholdSummary, causes, failing_trials, summarize};

/// A trial that is to be made, at so many connections.
pub type Asked = super::schedule::Asked<u32>;

/// Many searches at once.
pub type Schedule = super::schedule::Schedule<Search>;

/// Works out what the searches of a search's folder found: thresholds, causes, and what remedies did.
///
/// # Errors
/// A file of the folder can't be read, or its trials are not those of its searches.
pub fn read(folder: &RunFolder) -> Result<ThresholdSummary> {
    let (searches, observations): (SearchPlan, _) = (folder.read_json(SEARCHES)?, folder.observations()?);
    let mut found = summarize(&searches, &observations)?;
    let (plan, conditions) = (folder.plan()?, folder.conditions()?);
    let (ready, cores) = (&conditions.servers, conditions.host.cores);
    found.causes = causes(&searches, &found, &plan.campaign, ready, cores, &observations);
    found.remedies = remedies(folder)?;
    found.remedied = folder.inside(REMEDIED).map(|inner| read(&inner)).transpose()?.map(Box::new);
    Ok(found)
}
