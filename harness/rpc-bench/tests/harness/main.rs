//! The harness as a person meets it: the real binary, real servers, the real load tool, and everything that can go
//! wrong around them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

mod bench;
mod boxes;
mod causes;
mod distance;
mod duets;
mod examples;
mod failures;
mod folders;
mod hosts;
mod left_running;
mod mistakes;
mod mixes;
mod named_host;
mod nodes;
mod open_loop;
mod other_processes;
mod own_service;
mod planted;
mod reached;
mod record;
mod references;
mod slo;
mod stages;
mod started;
mod stores;
mod strange_servers;
mod threshold;
mod trial;
mod watch;
mod ways;
mod whole;
mod why;
mod wrong_services;
