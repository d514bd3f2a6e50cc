//! The axum server with TLS, as axum's example of rustls has it.

#[path = "../../../axum/src/rpc.rs"]
mod rpc;
#[path = "../../../axum/src/ws.rs"]
mod ws;

use std::process::ExitCode;

use server_axum::serving;
use server_kit::{Context, Framework, Rpc, StartError};
use server_tls::TlsFlags;

fn main() -> ExitCode {
    server_kit::run_with(&Framework { websocket: false, ..serving::framework("axum-tls") }, serve)
}

fn serve(context: Context, flags: TlsFlags) -> Result<(), StartError> {
    let most = context.settings.max_body_bytes;
    let router = rpc::router(Rpc::Typed, &context.state, context.counters, None, most, &context.slots);
    server_tls::serve(&context, &flags, move || router.clone())
}
