//! Registers the methods with jsonrpc-core, has jsonrpc-http-server's handler answer them, and mends the framework in the
//! few places where the contract asks for more than it does.
//!
//! A clean call passes through the framework as it comes: parameters as a tree of values, the result as another, text
//! made of it. What is mended stands in the hooks that the framework has for it, and costs a clean call a comparison or
//! two. Not for: what a method means, its limits and errors.

use std::future::{Ready, ready};
use std::sync::Arc;

use jsonrpc_core::futures_util::future::Either;
use jsonrpc_core::{
    Call, Error, ErrorCode, Failure, Id, MetaIoHandler, Metadata, MethodCall, Middleware, Notification,
    Output, Params as RpcParams, Request, Response, Result, Value, Version,
};
use jsonrpc_http_server::hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use jsonrpc_http_server::hyper::{Body, Method as HttpMethod, Request as HttpRequest, StatusCode};
use jsonrpc_http_server::{RequestMiddlewareAction, Response as HttpResponse, Rpc};
use server_kit::{Context, Counters, StartError};
use validator_state::{MAX_BATCH_ENTRIES, Method, Params, RpcError, SlotBudget, State};

use crate::listeners::{Answering, Listeners};

/// Answers until the end.
///
/// # Errors
/// The server could not start.
pub fn serve(context: Context) -> std::result::Result<(), StartError> {
    let max_body_bytes = context.settings.max_body_bytes;
    let answering = answering(&context.state, context.counters.clone(), max_body_bytes);
    let listeners = Listeners::start(&context, answering)?;
    context.ready(listeners.addr())?;
    context.shutdown().wait();
    listeners.drain();
    Ok(())
}

/// What answers requests, with the contract's methods in it.
pub fn answering(state: &Arc<State>, counters: Counters, max_body_bytes: usize) -> Answering {
    // For the life of the process, so that no call counts references to it.
    let counters: &'static Counters = Box::leak(Box::new(counters));
    let extract = move |request: &HttpRequest<Body>| Meta::of(request, counters, max_body_bytes);
    let rpc = Rpc { handler: Arc::new(handler(state, counters)), extractor: Arc::new(extract) };
    Answering { rpc, middleware: Arc::new(health), max_body_bytes }
}

fn handler(state: &Arc<State>, counters: &'static Counters) -> MetaIoHandler<Meta, Mend> {
    let mut handler = MetaIoHandler::with_middleware(Mend { counters });
    for method in Method::ALL {
        let state = Arc::clone(state);
        // A ready future is the leanest that the framework takes: its synchronous methods are boxed once more.
        handler.add_method_with_meta(method.name(), move |params: RpcParams, meta: Meta| {
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

/// GET or POST /health, which the framework knows for GET alone and answers from a method.
fn health(request: HttpRequest<Body>) -> RequestMiddlewareAction {
    if request.uri().path() == "/health" && matches!(*request.method(), HttpMethod::GET | HttpMethod::POST) {
        let answer = HttpResponse {
            code: StatusCode::OK,
            content_type: HeaderValue::from_static("text/plain; charset=utf-8"),
            content: "ok".to_owned(),
        };
        return answer.into();
    }
    request.into()
}

/// What goes with one HTTP request through the framework.
pub struct Meta {
    /// Slots that a batch may still answer with.
    budget: Option<Arc<SlotBudget>>,
    /// Set from the arrival of a body until it is known to be JSON-RPC. The framework answers what is not by itself and
    /// tells nobody, so a parse error is counted when this goes out of use unread.
    unread: Option<&'static Counters>,
}

impl Metadata for Meta {}

impl Meta {
    fn of(request: &HttpRequest<Body>, counters: &'static Counters, max_body_bytes: usize) -> Self {
        let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
        let length = header(CONTENT_LENGTH).and_then(|length| length.parse::<usize>().ok());
        // All else ends in an HTTP error, which is no answer to a call, or might: a body that names no length.
        let is_call = *request.method() == HttpMethod::POST
            && header(CONTENT_TYPE).is_some_and(is_json)
            && length.is_some_and(|length| length <= max_body_bytes);
        Self { budget: None, unread: is_call.then_some(counters) }
    }
}

fn is_json(content_type: &str) -> bool {
    ["application/json", "application/json; charset=utf-8", "application/json;charset=utf-8"]
        .iter()
        .any(|json| content_type.eq_ignore_ascii_case(json))
}

impl Clone for Meta {
    fn clone(&self) -> Self {
        Self { budget: self.budget.clone(), unread: None }
    }
}

impl Drop for Meta {
    fn drop(&mut self) {
        if let Some(counters) = self.unread {
            counters.count(1, 1);
        }
    }
}

/// The framework's hooks, where the contract is better than what a node's own library does.
pub struct Mend {
    counters: &'static Counters,
}

impl Middleware<Meta> for Mend {
    type Future = Ready<Option<Response>>;
    type CallFuture = Ready<Option<Output>>;

    /// Refuses empty and oversized batches, and gives the others one budget of slots.
    fn on_request<F, X>(&self, request: Request, mut meta: Meta, next: F) -> Either<Self::Future, X>
    where
        F: Fn(Request, Meta) -> X + Send + Sync,
        X: Future<Output = Option<Response>> + Send + 'static,
    {
        meta.unread = None;
        if let Request::Batch(calls) = &request {
            let refusal = match calls.len() {
                0 => Some(RpcError::invalid_request()),
                1..=MAX_BATCH_ENTRIES => None,
                _ => Some(RpcError::batch_too_large()),
            };
            if let Some(error) = refusal {
                let (jsonrpc, error) = (Some(Version::V2), wire_error(error));
                self.counters.count(1, 1);
                return Either::Left(ready(Some(Failure { jsonrpc, error, id: Id::Null }.into())));
            }
            meta.budget = Some(Arc::default());
        }
        Either::Right(next(request, meta))
    }

    /// Answers what lacks the version, which the framework answers in kind or, for a notification, not at all.
    fn on_call<F, X>(&self, call: Call, meta: Meta, next: F) -> Either<Self::CallFuture, X>
    where
        F: Fn(Call, Meta) -> X + Send + Sync,
        X: Future<Output = Option<Output>> + Send + 'static,
    {
        let invalid = match call {
            Call::Invalid { id } | Call::MethodCall(MethodCall { jsonrpc: None, id, .. }) => id,
            Call::Notification(Notification { jsonrpc: None, .. }) => Id::Null,
            call => {
                if let Call::MethodCall(call) = &call
                    && Method::from_name(&call.method).is_none()
                {
                    // The framework answers it, and no method of ours is there to count it.
                    self.counters.count(1, 1);
                }
                return Either::Right(next(call, meta));
            }
        };
        self.counters.count(1, 1);
        Either::Left(ready(Some(Output::invalid_request(invalid, Some(Version::V2)))))
    }
}
