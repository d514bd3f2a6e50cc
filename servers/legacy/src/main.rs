//! The legacy server: jsonrpc-core and jsonrpc-http-server, which validators still run, in front of `validator-state`.
//!
//! Not for: what the methods mean (`validator-state`), flags and ready line (`server-kit`).

#![deny(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unreachable,
    reason = "the network reaches this"
)]

mod adapter;
mod framework;
mod listeners;

use std::process::ExitCode;

fn main() -> ExitCode {
    server_kit::run_adapter::<adapter::Legacy>(&framework::framework("legacy"))
}
