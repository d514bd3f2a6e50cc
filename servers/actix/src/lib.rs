//! getBalance, getBlocks and the rest of the contract over actix-web, with JSON-RPC by `typed-rpc` or by jsonrpc-core.
//!
//! A library, so that the micro-benchmarks can call it without a socket ([`Unsocketed`]). Out of scope: what the methods mean
//! (`validator-state`), flags and ready line (`server-kit`).

#![deny(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unreachable,
    reason = "the network reaches this"
)]

mod rpc;
pub mod tuning;
mod unsocketed;
mod ws;

use std::process::ExitCode;

use server_kit::{Context, Offload, RpcFlags, StartError};

pub use unsocketed::Unsocketed;

/// Runs the server to its end, as its binary does.
pub fn run() -> ExitCode {
    server_kit::run_with(&tuning::framework("actix"), serve)
}

fn serve(context: Context, flags: RpcFlags) -> Result<(), StartError> {
    let offload = Offload::new(flags.blocks_on.blocks_on)?;
    let most = context.settings.max_body_bytes;
    let routes = rpc::routes(flags.rpc, &context.state, context.counters, offload, most, &context.slots);
    tuning::serve(&context, routes)
}
