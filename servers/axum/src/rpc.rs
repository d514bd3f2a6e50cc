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
use server_kit::{Counters, NoResult, Offload, Rpc, SlotFeed, Subscriptions, is_json};
use validator_state::Params;

use crate::ws;

const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");

/// What the handlers of a router share: the methods, the longest body in bytes, and the slots to announce.
pub struct Shared<M> {
    pub methods: M,
    pub max_body_bytes: usize,
    pub slots: SlotFeed,
}

/// What [`typed`] answers with.
pub struct Node {
    state: Arc<validator_state::State>,
    counters: Counters,
    pub offload: Option<Offload>,
}

impl Node {
    pub fn answer(&self, body: &str) -> Vec<u8> {
        let mut answer = Vec::with_capacity(128);
        let tally = typed_rpc::answer(&self.state, body, &mut answer);
        self.counters.count(tally.answered, tally.errors);
        answer
    }

    /// The answer to a message on a connection with these subscriptions.
    pub fn answer_message(&self, message: &str, subscriptions: &Subscriptions) -> Vec<u8> {
        let mut answer = Vec::with_capacity(128);
        let others = |name: &str, params: Params<'_>| subscriptions.call(name, params);
        let tally = typed_rpc::answer_with(&self.state, Some(&others), message, &mut answer);
        self.counters.count(tally.answered, tally.errors);
        answer
    }
}

/// The routes: any path takes JSON by POST and WebSocket connections by GET, but for `/health`; other HTTP methods get the
/// framework's 405.
pub fn router(
    rpc: Rpc,
    state: &Arc<validator_state::State>,
    counters: Counters,
    offload: Option<Offload>,
    max_body_bytes: usize,
    slots: &SlotFeed,
) -> Router {
    let slots = slots.clone();
    let rpc = match rpc {
        Rpc::Typed => {
            let methods = Node { state: Arc::clone(state), counters, offload };
            let shared = Arc::new(Shared { methods, max_body_bytes, slots });
            post(typed).get(ws::upgrade::<Node>).with_state(shared)
        }
        Rpc::JsonrpcCore => {
            let methods = core_rpc::handler(state, counters, offload.as_ref());
            let shared = Arc::new(Shared { methods, max_body_bytes, slots });
            post(jsonrpc_core).get(ws::upgrade::<Handler>).with_state(shared)
        }
    };
    let rpc = rpc.options(async || ());
    Router::new().route("/", rpc.clone()).route("/health", get(health).post(health)).route("/{*path}", rpc)
}

/// A body whose content type says JSON.
struct JsonBody(Bytes);

impl<M: Send + Sync> FromRequest<Arc<Shared<M>>> for JsonBody {
    type Rejection = Response;

    async fn from_request(mut request: Request, shared: &Arc<Shared<M>>) -> Result<Self, Response> {
        let content_type = request.headers().get(CONTENT_TYPE);
        if !content_type.is_some_and(|value| is_json(value.as_bytes())) {
            return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response());
        }
        // Here and not as a layer, which would send each request through a second boxed service.
        DefaultBodyLimit::max(shared.max_body_bytes).apply(&mut request);
        Bytes::from_request(request, &()).await.map(Self).map_err(IntoResponse::into_response)
    }
}

async fn health() -> &'static str {
    "ok"
}

async fn typed(
    State(shared): State<Arc<Shared<Node>>>,
    JsonBody(body): JsonBody,
) -> Result<impl IntoResponse, StatusCode> {
    let text = text(&body)?;
    let answer = match &shared.methods.offload {
        Some(offload) if typed_rpc::may_list_blocks(text) => {
            let (shared, text) = (Arc::clone(&shared), text.to_owned());
            let answer = offload.run(move || shared.methods.answer(&text)).await;
            answer.map_err(|NoResult| StatusCode::INTERNAL_SERVER_ERROR)?
        }
        _ => shared.methods.answer(text),
    };
    Ok(([(CONTENT_TYPE, JSON)], Body::from(answer)))
}

async fn jsonrpc_core(
    State(shared): State<Arc<Shared<Handler>>>,
    JsonBody(body): JsonBody,
) -> Result<impl IntoResponse, StatusCode> {
    let answer = shared.methods.handle_request(text(&body)?, Meta::default()).await.unwrap_or_default();
    Ok(([(CONTENT_TYPE, JSON)], Body::from(answer)))
}

fn text(body: &[u8]) -> Result<&str, StatusCode> {
    std::str::from_utf8(body).map_err(|_| StatusCode::BAD_REQUEST)
}
