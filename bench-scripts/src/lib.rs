//! The harness: campaign to plan to run to observations to summary to report, in one direction.
//!
//! [`config`] reads what a person writes; [`plan`] orders the trials; [`workload`] draws the requests; [`run`] carries the
//! trials out with [`subject`] (a server is a process that says when it is ready, or a [`target`] that is there already), [`load`]
//! (a load tool is a process whose output is read once), a [`link`] between the two where the campaign has a network, and [`probe`]
//! (what the system counts); [`observation`] and [`results`] keep what came of them;
//! [`analysis`] works out what that allows to say; [`report`] writes it for a person. Analysis and report never reach the
//! running part.

pub mod analysis;
pub mod arithmetic;
pub mod cgroup;
pub mod client;
pub mod config;
pub mod cost;
mod field_checks;
pub mod figure;
pub mod foreign_text;
pub mod interrupt;
pub mod link;
pub mod load;
pub mod metrics;
pub mod observation;
pub mod owned_process;
pub mod plan;
pub mod probe;
pub mod provenance;
pub mod readable_numbers;
pub mod report;
pub mod repository;
pub mod results;
pub mod run;
pub mod stats;
pub mod subject;
pub mod target;
pub mod transport;
pub mod watch;
pub mod workload;
