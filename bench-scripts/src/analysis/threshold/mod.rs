//! Where servers start to fail: searches, their schedule, and what was found. Starts no process and reads no clock; `run` asks
//! what comes next and tells what it saw.

mod found;
mod judge;
mod schedule;
mod search;
mod searched;
mod summary;

pub use found::{Counted, Ending, Found};
pub use judge::{complaint, is_slow, shown};
pub use schedule::{Asked, Schedule};
pub use search::{Rules, Search, Shown, grid};
pub use searched::{Bound, Limit, SearchPlan, Searched};
pub use summary::{Died, SearchSummary, ThresholdSummary, bad_trials, causes, summarize};
