//! From observations to a summary: estimates with intervals, and the conclusions that they allow. Starts no process and reads no
//! clock, so the same observations always give the same summary.

pub mod answer;
pub mod between;
pub mod boxed;
pub mod bursts;
pub mod by_rate;
pub mod calibration;
pub mod ceilings;
mod comparison;
pub mod crossed;
mod diagnosed;
pub mod diagnosis;
pub mod head_of_line;
pub mod held;
pub mod hosts;
pub mod in_flight_memory;
mod latency_course;
pub mod lines;
mod marks;
mod observed;
pub mod open_loop;
pub mod original;
pub mod pooled;
mod quantiles;
pub mod schedule;
pub mod search;
pub mod sequence;
pub mod sizes;
pub mod slo;
pub mod soak;
pub mod stages;
mod summary;
pub mod threshold;
mod timeline;
mod uncounted;
mod verdict;
pub mod why;

pub use comparison::{Comparison, Comparisons, JUDGED, Terms, demand};
pub use diagnosed::{Diagnosed, RemedyPlan, TriedRemedy, diagnosed, remedies, tried_remedies, tried_remedy};
pub use latency_course::LatencyMoment;
pub use marks::{Mark, NEAR_CEILING};
pub use observed::{Lost, Observed, invalid_reason, log_ratios, valid};
pub use summary::{Bound, Cell, SamplingCores, Summary, summarize};
pub use timeline::Moment;
pub use uncounted::{FailedTrial, InvalidTrial};
pub use verdict::{Better, Demand, Finding, LogRatio, Verdict};
