//! The methods on jsonrpsee, served on a tokio runtime.
//!
//! Out of scope: what a method means (`validator-state`), nor what the framework answers by itself to requests that are not
//! well formed.

use std::sync::Arc;

#[cfg(feature = "calls")]
use jsonrpsee::server::middleware::rpc::RpcServiceBuilder;
use jsonrpsee::server::{BatchRequestConfig, RpcModule, Server, ServerConfig};
use jsonrpsee::types::{ErrorCode, ErrorObjectOwned, Params as RpcParams};
use server_kit::{
    Accepted, BlocksOn, BlocksOnFlags, Context, Counters, NoResult, Offload, Settings, SlotFeed, StartError,
    Tuning,
};
use tower::ServiceBuilder;
use tower::layer::{LayerFn, layer_fn};
use validator_state::{Answer, MAX_BATCH_ENTRIES, Method, Params, RpcError, State};

use crate::middleware::Health;
use crate::subscriptions;

/// Answers until the end.
///
/// # Errors
/// The server could not start.
pub fn serve(context: Context, flags: BlocksOnFlags) -> Result<(), StartError> {
    let failed = |error: std::io::Error| StartError::failed("start the server", error);
    let methods = methods(&context.state, context.counters, flags.blocks_on, context.slots.clone())?;
    let listener = context.listener()?;
    let addr = listener.local_addr().map_err(failed)?;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(context.settings.threads).enable_all();
    if let Some(interval) = context.settings.global_queue_interval {
        runtime.global_queue_interval(interval);
    }
    let runtime = runtime.build().map_err(failed)?;
    let _inside = runtime.enter();
    context.metrics().runtime.is(runtime.handle());
    let accepted = context.metrics().connections.accepted();
    let http = ServiceBuilder::new().layer(health(accepted));
    #[cfg(feature = "calls")]
    let http = http.layer(layer_fn(crate::calls::NameTransport::new));
    let builder = Server::builder().set_config(config(&context.settings)).set_http_middleware(http);
    #[cfg(feature = "calls")]
    let builder = builder.set_rpc_middleware(RpcServiceBuilder::new().layer_fn(crate::calls::Timed::new));
    let server = builder.build_from_tcp(listener).map_err(failed)?.start(methods);
    context.ready(addr)?;
    context.shutdown().wait();
    // An error would say that it has stopped already.
    let _stopping = server.stop();
    runtime.block_on(server.stopped());
    Ok(())
}

/// The layer of /health, which counts connections too: the framework applies layers once for each.
fn health<S>(accepted: Accepted) -> LayerFn<impl Fn(S) -> Health<S> + Clone> {
    layer_fn(move |inner| {
        accepted.add();
        Health::new(inner)
    })
}

/// The framework's settings that follow from ours.
pub fn config(settings: &Settings) -> ServerConfig {
    let limit = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let config = ServerConfig::builder()
        .max_request_body_size(limit(settings.max_body_bytes))
        .set_batch_request_config(BatchRequestConfig::Limit(limit(MAX_BATCH_ENTRIES)))
        .set_tcp_no_delay(settings.tcp_nodelay)
        .max_connections(settings.max_connections.unwrap_or(u32::MAX));
    match settings.tuning {
        Tuning::Shipped => config,
        // By default a connection has 30 s for its first request, which no other server here limits.
        Tuning::Equal => config.set_first_request_timeout(None),
    }
    .build()
}

/// What the methods answer from, where they count what they answered, and the feed of slots for subscribers.
pub struct Node {
    state: Arc<State>,
    counters: Counters,
    pub slots: SlotFeed,
}

impl Node {
    fn answer(&self, method: Method, params: &RpcParams<'_>) -> Result<Answer, ErrorObjectOwned> {
        let answer = self.state.call(method, own_params(params));
        self.counters.count(1, u64::from(answer.is_err()));
        answer.map_err(own_error)
    }
}

/// The framework's parameters as the methods take them.
pub fn own_params<'a>(params: &'a RpcParams<'_>) -> Params<'a> {
    params.as_str().map_or(Params::None, Params::Raw)
}

/// An error of the methods as the framework has it.
pub fn own_error(error: RpcError) -> ErrorObjectOwned {
    ErrorObjectOwned::owned(error.code, error.message, error.data)
}

/// The contract's methods and the subscriptions, as the framework takes them. Those that list blocks run where `blocks_on` says.
///
/// # Errors
/// Two methods have the same name, or the thread for blocks can't be set up.
pub fn methods(
    state: &Arc<State>,
    counters: Counters,
    blocks_on: BlocksOn,
    slots: SlotFeed,
) -> Result<RpcModule<Node>, StartError> {
    let mut module = RpcModule::new(Node { state: Arc::clone(state), counters, slots });
    let offload = Offload::new(blocks_on)?;
    for method in Method::ALL {
        let on = if method.lists_blocks() { blocks_on } else { BlocksOn::Worker };
        register(&mut module, method, on, offload.clone())?;
    }
    subscriptions::register(&mut module)?;
    Ok(module)
}

fn register(
    module: &mut RpcModule<Node>,
    method: Method,
    on: BlocksOn,
    offload: Option<Offload>,
) -> Result<(), StartError> {
    let registered = match (on, offload) {
        (BlocksOn::OneThread, Some(offload)) => {
            let call = move |params: RpcParams<'static>, node: Arc<Node>, _| {
                let offload = offload.clone();
                async move {
                    let answer = offload.run(move || node.answer(method, &params)).await;
                    answer.unwrap_or_else(|NoResult| Err(ErrorCode::InternalError.into()))
                }
            };
            module.register_async_method(method.name(), call)
        }
        // The framework's own way to the runtime's blocking pool.
        (BlocksOn::Blocking, _) => module
            .register_blocking_method(method.name(), move |params, node, _| node.answer(method, &params)),
        _ => module.register_method(method.name(), move |params, node, _| node.answer(method, &params)),
    };
    registered.map(drop).map_err(|error| StartError::failed("register the methods", error))
}
