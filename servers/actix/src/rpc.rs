//! The routes of the app: HTTP in, JSON-RPC answers out.

use std::sync::Arc;

use actix_web::error::{ErrorBadRequest, ErrorInternalServerError};
use actix_web::guard::GuardContext;
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderValue};
use actix_web::web::{self, Bytes, Data, PayloadConfig, ServiceConfig};
use actix_web::{Error, FromRequest, HttpResponse, Resource, Route, guard};
use core_rpc::{Handler, Meta};
use server_kit::{Counters, NoResult, Offload, Rpc, SlotFeed, SlotQueue, Subscriptions, is_json};
use validator_state::{Params, State};

use crate::ws;

const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");

/// What [`typed`] answers with.
pub struct Node {
    state: Arc<State>,
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

/// The routes, for a worker's app.
pub fn routes(
    rpc: Rpc,
    state: &Arc<State>,
    counters: Counters,
    offload: Option<Offload>,
    max_body_bytes: usize,
    slots: &SlotFeed,
) -> impl Fn(&mut ServiceConfig) + Clone + Send + use<> {
    let slots = slots.clone();
    let handler = Data::new(core_rpc::handler(state, counters, offload.as_ref()));
    let node = Data::new(Node { state: Arc::clone(state), counters, offload });
    move |app| {
        let post = || match rpc {
            Rpc::Typed => web::post().to(typed),
            Rpc::JsonrpcCore => web::post().to(jsonrpc_core),
        };
        let upgrade = || match rpc {
            Rpc::Typed => upgrade::<Data<Node>>(max_body_bytes, &slots),
            Rpc::JsonrpcCore => upgrade::<Data<Handler>>(max_body_bytes, &slots),
        };
        app.app_data(node.clone())
            .app_data(handler.clone())
            .app_data(PayloadConfig::new(max_body_bytes))
            .service(resource("/", post(), upgrade()))
            .service(web::resource("/health").get(health).post(health))
            .service(resource("/{path:.*}", post(), upgrade()));
    }
}

/// A path that takes JSON by POST and WebSocket connections by GET; other HTTP methods get the framework's 405.
fn resource(path: &str, post: Route, upgrade: Route) -> Resource {
    web::resource(path)
        .route(post.guard(guard::fn_guard(has_json)))
        .route(web::post().to(HttpResponse::UnsupportedMediaType))
        .route(web::method(Method::OPTIONS).to(HttpResponse::Ok))
        .route(upgrade.guard(guard::fn_guard(|request| request.head().upgrade())))
}

/// A route whose sockets are answered by the `A` of the app.
fn upgrade<A: ws::Answers + FromRequest>(max_body_bytes: usize, slots: &SlotFeed) -> Route {
    let slots = slots.clone();
    web::get().to(move |request, payload, answers: A| {
        ws::upgrade(request, payload, answers, max_body_bytes, SlotQueue::new(&slots))
    })
}

fn has_json(request: &GuardContext<'_>) -> bool {
    request.head().headers.get(header::CONTENT_TYPE).is_some_and(|value| is_json(value.as_bytes()))
}

async fn health() -> &'static str {
    "ok"
}

async fn typed(node: Data<Node>, body: Bytes) -> Result<HttpResponse, Error> {
    let text = std::str::from_utf8(&body).map_err(ErrorBadRequest)?;
    let answer = match &node.offload {
        Some(offload) if typed_rpc::may_list_blocks(text) => {
            let (node, text) = (node.clone(), text.to_owned());
            let answer = offload.run(move || node.answer(&text)).await;
            answer.map_err(|NoResult| ErrorInternalServerError("the thread for blocks ended"))?
        }
        _ => node.answer(text),
    };
    Ok(HttpResponse::Ok().insert_header((header::CONTENT_TYPE, JSON)).body(answer))
}

async fn jsonrpc_core(handler: Data<Handler>, body: Bytes) -> Result<HttpResponse, Error> {
    let body = std::str::from_utf8(&body).map_err(ErrorBadRequest)?;
    let answer = handler.handle_request(body, Meta::default()).await.unwrap_or_default();
    Ok(HttpResponse::Ok().insert_header((header::CONTENT_TYPE, JSON)).body(answer))
}
