//! Where servers start to fail: searches, and what was found. Starts no process and reads no clock; `run` asks
//! what comes next and tells what it saw.

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
