//! actix-web's shortest honest server of the two requests that are measured: what the framework costs without the rest of the
//! contract. The campaign adapter-cost compares the server with it. Flags, ledger, tuning and counters are the server's own.

use std::process::ExitCode;

use actix_web::web::{self, Bytes, Data};
use actix_web::{HttpResponse, Responder};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use server_actix::tuning;
use server_kit::{Context, Counters, StartError};
use validator_state::{Answer, Method, Params, State};

#[derive(Deserialize)]
struct Call<'a> {
    method: &'a str,
    #[serde(borrow)]
    params: &'a RawValue,
    id: u64,
}

#[derive(Serialize)]
struct Reply {
    jsonrpc: &'static str,
    result: Answer,
    id: u64,
}

fn main() -> ExitCode {
    server_kit::run(&tuning::framework("actix-minimal"), serve)
}

fn serve(context: Context) -> Result<(), StartError> {
    let state = Data::from(context.state.clone());
    let counters = Data::new(context.counters);
    tuning::serve(&context, move |app| {
        app.app_data(state.clone()).app_data(counters.clone()).route("/", web::post().to(answer));
    })
}

async fn answer(state: Data<State>, counters: Data<Counters>, body: Bytes) -> impl Responder {
    let Ok(Call { method, params, id }) = serde_json::from_slice(&body) else {
        return HttpResponse::BadRequest().finish();
    };
    let method = match method {
        "getBalance" => Method::GetBalance,
        "getBlocks" => Method::GetBlocks,
        _ => return HttpResponse::NotFound().finish(),
    };
    match state.call(method, Params::Raw(params.get())) {
        Ok(result) => {
            counters.count(1, 0);
            HttpResponse::Ok().content_type("application/json; charset=utf-8").json(Reply {
                jsonrpc: "2.0",
                result,
                id,
            })
        }
        Err(_) => HttpResponse::BadRequest().finish(),
    }
}
