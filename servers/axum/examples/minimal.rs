//! axum's shortest honest server of getBalance and getBlocks, with `Json<T>` as its documentation shows: what the server in
//! `src` is compared with. Flags, ledger, tuning and counters are the server's own.

use std::process::ExitCode;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
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

async fn answer(State(node): State<Arc<Node>>, Json(call): Json<Call>) -> Result<Json<Reply>, StatusCode> {
    let method = match call.method.as_str() {
        "getBalance" => Method::GetBalance,
        "getBlocks" => Method::GetBlocks,
        _ => return Err(StatusCode::NOT_FOUND),
    };
    let result = node.state.call(method, Params::Array(call.params)).map_err(|_| StatusCode::BAD_REQUEST)?;
    node.counters.count(1, 0);
    Ok(Json(Reply { jsonrpc: "2.0", result, id: call.id }))
}
