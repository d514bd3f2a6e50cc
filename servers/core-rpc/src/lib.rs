//! The methods registered with jsonrpc-core 18, the same for every HTTP server that answers with it.
//!
//! A call takes the library's own path: its parameters come as a tree of values and are moved to the method, and its result
//! goes back as another tree. Out of scope: HTTP, and what the methods mean (`validator-state`).

#![forbid(unsafe_code)]
#![deny(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unreachable,
    reason = "the network reaches this"
)]

use std::future::{Ready, ready};
use std::sync::Arc;

use jsonrpc_core::futures_util::future::Either;
use jsonrpc_core::middleware::NoopCallFuture;
#[cfg(feature = "calls")]
use jsonrpc_core::{Call, Output};
use jsonrpc_core::{
    Error, ErrorCode, Failure, Id, MetaIoHandler, Metadata, Middleware, Params as RpcParams, Request,
    Response, Result, Value, Version,
};
use server_kit::{Counters, NoResult, Offload, SUBSCRIBE, Subscriptions, UNSUBSCRIBE};
use validator_state::{MAX_BATCH_ENTRIES, Method, Params, RpcError, SlotBudget, State};

/// The library's handler, as it is set up here.
pub type Handler = MetaIoHandler<Meta, Limits>;

/// The contract's methods, and subscriptions for calls whose [`Meta`] names a connection. Those that list blocks run elsewhere
/// where `offload` says so, up to the tree of their result.
pub fn handler(state: &Arc<State>, counters: Counters, offload: Option<&Offload>) -> Handler {
    let mut handler = MetaIoHandler::with_middleware(Limits);
    for method in Method::ALL {
        let state = Arc::clone(state);
        match offload.filter(|_| method.lists_blocks()) {
            None => handler.add_method_with_meta(method.name(), move |params, meta: Meta| {
                ready(counted(&state, counters, method, params, &meta))
            }),
            Some(offload) => {
                let offload = offload.clone();
                handler.add_method_with_meta(method.name(), move |params, meta: Meta| {
                    let (state, offload) = (Arc::clone(&state), offload.clone());
                    async move {
                        let work = move || counted(&state, counters, method, params, &meta);
                        offload.run(work).await.unwrap_or_else(|NoResult| Err(Error::internal_error()))
                    }
                });
            }
        }
    }
    for name in [SUBSCRIBE, UNSUBSCRIBE] {
        handler
            .add_method_with_meta(name, move |params, meta: Meta| ready(subscription(name, params, &meta)));
    }
    handler
}

fn subscription(name: &str, params: RpcParams, meta: &Meta) -> Result<Value> {
    let answer = meta.subscriptions.as_ref().and_then(|own| own.call(name, as_params(params)));
    answer.ok_or_else(Error::method_not_found)?.map_err(wire_error)
}

/// The parameters as the methods take them.
pub fn as_params(params: RpcParams) -> Params<'static> {
    match params {
        RpcParams::None => Params::None,
        RpcParams::Array(values) => Params::Array(values),
        RpcParams::Map(map) => Params::Map(map),
    }
}

fn counted(
    state: &State,
    counters: Counters,
    method: Method,
    params: RpcParams,
    meta: &Meta,
) -> Result<Value> {
    let result = call(state, method, params, meta.budget.as_deref());
    counters.count(1, u64::from(result.is_err()));
    result
}

fn call(state: &State, method: Method, params: RpcParams, budget: Option<&SlotBudget>) -> Result<Value> {
    let answer = state.call(method, as_params(params)).and_then(|answer| match budget {
        Some(budget) => budget.charge(answer),
        None => Ok(answer),
    });
    serde_json::to_value(answer.map_err(wire_error)?).map_err(|_| Error::internal_error())
}

/// An error as the library has it.
pub fn wire_error(error: RpcError) -> Error {
    Error {
        code: ErrorCode::from(i64::from(error.code)),
        message: error.message.into_owned(),
        data: error.data,
    }
}

/// What goes with each call of one HTTP request or message.
#[derive(Debug, Clone, Default)]
pub struct Meta {
    /// Slots that a batch may still be answered with; `None` for a single call.
    budget: Option<Arc<SlotBudget>>,
    /// Those of the call's connection; `None` where it can have none, as over HTTP.
    subscriptions: Option<Subscriptions>,
    /// The connection, for the subscriptions of jsonrpc-pubsub.
    #[cfg(feature = "pubsub")]
    session: Option<Arc<jsonrpc_pubsub::Session>>,
}

impl Meta {
    /// Of a call on a connection with these subscriptions.
    pub fn with_subscriptions(subscriptions: &Subscriptions) -> Self {
        Self { subscriptions: Some(subscriptions.clone()), ..Self::default() }
    }

    /// Of a call on a connection that jsonrpc-pubsub knows as this session.
    #[cfg(feature = "pubsub")]
    pub fn with_session(session: jsonrpc_pubsub::Session) -> Self {
        Self { session: Some(Arc::new(session)), ..Self::default() }
    }

    #[cfg(feature = "calls")]
    fn transport(&self) -> server_kit::Transport {
        let is_websocket = self.subscriptions.is_some();
        #[cfg(feature = "pubsub")]
        let is_websocket = is_websocket || self.session.is_some();
        if is_websocket { server_kit::Transport::WebSocket } else { server_kit::Transport::Http }
    }
}

impl Metadata for Meta {}

#[cfg(feature = "pubsub")]
impl jsonrpc_pubsub::PubSubMetadata for Meta {
    fn session(&self) -> Option<Arc<jsonrpc_pubsub::Session>> {
        self.session.clone()
    }
}

/// Limits the entries of a batch, and the slots that it is answered with. A validator has neither limit; a single call pays
/// one comparison for them. Calls are timed here too, in a build that does, for the library answers unknown methods by itself.
#[derive(Debug)]
pub struct Limits;

impl Middleware<Meta> for Limits {
    type Future = Ready<Option<Response>>;
    type CallFuture = NoopCallFuture;

    #[cfg(feature = "calls")]
    fn on_call<F, X>(&self, call: Call, meta: Meta, next: F) -> Either<Self::CallFuture, X>
    where
        F: Fn(Call, Meta) -> X + Send + Sync,
        X: Future<Output = Option<Output>> + Send + 'static,
    {
        let method = match &call {
            Call::MethodCall(call) => call.method.clone(),
            _ => return Either::Right(next(call, meta)),
        };
        let (calls, transport) = (server_kit::CallCounters::of_process(), meta.transport());
        let begun = calls.begin();
        let answered = next(call, meta);
        Either::Left(Box::pin(async move {
            let answer = answered.await;
            calls.end(begun, transport, &method, !matches!(answer, Some(Output::Success(_))));
            answer
        }))
    }

    fn on_request<F, X>(&self, request: Request, mut meta: Meta, next: F) -> Either<Self::Future, X>
    where
        F: Fn(Request, Meta) -> X + Send + Sync,
        X: Future<Output = Option<Response>> + Send + 'static,
    {
        if let Request::Batch(calls) = &request {
            if calls.len() > MAX_BATCH_ENTRIES {
                let (jsonrpc, error) = (Some(Version::V2), wire_error(RpcError::batch_too_large()));
                return Either::Left(ready(Some(Failure { jsonrpc, error, id: Id::Null }.into())));
            }
            meta.budget = Some(Arc::default());
        }
        Either::Right(next(request, meta))
    }
}
