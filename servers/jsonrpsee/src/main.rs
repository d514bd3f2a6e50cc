//! The jsonrpsee server: jsonrpsee on a tokio runtime, in front of `validator-state`.
//!
//! Not for: what the methods mean (`validator-state`), flags and ready line (`server-kit`).

#![deny(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unreachable,
    reason = "the network reaches this"
)]

mod adapter;
mod clean;
mod framework;
mod mend;

use std::process::ExitCode;

fn main() -> ExitCode {
    server_kit::run_adapter::<adapter::Jsonrpsee>(&framework::framework("jsonrpsee"))
}
