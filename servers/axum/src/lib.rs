//! getBalance, getBlocks and the rest of the contract over axum, with JSON-RPC by `typed-rpc` or by jsonrpc-core.
//!
//! A library, so that the micro-benchmarks can call it without a socket ([`Unsocketed`]). Not for: what the methods mean
//! (`validator-state`), flags and ready line (`server-kit`).

#![forbid(unsafe_code)]
#![deny(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unreachable,
    reason = "the network reaches this"
)]

mod rpc;
mod unsocketed;

use std::io;
use std::process::ExitCode;

use server_kit::{Context, Defaults, Framework, Offload, RpcFlags, StartError, Threads};
use tokio::net::TcpListener;

pub use unsocketed::Unsocketed;

/// The defaults of axum 0.8 with `tokio::net::TcpListener::bind` and `#[tokio::main]` (tokio 1.54, mio 1.2).
const FRAMEWORK: Framework = Framework {
    name: "axum",
    shipped: Defaults {
        threads: Threads::Cores,
        // mio's, which is that of the standard library.
        backlog: 128,
        tcp_nodelay: false,
        keep_alive_ms: None,
        max_connections: None,
        max_body_bytes: 2_097_152,
    },
    fixed_backlog: None,
    global_queue: true,
};

/// Runs the server to its end, as its binary does.
pub fn run() -> ExitCode {
    server_kit::run_with(&FRAMEWORK, serve)
}

fn serve(context: Context, flags: RpcFlags) -> Result<(), StartError> {
    let failed = |error: io::Error| StartError::failed("start the server", error);
    let settings = &context.settings;
    let offload = Offload::new(flags.blocks_on.blocks_on)?;
    let router = rpc::router(flags.rpc, &context.state, context.counters, offload, settings.max_body_bytes);
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(settings.threads).enable_all();
    if let Some(interval) = settings.global_queue_interval {
        runtime.global_queue_interval(interval);
    }
    let runtime = runtime.build().map_err(failed)?;
    runtime.block_on(async {
        // The kit's listener has the backlog, and hands TCP_NODELAY down to its connections.
        let listener = TcpListener::from_std(context.listener()?).map_err(failed)?;
        context.ready(listener.local_addr().map_err(failed)?)?;
        let shutdown = context.shutdown().clone();
        // An error would say that the wait panicked: then too the server is to end.
        let asked_to_end = async move { drop(tokio::task::spawn_blocking(move || shutdown.wait()).await) };
        axum::serve(listener, router).with_graceful_shutdown(asked_to_end).await.map_err(failed)
    })
}
