//! actix-web's shortest honest server of getBalance and getBlocks, with `web::Json<T>` as its documentation shows: what the
//! server in `src` is compared with. Flags, ledger, tuning and counters are the server's own.

use std::process::ExitCode;
use std::sync::Arc;

use actix_web::error::{ErrorBadRequest, ErrorNotFound};
use actix_web::web::{self, Data, Json};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use server_actix::tuning;
use server_kit::{Context, Counters, Framework, StartError};
use validator_state::{Answer, Method, Params, State};

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
    state: Arc<State>,
    counters: Counters,
}

fn main() -> ExitCode {
    let framework = Framework { websocket: false, ..tuning::framework("actix-minimal") };
    server_kit::run(&framework, serve)
}

fn serve(context: Context) -> Result<(), StartError> {
    let node = Data::new(Node { state: Arc::clone(&context.state), counters: context.counters });
    tuning::serve(&context, move |app| {
        app.app_data(node.clone()).route("/", web::post().to(answer));
    })
}

async fn answer(node: Data<Node>, call: Json<Call>) -> actix_web::Result<Json<Reply>> {
    let Call { method, params, id } = call.into_inner();
    let method = match method.as_str() {
        "getBalance" => Method::GetBalance,
        "getBlocks" => Method::GetBlocks,
        _ => return Err(ErrorNotFound("no such method")),
    };
    let result =
        node.state.call(method, Params::Array(params)).map_err(|error| ErrorBadRequest(error.message))?;
    node.counters.count(1, 0);
    Ok(Json(Reply { jsonrpc: "2.0", result, id }))
}
