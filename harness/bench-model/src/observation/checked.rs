//! Answers that were compared with the truth while the load was on.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::Sample;

/// Requests of the harness under load, on a connection of its own. The server counts them too.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// Requests sent.
    pub asked: u64,
    /// Those answered with HTTP 200, but not with the truth.
    pub wrong: u64,
    /// Those without an answer in time, or with another HTTP status.
    pub unanswered: u64,
    /// The first wrong answer: the request, its answer, and the true one.
    #[serde(default, with = "bench_system::foreign_text::maybe")]
    pub first_wrong: Option<String>,
}

/// The answers of several samples that were compared with the truth, where any were.
pub fn checked_answers<'a>(samples: impl Iterator<Item = &'a Sample>) -> Option<Checked> {
    samples.filter_map(|sample| sample.checked.clone()).reduce(|sum, checked| Checked {
        asked: sum.asked + checked.asked,
        wrong: sum.wrong + checked.wrong,
        unanswered: sum.unanswered + checked.unanswered,
        first_wrong: sum.first_wrong.or(checked.first_wrong),
    })
}
