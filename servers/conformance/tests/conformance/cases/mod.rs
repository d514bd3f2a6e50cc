//! The table of well-formed requests: what is sent, and what every server has to answer.

mod batches;
mod calls;
mod http;
mod methods;

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};
use server_kit::testing::{HttpAnswer, exchange, request};

use crate::servers::Server;
use crate::verdict::Verdict;

/// One row of the table.
pub struct Case {
    pub name: String,
    /// The request, byte for byte.
    request: Vec<u8>,
    /// Its body, where a POST of it is all that the request is.
    pub body: Option<String>,
    pub want: Want,
}

/// The answer that the contract demands.
#[derive(Debug)]
pub enum Want {
    /// 200 and this JSON.
    Json(Value),
    /// A text with a status.
    Text(u16, &'static str),
}

/// Sends a server every case.
pub fn hold(server: &Server) {
    let mut verdict = Verdict::of(server);
    let (ledger, large_ledger) = (server.start(&[]), server.start_large());
    for case in small() {
        verdict.take(&case.name, case.ask(ledger.addr));
    }
    for case in large() {
        verdict.take(&case.name, case.ask(large_ledger.addr));
    }
    verdict.close();
}

/// The cases over the ledger of the recordings.
pub fn small() -> Vec<Case> {
    let cases = [methods::cases(), calls::cases(), batches::cases(), http::cases()];
    cases.into_iter().flatten().collect()
}

/// The cases over a ledger with more slots than one answer may have.
pub fn large() -> Vec<Case> {
    methods::large_cases()
}

impl Case {
    /// A body by POST.
    pub fn post(name: impl Into<String>, body: impl AsRef<str>, want: Want) -> Self {
        let body = body.as_ref().to_owned();
        Self { name: name.into(), request: request(&body), body: Some(body), want }
    }

    /// Bytes as they are.
    pub fn raw(name: impl Into<String>, request: impl Into<Vec<u8>>, want: Want) -> Self {
        Self { name: name.into(), request: request.into(), body: None, want }
    }

    fn ask(&self, addr: SocketAddr) -> Result<(), String> {
        // A connection that breaks fails one case, not the table.
        let answer = catch_unwind(AssertUnwindSafe(|| exchange(addr, &self.request)));
        self.want.check(&answer.map_err(|_| "no answer; see above".to_owned())?)
    }
}

impl Want {
    fn check(&self, got: &HttpAnswer) -> Result<(), String> {
        let (status, media) = match self {
            Self::Json(_) => (200, "application/json"),
            Self::Text(status, _) => (*status, "text/plain"),
        };
        let right_media =
            got.content_type.as_ref().is_some_and(|got| got.to_ascii_lowercase().starts_with(media));
        let right_body = match self {
            Self::Json(json) => serde_json::from_str::<Value>(&got.body).is_ok_and(|got| got == *json),
            Self::Text(_, text) => got.body == *text,
        };
        if got.status == status && right_media && right_body {
            return Ok(());
        }
        let shown: String = format!("{got:?}").chars().take(300).collect();
        let wanted: String = format!("{self:?}").chars().take(300).collect();
        Err(format!("{shown}, not {wanted}"))
    }
}

/// A call with id 1.
pub fn call(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

/// The answer to a call with id 1.
pub fn result(result: Value) -> Want {
    Want::Json(json!({"jsonrpc": "2.0", "result": result, "id": 1}))
}

/// An error to a call with id 1.
pub fn error(code: i64, message: &str) -> Want {
    Want::Json(error_object(json!(1), code, message))
}

/// An error as an entry of a batch.
pub fn error_object(id: Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "error": {"code": code, "message": message}, "id": id})
}

#[test]
fn wrong_answers_are_detected() {
    let answer = |status, content_type: &str, body: &str| HttpAnswer {
        status,
        content_type: Some(content_type.to_owned()),
        body: body.to_owned(),
    };
    let json = "application/json; charset=utf-8";
    let ok = r#"{"jsonrpc":"2.0","id":1,"result":"ok"}"#;
    assert_eq!(result(json!("ok")).check(&answer(200, json, ok)), Ok(()));
    for wrong in [answer(500, json, ok), answer(200, "text/html", ok), answer(200, json, "null")] {
        assert!(result(json!("ok")).check(&wrong).is_err(), "{wrong:?}");
    }
    assert!(Want::Text(200, "ok").check(&answer(200, "text/plain", "OK")).is_err());
}
