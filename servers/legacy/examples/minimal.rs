//! The framework's shortest honest server of getBalance and getBlocks, on one runtime that all connections share: what the
//! server in `src` is compared with. No limit, no /health, no method beyond the two. Flags, ledger and counters are the server's own.

use std::future::ready;
use std::process::ExitCode;
use std::sync::Arc;

use jsonrpc_core::{Error, ErrorCode, IoHandler, Params as RpcParams};
use jsonrpc_http_server::ServerBuilder;
use jsonrpc_http_server::tokio::runtime;
use server_kit::{Context, Framework, StartError};
use server_legacy::framework;
use validator_state::{Method, Params};

fn main() -> ExitCode {
    // Its runtime is built by the framework's documentation, without an interval.
    let framework = Framework { global_queue: false, ..framework::framework("legacy-minimal") };
    server_kit::run(&framework, serve)
}

fn serve(context: Context) -> Result<(), StartError> {
    let mut handler = IoHandler::new();
    for method in [Method::GetBalance, Method::GetBlocks] {
        let (state, counters) = (Arc::clone(&context.state), context.counters);
        handler.add_method(method.name(), move |params: RpcParams| {
            let RpcParams::Array(params) = params else {
                return ready(Err(Error::invalid_params("not an array")));
            };
            let answer = state.call(method, Params::Array(params));
            counters.count(1, u64::from(answer.is_err()));
            ready(match answer {
                Ok(answer) => serde_json::to_value(answer).map_err(|_| Error::internal_error()),
                Err(error) => Err(Error {
                    code: ErrorCode::from(i64::from(error.code)),
                    message: error.message.into_owned(),
                    data: error.data,
                }),
            })
        });
    }
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(context.settings.threads)
        .enable_all()
        .build()
        .map_err(|error| StartError::failed("start the runtime", error))?;
    let listen = context.settings.listen;
    let server = ServerBuilder::new(handler)
        .event_loop_executor(runtime.handle().clone())
        .start_http(&listen)
        .map_err(|error| StartError::cannot_listen(listen, error))?;
    context.ready(*server.address())?;
    context.shutdown().wait();
    server.close();
    Ok(())
}
