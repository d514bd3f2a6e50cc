//! What the harness knows without starting anything: what a person writes, what is to be done, what came of it, and what that
//! allows to say. The same observations always give the same summary.
//!
//! - [`config`]: campaigns, servers, axes, views and settings, each defined once.
//! - [`workload`]: a request and its true answer. [`load`]: how much is sent, and each load tool's arguments and output.
//! - [`plan`]: the ordered trials. [`observation`]: the result of one trial; a failure is one too. [`figure`]: what can be
//!   read from it.
//! - [`results`]: a run's folder. [`provenance`]: which build a program is of.
//! - [`target`], [`transport`]: where a server is and how it is reached. [`arithmetic`]: formulas that a view states.
//! - [`stats`]: estimates and intervals. [`Comparisons`]: which trials are still needed, and the findings. [`search`]: along a
//!   load axis. [`diagnosis`]: why requests fail. [`views`]: tables of cells.
//!
//! It starts no server and no load; of processes it runs git, cargo, and Go for load tools.

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

// Samples that tests of other crates share name it so.
#[cfg(test)]
extern crate self as bench_core;

pub mod answer;
pub mod arithmetic;
pub mod block_counts;
pub mod cargo;
mod caveats;
pub mod ceilings;
mod cell;
mod comparison;
pub mod config;
mod diagnosed;
pub mod diagnosis;
pub mod faults;
pub mod field_checks;
pub mod figure;
pub mod fitted_lines;
pub mod foreign_text;
pub mod headers;
pub mod interim_analyses;
pub mod interrupted;
mod invalid_trials;
mod latency;
pub mod load;
pub mod machine;
pub mod moves;
mod named_faults;
pub mod observation;
mod observed;
pub mod plan;
pub mod provenance;
pub mod readable_numbers;
pub mod repository;
pub mod results;
mod run_again;
pub mod say;
pub mod search;
pub mod stalls;
pub mod stats;
mod summary;
pub mod target;
#[cfg(test)]
mod tests;
pub mod text_files;
mod timeline;
pub mod transport;
pub mod two_runs;
mod verdict;
pub mod views;
pub mod workload;

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

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
