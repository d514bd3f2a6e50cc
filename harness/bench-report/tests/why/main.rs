//! Why runs: observations with known parts and what becomes of them, and the page that quotes runs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

#[path = "../shared/samples.rs"]
mod samples;

mod known;
mod ladder;
mod page;
mod slope;
