//! The methods on jsonrpc-core and jsonrpc-http-server, set up as a validator sets them up (Agave's `rpc_service.rs`).
//!
//! Not for: what a method means, its limits and errors.

use std::future::{Ready, ready};
use std::sync::Arc;

use jsonrpc_core::futures_util::future::Either;
use jsonrpc_core::middleware::NoopCallFuture;
use jsonrpc_core::{
    Call, Error, ErrorCode, Failure, Id, MetaIoHandler, Metadata, Middleware, Output, Params as RpcParams,
    Request, Response, Result, Value, Version,
};
use jsonrpc_http_server::hyper::header::HeaderValue;
use jsonrpc_http_server::hyper::{Body, Request as HttpRequest, StatusCode};
use jsonrpc_http_server::tokio::runtime;
use jsonrpc_http_server::{
    AccessControlAllowOrigin, DomainsValidation, RequestMiddlewareAction, Response as HttpResponse,
    ServerBuilder,
};
use server_kit::{Context, Counters, StartError};
use validator_state::{MAX_BATCH_ENTRIES, Method, Params, RpcError, SlotBudget, State};

/// Answers until the end: one listener, whose connections and calls all run on one multi-threaded runtime.
///
/// # Errors
/// The server could not start.
pub fn serve(context: Context) -> std::result::Result<(), StartError> {
    let listen = context.settings.listen;
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(context.settings.threads)
        .thread_name("rpc-worker")
        .enable_all()
        .build()
        .map_err(|error| StartError::failed("start the runtime", error))?;
    let server = ServerBuilder::new(handler(&context.state, &context.counters))
        .event_loop_executor(runtime.handle().clone())
        .threads(1)
        .cors(DomainsValidation::AllowOnly(vec![AccessControlAllowOrigin::Any]))
        .cors_max_age(86_400)
        .request_middleware(health)
        .max_request_body_size(context.settings.max_body_bytes)
        .start_http(&listen)
        .map_err(|error| StartError::cannot_listen(listen, error))?;
    context.ready(*server.address())?;
    context.shutdown().wait();
    server.close();
    Ok(())
}

/// The contract's methods.
pub fn handler(state: &Arc<State>, counters: &Counters) -> MetaIoHandler<Meta, Limits> {
    let mut handler = MetaIoHandler::with_middleware(Limits { counters: counters.clone() });
    for method in Method::ALL {
        let (state, counters) = (Arc::clone(state), counters.clone());
        handler.add_method_with_meta(method.name(), move |params, meta: Meta| {
            let result = call(&state, method, params, meta.budget.as_deref());
            counters.count(1, u64::from(result.is_err()));
            ready(result)
        });
    }
    handler
}

fn call(state: &State, method: Method, params: RpcParams, budget: Option<&SlotBudget>) -> Result<Value> {
    let params = match params {
        RpcParams::None => Params::None,
        RpcParams::Array(values) => Params::Array(values),
        RpcParams::Map(map) => Params::Map(map),
    };
    let answer = state.call(method, params).and_then(|answer| match budget {
        Some(budget) => budget.charge(answer),
        None => Ok(answer),
    });
    serde_json::to_value(answer.map_err(wire_error)?).map_err(|_| Error::internal_error())
}

fn wire_error(error: RpcError) -> Error {
    Error {
        code: ErrorCode::from(i64::from(error.code)),
        message: error.message.into_owned(),
        data: error.data,
    }
}

/// /health, before JSON-RPC and for any HTTP method, as a validator answers it.
pub fn health(request: HttpRequest<Body>) -> RequestMiddlewareAction {
    if request.uri().path() != "/health" {
        return request.into();
    }
    let answer = HttpResponse {
        code: StatusCode::OK,
        content_type: HeaderValue::from_static("text/plain; charset=utf-8"),
        content: "ok".to_owned(),
    };
    answer.into()
}

/// What the framework hands to each call of one HTTP request.
#[derive(Debug, Clone, Default)]
pub struct Meta {
    /// Slots that a batch may still be answered with; `None` for a single call.
    budget: Option<Arc<SlotBudget>>,
}

impl Metadata for Meta {}

/// Limits batches, and counts the calls that no method answers.
#[derive(Debug)]
pub struct Limits {
    counters: Counters,
}

impl Middleware<Meta> for Limits {
    type Future = Ready<Option<Response>>;
    type CallFuture = NoopCallFuture;

    fn on_request<F, X>(&self, request: Request, mut meta: Meta, next: F) -> Either<Self::Future, X>
    where
        F: Fn(Request, Meta) -> X + Send + Sync,
        X: Future<Output = Option<Response>> + Send + 'static,
    {
        if let Request::Batch(calls) = &request {
            if calls.len() > MAX_BATCH_ENTRIES {
                self.counters.count(1, 1);
                let (jsonrpc, error) = (Some(Version::V2), wire_error(RpcError::batch_too_large()));
                return Either::Left(ready(Some(Failure { jsonrpc, error, id: Id::Null }.into())));
            }
            meta.budget = Some(Arc::default());
        }
        Either::Right(next(request, meta))
    }

    fn on_call<F, X>(&self, call: Call, meta: Meta, next: F) -> Either<Self::CallFuture, X>
    where
        F: Fn(Call, Meta) -> X + Send + Sync,
        X: Future<Output = Option<Output>> + Send + 'static,
    {
        let reaches_a_method = match &call {
            Call::MethodCall(call) => call.jsonrpc.is_some() && Method::from_name(&call.method).is_some(),
            // Not answered, so not counted.
            Call::Notification(_) => true,
            Call::Invalid { .. } => false,
        };
        if !reaches_a_method {
            self.counters.count(1, 1);
        }
        Either::Right(next(call, meta))
    }
}
