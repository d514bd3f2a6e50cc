//! The jsonrpsee server with TLS: its service under hyper, as its example of the low-level API has it.

#[path = "../../../jsonrpsee/src/adapter.rs"]
#[allow(dead_code, reason = "its own way to serve is that without TLS")]
mod adapter;
#[path = "../../../jsonrpsee/src/middleware.rs"]
#[allow(dead_code, reason = "it is before what serves without TLS")]
mod middleware;
#[path = "../../../jsonrpsee/src/subscriptions.rs"]
mod subscriptions;

use std::process::ExitCode;

use jsonrpsee::server::{Server, stop_channel};
use server_jsonrpsee::framework;
use server_kit::{BlocksOn, Context, Framework, StartError};
use server_tls::TlsFlags;

fn main() -> ExitCode {
    server_kit::run_with(&Framework { websocket: false, ..framework::framework("jsonrpsee-tls") }, serve)
}

fn serve(context: Context, flags: TlsFlags) -> Result<(), StartError> {
    let methods =
        adapter::methods(&context.state, context.counters, BlocksOn::Worker, context.slots.clone())?;
    let builder = Server::builder().set_config(adapter::config(&context.settings)).to_service_builder();
    // Kept, because the service ends with it.
    let (stop, _kept) = stop_channel();
    server_tls::serve(&context, &flags, || builder.clone().build(methods.clone(), stop.clone()))
}
