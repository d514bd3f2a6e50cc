//! axum's shortest honest server of getBalance and getBlocks: what the server in `src` is compared with. It reads the bytes of a
//! body by `serde_json::from_slice`, because axum's `Json<T>` reads by a parser that also remembers where it is. It answers with
//! the bytes of `serde_json::to_vec`. Flags, ledger, tuning and counters are the server's own.

use std::process::ExitCode;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use server_axum::serving;
use server_kit::{Context, Counters, Framework, StartError};
use validator_state::{Answer, Method, Params};

#[derive(Deserialize)]
struct Call {
    method: String,
    params: Vec<Value>,
    id: u64,
}

#[derive(Serialize)]
struct Reply {
    jsonrpc: &'static str,
    result: Answer,
    id: u64,
}

struct Node {
    state: Arc<validator_state::State>,
    counters: Counters,
}

fn main() -> ExitCode {
    let framework = Framework { websocket: false, ..serving::framework("axum-minimal") };
    server_kit::run(&framework, serve)
}

fn serve(context: Context) -> Result<(), StartError> {
    let node = Arc::new(Node { state: Arc::clone(&context.state), counters: context.counters });
    serving::serve(&context, Router::new().route("/", post(answer)).with_state(node))
}

async fn answer(State(node): State<Arc<Node>>, body: Bytes) -> Result<Response, StatusCode> {
    let call: Call = serde_json::from_slice(&body).map_err(|_| StatusCode::BAD_REQUEST)?;
    let method = match call.method.as_str() {
        "getBalance" => Method::GetBalance,
        "getBlocks" => Method::GetBlocks,
        _ => return Err(StatusCode::NOT_FOUND),
    };
    let result = node.state.call(method, Params::Array(call.params)).map_err(|_| StatusCode::BAD_REQUEST)?;
    node.counters.count(1, 0);
    let reply = Reply { jsonrpc: "2.0", result, id: call.id };
    let body = text(&reply).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

/// In a function of its own: inlined into the handler's future, each comma of the answer is written by a call, which is half as many
/// instructions again for getBlocks.
#[inline(never)]
fn text(reply: &Reply) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(reply)
}
