//! getBalance, getBlocks and the rest of the contract over actix-web.

#![deny(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unreachable,
    reason = "the network reaches this"
)]

mod adapter;
mod tuning;

use std::process::ExitCode;

fn main() -> ExitCode {
    server_kit::run_adapter::<adapter::Actix>(&tuning::framework("actix"))
}
