//! From observations to a summary: estimates with intervals, and the conclusions that they allow. Starts no process and
//! reads no clock, so the same observations always give the same summary.

pub mod answer;
pub mod block_counts;
mod caveats;
pub mod ceilings;
mod cell;
mod comparison;
mod diagnosed;
pub mod diagnosis;
pub mod faults;
pub mod fitted_lines;
pub mod interim_analyses;
mod invalid_trials;
mod latency;
pub mod moves;
mod named_faults;
mod observed;
mod run_again;
pub mod search;
pub mod stalls;
mod summary;
mod timeline;
pub mod two_runs;
mod verdict;
pub mod views;

pub use caveats::Mark;
pub use cell::Cell;
pub use comparison::{Comparison, Comparisons, compares};
pub use diagnosed::{Diagnosed, RemedyPlan, TriedRemedy, diagnosed, remedies, tried_remedies, tried_remedy};
pub use invalid_trials::Uncounted;
pub use latency::LatencyMoment;
pub use named_faults::{of_run as faults_of_run, without_valid_trial};
pub use observed::{Lost, Observed, grouped, invalid_reason, valid};
pub use summary::{Bound, SUMMARY_VERSION, SamplingCores, Summary, summarize};
pub use timeline::Moment;
pub use verdict::{Demand, Finding, Verdict};
