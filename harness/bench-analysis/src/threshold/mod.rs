//! Where servers start to fail: what is searched and by which rule, what a trial shows, and what was found. Starts no
//! process and reads no clock.

use anyhow::Result;

use super::diagnosed::{diagnosed, remedies};
use super::interleaved_searches::Searches;
use bench_model::results::{REMEDIED, RunFolder, SEARCHES};

mod found;
mod judge;
mod search;
mod searched;
mod summary;

pub use super::search::Ending;
pub use found::{Counted, FoundThreshold};
pub use judge::judgement;
pub use search::{Doubling, Rules, Search, grid};
pub use searched::{Bound, Limit, SearchPlan, Searched};
pub use summary::{ConnectingAt, SearchSummary, ThresholdSummary, failing_at};

/// Works out what the searches of a folder found: thresholds, causes, and what remedies did.
///
/// # Errors
/// A file of the folder can't be read, or its trials are not those of its searches.
pub fn read(folder: &RunFolder) -> Result<ThresholdSummary> {
    let (searches, observations): (SearchPlan, _) = (folder.read_json(SEARCHES)?, folder.observations()?);
    let replay = searches.replay(&observations)?;
    let mut summary = searches.summarize(&replay);
    let failing = replay.found().flat_map(|(found, judged)| failing_at(judged, found.fails_most()));
    let (plan, conditions) = (folder.plan()?, folder.conditions()?);
    let cores = conditions.host.cores;
    summary.causes = diagnosed(&plan.campaign, &conditions.servers, cores, failing);
    summary.remedies = remedies(folder)?;
    summary.remedied = folder.inside(REMEDIED).map(|inner| read(&inner)).transpose()?.map(Box::new);
    Ok(summary)
}
