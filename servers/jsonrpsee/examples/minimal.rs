//! The framework's shortest honest server of getBalance and getBlocks: what the server in `src` is compared with. No
//! middleware, no method beyond the two. Flags, ledger and counters are the server's own; of the tuning it has what
//! costs a request anything.

use std::process::ExitCode;
use std::sync::Arc;

use jsonrpsee::server::{RpcModule, Server, ServerConfig};
use jsonrpsee::types::ErrorObjectOwned;
use server_jsonrpsee::framework;
use server_kit::{Context, Framework, StartError};
use validator_state::{Method, Params};

fn main() -> ExitCode {
    // Its runtime is built by the framework's documentation, without an interval.
    let framework =
        Framework { global_queue: false, websocket: false, ..framework::framework("jsonrpsee-minimal") };
    server_kit::run(&framework, serve)
}

fn serve(context: Context) -> Result<(), StartError> {
    let mut module = RpcModule::new(Arc::clone(&context.state));
    for method in [Method::GetBalance, Method::GetBlocks] {
        let counters = context.counters;
        let registered = module.register_method(method.name(), move |params, state, _| {
            let params = params.as_str().map_or(Params::None, Params::Raw);
            let answer = state.call(method, params);
            counters.count(1, u64::from(answer.is_err()));
            answer.map_err(|error| ErrorObjectOwned::owned(error.code, error.message, error.data))
        });
        registered.map_err(|error| StartError::failed("register the methods", error))?;
    }
    let config = ServerConfig::builder()
        .http_only()
        .set_tcp_no_delay(context.settings.tcp_nodelay)
        .max_connections(context.settings.max_connections.unwrap_or(u32::MAX))
        .build();
    let failed = |error: std::io::Error| StartError::failed("start the server", error);
    let listener = context.listener()?;
    let addr = listener.local_addr().map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(context.settings.threads)
        .enable_all()
        .build()
        .map_err(failed)?;
    let _inside = runtime.enter();
    let server = Server::builder().set_config(config).build_from_tcp(listener).map_err(failed)?.start(module);
    context.ready(addr)?;
    context.shutdown().wait();
    // An error would say that it has stopped already.
    let _stopping = server.stop();
    runtime.block_on(server.stopped());
    Ok(())
}
