//! The contract's methods over axum with JSON-RPC by ajj, written the way ajj's documentation writes a server. HTTP alone: its
//! WebSockets have a path of their own, and no subscriptions of slots.

#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::sync::Arc;

use ajj::{ErrorPayload, Router};
use axum::extract::DefaultBodyLimit;
use axum::routing::get;
use serde_json::Value;
use serde_json::value::RawValue;
use server_axum::serving;
use server_kit::{Context, Counters, Framework, StartError};
use validator_state::{Answer, Method, Params, RpcError, State};

/// What the methods answer from, and where they count what they answered.
#[derive(Clone)]
struct Node {
    state: Arc<State>,
    counters: Counters,
}

fn main() -> ExitCode {
    server_kit::run(&Framework { websocket: false, ..serving::framework("axum-ajj") }, serve)
}

fn serve(context: Context) -> Result<(), StartError> {
    let node = Node { state: Arc::clone(&context.state), counters: context.counters };
    let rpc = Method::ALL.into_iter().fold(Router::new(), |router, method| {
        // Parameters as text, for the reader that the other servers have too.
        router.route(method.name(), move |params: Box<RawValue>, node: Node| async move {
            let answer = node.state.call(method, Params::Raw(params.get()));
            node.counters.count(1, u64::from(answer.is_err()));
            answer.map_err(own_error)
        })
    });
    let rpc = rpc.with_state::<()>(node);
    let router = rpc.clone().into_axum("/").merge(rpc.into_axum("/{*path}"));
    let router = router.route("/health", get(async || "ok").post(async || "ok"));
    serving::serve(&context, router.layer(DefaultBodyLimit::max(context.settings.max_body_bytes)))
}

/// An error of the methods as the library has it.
fn own_error(error: RpcError) -> ErrorPayload<Value> {
    ErrorPayload { code: i64::from(error.code), message: error.message, data: error.data }
}
