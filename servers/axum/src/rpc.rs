//! The router: HTTP in, JSON-RPC answers out.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequest, Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use core_rpc::{Handler, Meta};
use server_kit::{Counters, NoResult, Offload, Rpc, is_json};

const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");

/// What [`typed`] answers with.
struct Node {
    state: Arc<validator_state::State>,
    counters: Counters,
    offload: Option<Offload>,
}

impl Node {
    fn answer(&self, body: &str) -> Vec<u8> {
        let mut answer = Vec::with_capacity(128);
        let tally = typed_rpc::answer(&self.state, body, &mut answer);
        self.counters.count(tally.answered, tally.errors);
        answer
    }
}

/// The routes: any path takes JSON by POST, but for `/health`; other HTTP methods get the framework's 405.
pub fn router(
    rpc: Rpc,
    state: &Arc<validator_state::State>,
    counters: Counters,
    offload: Option<Offload>,
    max_body_bytes: usize,
) -> Router {
    let rpc = match rpc {
        Rpc::Typed => {
            let node = Node { state: Arc::clone(state), counters, offload };
            post(typed).with_state(Arc::new(node))
        }
        Rpc::JsonrpcCore => {
            let handler = core_rpc::handler(state, counters, offload.as_ref());
            post(jsonrpc_core).with_state(Arc::new(handler))
        }
    };
    let rpc = rpc.options(async || ());
    Router::new()
        .route("/", rpc.clone())
        .route("/health", get(health).post(health))
        .route("/{*path}", rpc)
        .layer(DefaultBodyLimit::max(max_body_bytes))
}

/// A body whose content type says JSON.
struct JsonBody(Bytes);

impl<S: Send + Sync> FromRequest<S> for JsonBody {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let content_type = request.headers().get(CONTENT_TYPE);
        if !content_type.is_some_and(|value| is_json(value.as_bytes())) {
            return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response());
        }
        Bytes::from_request(request, state).await.map(Self).map_err(IntoResponse::into_response)
    }
}

async fn health() -> &'static str {
    "ok"
}

async fn typed(
    State(node): State<Arc<Node>>,
    JsonBody(body): JsonBody,
) -> Result<impl IntoResponse, StatusCode> {
    let text = text(&body)?;
    let answer = match &node.offload {
        Some(offload) if typed_rpc::may_list_blocks(text) => {
            let (node, text) = (Arc::clone(&node), text.to_owned());
            let answer = offload.run(move || node.answer(&text)).await;
            answer.map_err(|NoResult| StatusCode::INTERNAL_SERVER_ERROR)?
        }
        _ => node.answer(text),
    };
    Ok(([(CONTENT_TYPE, JSON)], Body::from(answer)))
}

async fn jsonrpc_core(
    State(handler): State<Arc<Handler>>,
    JsonBody(body): JsonBody,
) -> Result<impl IntoResponse, StatusCode> {
    let answer = handler.handle_request(text(&body)?, Meta::default()).await.unwrap_or_default();
    Ok(([(CONTENT_TYPE, JSON)], Body::from(answer)))
}

fn text(body: &[u8]) -> Result<&str, StatusCode> {
    std::str::from_utf8(body).map_err(|_| StatusCode::BAD_REQUEST)
}
