//! The recorded answers of a real node, replayed without a socket.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

use std::path::Path;

use serde_json::{Value, json};
use validator_state::{Ledger, State, envelope};

/// Where the contract is deliberately better than the recorded node: docs/CONTRACT.md says why.
fn better(name: &str) -> Option<Value> {
    let invalid =
        |id| json!({"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid request"}, "id": id});
    match name {
        "framing/array" => Some(invalid(Value::Null)),
        "version/absent" | "version/null" => Some(invalid(json!(1))),
        _ => None,
    }
}

/// Sets aside what depends on the moment of the recording: the slot beside a value, and the newest slot.
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
fn every_recorded_json_rpc_answer_is_given() {
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
        envelope::answer(&state, body, &mut out);
        let got = normal(std::str::from_utf8(&out).unwrap(), text("state"));
        let want = better(text("name")).unwrap_or_else(|| normal(text("response"), text("state")));
        assert_eq!(got, want, "{}: {body}", text("name"));
        replayed += 1;
    }
    assert_eq!(replayed, 311);
}
