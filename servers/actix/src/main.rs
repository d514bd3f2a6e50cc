//! getBalance, getBlocks and the rest of the contract over actix-web.

mod adapter;
mod tuning;

use std::process::ExitCode;

fn main() -> ExitCode {
    server_kit::run(&tuning::framework("actix"), adapter::serve)
}
