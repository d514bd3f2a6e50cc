//! The router: HTTP in, JSON-RPC answers out.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRequest, Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use core_rpc::{Handler, Meta};
use server_kit::{Counters, Rpc, is_json};

/// What [`typed`] answers with.
#[derive(Clone)]
struct Node {
    state: Arc<validator_state::State>,
    counters: Counters,
}

/// The routes: any path takes JSON by POST, but for `/health`; other HTTP methods get the framework's 405.
pub fn router(
    rpc: Rpc,
    state: &Arc<validator_state::State>,
    counters: &Counters,
    max_body_bytes: usize,
) -> Router {
    let rpc = match rpc {
        Rpc::Typed => {
            let node = Node { state: Arc::clone(state), counters: counters.clone() };
            post(typed).with_state(node)
        }
        Rpc::JsonrpcCore => post(jsonrpc_core).with_state(Arc::new(core_rpc::handler(state, counters))),
    };
    let rpc = rpc.options(async || ());
    Router::new()
        .route("/", rpc.clone())
        .route("/health", get(health).post(health))
        .route("/{*path}", rpc)
        .layer(DefaultBodyLimit::max(max_body_bytes))
}

/// A body whose content type says JSON.
struct JsonText(String);

impl<S: Send + Sync> FromRequest<S> for JsonText {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let content_type = request.headers().get(CONTENT_TYPE);
        if !content_type.is_some_and(|value| is_json(value.as_bytes())) {
            return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response());
        }
        String::from_request(request, state).await.map(Self).map_err(IntoResponse::into_response)
    }
}

async fn health() -> &'static str {
    "ok"
}

async fn typed(State(node): State<Node>, JsonText(body): JsonText) -> impl IntoResponse {
    let mut answer = Vec::with_capacity(128);
    let tally = typed_rpc::answer(&node.state, &body, &mut answer);
    node.counters.count(tally.answered, tally.errors);
    ([(CONTENT_TYPE, "application/json; charset=utf-8")], answer)
}

async fn jsonrpc_core(State(handler): State<Arc<Handler>>, JsonText(body): JsonText) -> impl IntoResponse {
    let answer = handler.handle_request(&body, Meta::default()).await.unwrap_or_default();
    ([(CONTENT_TYPE, "application/json; charset=utf-8")], answer)
}
