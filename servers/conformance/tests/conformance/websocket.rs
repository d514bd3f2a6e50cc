//! The same calls over WebSocket: where JSON-RPC decides, the answer is that of HTTP.
//!
//! How WebSocket itself is spoken (frames, limits, ends) is tested in the crate of each server, by `server_kit::test_websocket!`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use conformance::malformed::json_rows;
use conformance::servers::JSONRPSEE;
use serde_json::Value;
use server_kit::testing::ws_client::{Message, WsConnection};
use server_kit::testing::{Running, post};

use crate::cases::{self, Want};
use crate::oracle;
use crate::servers::Server;
use crate::verdict::Verdict;

/// A connection to a server, replaced where a case breaks it.
struct Client<'a> {
    running: &'a Running,
    connection: WsConnection,
}

impl<'a> Client<'a> {
    fn new(running: &'a Running) -> Self {
        Self { running, connection: WsConnection::open(running) }
    }

    /// The answer to one message.
    fn ask(&mut self, message: impl Into<Message>) -> Result<Value, String> {
        let message = message.into();
        let connection = AssertUnwindSafe(&mut self.connection);
        let answer = catch_unwind(move || {
            let connection = connection;
            connection.0.send(message);
            connection.0.answer()
        });
        answer.map_err(|_| {
            self.connection = WsConnection::open(self.running);
            "no answer; see above".to_owned()
        })
    }
}

/// The server, unless it has no WebSocket.
fn start(server: &Server, launch: impl Fn(&Server) -> Running) -> Option<Running> {
    let running = launch(server);
    let has_websocket = !running.ready["ws"].is_null();
    if !has_websocket {
        println!("{}: skipped, its ready line names no WebSocket", server.name);
    }
    has_websocket.then_some(running)
}

/// The table of cases.
pub fn holds_cases(server: &Server) {
    let mut verdict = Verdict::of(server);
    let Some(small) = start(server, |server| server.start_with_ws(&[])) else { return };
    let large = server.start_large_with_ws();
    for (running, cases) in [(&small, cases::small()), (&large, cases::large())] {
        let mut client = Client::new(running);
        for case in cases {
            let (Some(body), Want::Json(json)) = (case.body, case.want) else { continue };
            let answer = client.ask(body.as_str());
            verdict.take(&case.name, equal(answer, &json));
        }
    }
    verdict.close();
}

/// The recorded requests that are well-formed.
pub fn replays(server: &Server) {
    let Some(running) = start(server, |server| server.start_with_ws(&[])) else { return };
    let (mut client, mut verdict) = (Client::new(&running), Verdict::of(server));
    let mut sent = 0;
    for row in oracle::rows().iter().filter(|row| oracle::is_well_formed(row)) {
        let body = String::from_utf8(oracle::body(row)).expect("well-formed bodies are text");
        let recorded = oracle::recorded_answer(row);
        sent += 1;
        let state = row["state"].as_str().unwrap_or_default();
        let answer = client.ask(body.as_str()).map(|answer| oracle::without_moments(state, answer));
        let name = row["name"].as_str().unwrap_or_default();
        verdict.take(&format!("oracle/{name}"), equal(answer, &recorded));
    }
    assert_eq!(sent, oracle::ROWS.1);
    verdict.close();
}

/// Malformed calls: what HTTP answers with a body, WebSocket answers with the same JSON; the rest has no answer.
pub fn answers_malformed_calls(server: &Server) {
    let Some(running) = start(server, |server| server.start_with_ws(&[])) else { return };
    let (mut client, mut verdict) = (Client::new(&running), Verdict::of(server));
    for (at, row) in json_rows().iter().enumerate() {
        // Bytes that are no text are each framework's own matter, see the crates of the servers.
        let Ok(body) = std::str::from_utf8(&row.request.payload) else { continue };
        let over_http = serde_json::from_str(&post(running.addr, body).body).unwrap_or(Value::Null);
        let outcome = if over_http.is_null() {
            // The next answer is that to another call.
            let id = format!("after {at}");
            let call = format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"getHealth"}}"#);
            client.connection.send(body);
            client.ask(call.as_str()).and_then(|answer| {
                if answer["id"] == id { Ok(()) } else { Err(format!("{answer}, which HTTP has not")) }
            })
        } else {
            equal(client.ask(body), &over_http)
        };
        verdict.take(&row.name, outcome);
    }
    verdict.close();
}

fn equal(answer: Result<Value, String>, expected: &Value) -> Result<(), String> {
    let answer = answer?;
    if answer == *expected {
        return Ok(());
    }
    let shown = |value: &Value| value.to_string().chars().take(300).collect::<String>();
    Err(format!("{}, not {}", shown(&answer), shown(expected)))
}

/// A subscription without a connection to announce on: a method that is not found, as on a node's port for HTTP. jsonrpsee knows
/// the method and has an error of its own for this.
pub fn has_no_subscriptions_over_http(server: &Server) {
    let running = server.start_with_ws(&[]);
    let expected = match server.name.as_str() {
        JSONRPSEE => cases::error_object(Value::from(1), -32603, "Internal error"),
        _ => cases::error_object(Value::from(1), -32601, "Method not found"),
    };
    for call in [cases::call("slotSubscribe", "[]"), cases::call("slotUnsubscribe", "[0]")] {
        assert_eq!(post(running.addr, &call).json(), expected, "{}: {call}", server.name);
        assert_eq!(post(running.addr, &format!("[{call}]")).json()[0], expected, "{}: {call}", server.name);
    }
}
