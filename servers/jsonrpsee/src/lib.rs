//! The jsonrpsee server: jsonrpsee on a tokio runtime, in front of `validator-state`.
//!
//! A library, so that the micro-benchmarks can call it without a socket ([`Unsocketed`]). Out of scope: what the methods mean
//! (`validator-state`), flags and ready line (`server-kit`).

#![deny(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unreachable,
    reason = "the network reaches this"
)]

mod adapter;
#[cfg(feature = "calls")]
mod calls;
pub mod framework;
mod middleware;
mod subscriptions;
mod unsocketed;

use std::process::ExitCode;

pub use unsocketed::Unsocketed;

/// Runs the server to its end, as its binary does.
pub fn run() -> ExitCode {
    server_kit::run_with(&framework::framework("jsonrpsee"), adapter::serve)
}
