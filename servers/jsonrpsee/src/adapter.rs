//! Registers the methods with jsonrpsee and serves them on a tokio runtime.
//!
//! Not for: what a method means (`validator-state`), nor where the framework is mended (`mend`).

use std::sync::Arc;

use jsonrpsee::server::middleware::rpc::RpcServiceBuilder;
use jsonrpsee::server::{BatchRequestConfig, RegisterMethodError, RpcModule, Server, ServerConfig};
use jsonrpsee::types::{ErrorObjectOwned, Params as RpcParams};
use server_kit::{Context, Settings, StartError, Tuning};
use tokio::runtime::Runtime;
use tower::ServiceBuilder;
use validator_state::{Answer, MAX_BATCH_ENTRIES, Method, Params, SlotBudget, State};

use crate::clean::MarkClean;
use crate::mend::MendLayer;

/// Answers until the end.
///
/// # Errors
/// The server could not start.
pub fn serve(context: Context) -> Result<(), StartError> {
    let failed = |error: std::io::Error| StartError::failed("start the server", error);
    let methods =
        methods(&context.state).map_err(|error| StartError::failed("register the methods", error))?;
    let mend = MendLayer::new(&context.state, context.counters.clone(), context.settings.max_body_bytes);
    let listener = context.listener()?;
    let addr = listener.local_addr().map_err(failed)?;
    let runtime = runtime(&context.settings).map_err(failed)?;
    let _inside = runtime.enter();
    let server = Server::builder()
        .set_config(config(&context.settings))
        .set_rpc_middleware(RpcServiceBuilder::new().layer_fn(MarkClean::new))
        .set_http_middleware(ServiceBuilder::new().layer(mend))
        .build_from_tcp(listener)
        .map_err(failed)?
        .start(methods);
    context.ready(addr)?;
    context.shutdown().wait();
    // An error would say that it has stopped already.
    let _stopping = server.stop();
    runtime.block_on(server.stopped());
    Ok(())
}

fn runtime(settings: &Settings) -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(settings.threads).enable_all().build()
}

/// The framework's settings that follow from ours.
pub fn config(settings: &Settings) -> ServerConfig {
    let limit = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let config = ServerConfig::builder()
        .http_only()
        .max_request_body_size(limit(settings.max_body_bytes))
        .set_batch_request_config(BatchRequestConfig::Limit(limit(MAX_BATCH_ENTRIES)))
        .set_tcp_no_delay(settings.tcp_nodelay)
        .max_connections(settings.max_connections.unwrap_or(u32::MAX));
    match settings.tuning {
        Tuning::Shipped => config,
        // By default a connection has 30 s for its first request, and an answer 10 MiB.
        Tuning::Equal => config.set_first_request_timeout(None).max_response_body_size(u32::MAX),
    }
    .build()
}

/// The contract's methods, as the framework takes them.
pub fn methods(state: &Arc<State>) -> Result<RpcModule<Arc<State>>, RegisterMethodError> {
    let mut module = RpcModule::new(Arc::clone(state));
    for method in Method::ALL {
        module.register_method(method.name(), move |params, state, extensions| {
            // Put there by `clean` for the calls of a batch.
            call(state, method, &params, extensions.get::<Arc<SlotBudget>>())
        })?;
    }
    Ok(module)
}

fn call(
    state: &State,
    method: Method,
    params: &RpcParams<'_>,
    budget: Option<&Arc<SlotBudget>>,
) -> Result<Answer, ErrorObjectOwned> {
    let params = params.as_str().map_or(Params::None, Params::Raw);
    let answer = state.call(method, params).and_then(|answer| match budget {
        Some(budget) => budget.charge(answer),
        None => Ok(answer),
    });
    answer.map_err(|error| ErrorObjectOwned::owned(error.code, error.message, error.data))
}
