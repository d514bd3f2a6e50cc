//! The nouns of the harness and their files: what a person writes, what is to be done, and what came of it. It starts
//! no server and no load; it runs git, compilers and the builds of load tools.
//!
//! - [`config`]: campaigns, servers, axes, views and settings, each defined once.
//! - [`workload`]: a request and its true answer. [`load`]: how much is sent, and each load tool's arguments and
//!   output.
//! - [`plan`]: the ordered trials. [`observation`]: the result of one trial; a failure is one too. [`figure`]: what can
//!   be read from it.
//! - [`results`]: a run's folder. [`provenance`]: which sources and which build a program is of. [`cost`]: what a why
//!   run observes.
//! - [`target`], [`transport`]: where a server is and how it is reached. [`arithmetic`]: formulas that a view states.
//!
//! It draws no conclusion (`bench-analysis`), writes no report (`bench-report`) and measures nothing (`bench-measure`).

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub mod arithmetic;
pub mod config;
pub mod field_checks;
pub mod figure;
pub mod headers;
pub mod load;
pub mod observation;
pub mod plan;
pub mod provenance;
pub mod results;
pub mod target;
#[cfg(test)]
mod tests;
pub mod transport;
pub mod workload;

/// Whether a field has its default, so that it need not be written.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
