//! The framework's shortest honest getBalance: what the adapter in `src` is measured against. No contract beyond that.

use std::future::ready;
use std::process::ExitCode;
use std::sync::Arc;

use jsonrpc_core::{Error, ErrorCode, IoHandler, Params as RpcParams};
use jsonrpc_http_server::ServerBuilder;
use server_kit::{Context, StartError};
use server_legacy::framework;
use validator_state::{Method, Params};

fn main() -> ExitCode {
    server_kit::run(&framework::framework("legacy-minimal"), serve)
}

fn serve(context: Context) -> Result<(), StartError> {
    let mut handler = IoHandler::new();
    let (state, counters) = (Arc::clone(&context.state), context.counters.clone());
    handler.add_method("getBalance", move |params: RpcParams| {
        let RpcParams::Array(params) = params else {
            return ready(Err(Error::invalid_params("not an array")));
        };
        let balance = state.call(Method::GetBalance, Params::Array(params));
        counters.count(1, u64::from(balance.is_err()));
        ready(match balance {
            Ok(balance) => serde_json::to_value(balance).map_err(|_| Error::internal_error()),
            Err(error) => Err(Error {
                code: ErrorCode::from(i64::from(error.code)),
                message: error.message.into_owned(),
                data: error.data,
            }),
        })
    });
    let server = ServerBuilder::new(handler).threads(context.settings.threads);
    let claim = context.claim_port()?;
    let (addr, claim) =
        if context.settings.threads > 1 { (claim.addr(), Some(claim)) } else { (claim.release(), None) };
    let server = server.start_http(&addr).map_err(|error| StartError::failed("start listening", error))?;
    drop(claim);
    context.ready(*server.address())?;
    context.shutdown().wait();
    server.close();
    Ok(())
}
