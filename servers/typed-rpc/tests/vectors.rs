//! The recorded answers of a real node to well-formed requests, replayed without a socket.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

use std::path::Path;

use serde_json::{Value, json};
use validator_state::{Ledger, State};

/// Whether a value is one JSON-RPC 2.0 call with nothing in it that the standard does not name.
fn is_call(value: &Value) -> bool {
    let Some(members) = value.as_object() else { return false };
    members.keys().all(|name| ["jsonrpc", "method", "params", "id"].contains(&name.as_str()))
        && value["jsonrpc"] == "2.0"
        && value["method"].is_string()
        && members.get("id").is_some_and(|id| id.is_null() || id.is_string() || id.is_u64())
        && members.get("params").is_none_or(|params| params.is_array() || params.is_object())
}

/// Whether a body is one call, or a batch of 1 to 100 of them. serde_json refuses infinite numbers and deep nesting.
fn is_well_formed(body: &str) -> bool {
    match serde_json::from_str(body) {
        Ok(Value::Array(calls)) => (1..=100).contains(&calls.len()) && calls.iter().all(is_call),
        Ok(value) => is_call(&value),
        Err(_) => false,
    }
}

/// Removes what depends on the moment of the recording: the slot of a value's context, and the newest slot.
fn normal(text: &str, moment: &str) -> Value {
    let mut answer: Value =
        if text.trim().is_empty() { Value::Null } else { serde_json::from_str(text).unwrap() };
    let slots = match moment {
        "context" => ["/result/context/slot", "/error/data/contextSlot"],
        "tip" => ["/result", "/error/data/contextSlot"],
        _ => return answer,
    };
    for pointer in slots {
        if let Some(slot) = answer.pointer_mut(pointer).filter(|slot| slot.is_u64()) {
            *slot = json!("any");
        }
    }
    answer
}

#[test]
fn every_well_formed_request_is_answered_as_recorded() {
    let oracle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/oracle");
    let state = State::new(Ledger::load(&oracle.join("ledger")).unwrap());
    let vectors = std::fs::read_to_string(oracle.join("agave-2.3.13.jsonl")).unwrap();
    let mut replayed = 0;
    for line in vectors.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = |member: &str| row[member].as_str().unwrap_or_default();
        // Rows about HTTP itself (methods, content types, sizes) are replayed over sockets by the conformance crate.
        let Some(body) = row["body"].as_str().filter(|_| row["status"] == 200 && text("method") == "POST")
        else {
            continue;
        };
        let mut out = Vec::new();
        typed_rpc::answer(&state, body, &mut out);
        let got = normal(std::str::from_utf8(&out).unwrap(), text("state"));
        if is_well_formed(body) {
            assert_eq!(got, normal(text("response"), text("state")), "{}: {body}", text("name"));
            replayed += 1;
        }
    }
    assert_eq!(replayed, 276);
}

/// Flat and wide is not deep.
#[test]
fn many_brackets_are_read_like_few() {
    let state = State::new(Ledger::seeded(&validator_state::SeededSpec::default()));
    let wide = vec!["[]"; 200].join(",");
    let mut out = Vec::new();
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"getBlocks","params":[{wide}]}}"#);
    typed_rpc::answer(&state, &body, &mut out);
    let answer: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(answer["error"]["data"], "\"Got: 200\"");
}
