//! From observations to a summary: estimates with intervals, and what they allow to say. Starts no process and reads no
//! clock, so the same observations always give the same summary.

mod marks;
pub mod stats;
mod summary;

pub use marks::Mark;
pub use summary::{Bound, Cell, Comparison, FailedTrial, Figure, Summary, Verdict, summarize};
