//! Well-formed calls in all their spellings: ids, the order and the spelling of members, white space, nesting, length.

use serde_json::{Value, json};
use server_kit::testing::sockets::HEALTH;

use super::{Case, Want, call, error, result};

pub fn cases() -> Vec<Case> {
    let ask = |name: &str, body: &str, want| Case::post(format!("call/{name}"), body, want);
    let fine = |name: &str, body: &str| ask(name, body, result(json!("ok")));
    // An array and an object around `depth` arrays.
    let nested_config = |depth: usize| format!(r#"[{{"a":{}{}}}]"#, "[".repeat(depth), "]".repeat(depth));
    let mut cases = ids();
    cases.extend([
        fine("any-order", r#"{"params":[],"method":"getHealth","id":1,"jsonrpc":"2.0"}"#),
        fine("escaped-name", r#"{"jsonrpc":"2.0","id":1,"\u006dethod":"getHealth"}"#),
        fine("escaped-method", r#"{"jsonrpc":"2.0","id":1,"method":"\u0067etHealth"}"#),
        fine("white-space", &format!(" \r\n\t{HEALTH}\n ")),
        fine("much-white-space", &format!("{}{HEALTH}", " ".repeat(127))),
        ask("deep", &call("getSlot", &nested_config(97)), result(json!(424))),
        ask(
            "large-params",
            &call("getBalance", &format!(r#"["{}"]"#, "x".repeat(40_000))),
            error(-32602, "Invalid param: WrongSize"),
        ),
        ask(
            "text-in-params",
            &call("getHealth", r#"["\"[{"]"#),
            Want::Json(json!({
                "jsonrpc": "2.0",
                "error": {
                    "code": -32602,
                    "message": "Invalid parameters: No parameters were expected",
                    "data": r#"Array([String("\"[{")])"#,
                },
                "id": 1,
            })),
        ),
    ]);
    cases
}

fn ids() -> Vec<Case> {
    let ids = [
        "null",
        "0",
        "18446744073709551615",
        r#""""#,
        r#""a""#,
        r#""a \"quoted\" [id]""#,
        r#""\u00e9\n""#,
        r#""é""#,
    ];
    let echoed = |id: &str| {
        let value: Value = serde_json::from_str(id).expect("an id is JSON");
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"getHealth"}}"#);
        Case::post(
            format!("id/{id}"),
            body,
            Want::Json(json!({"jsonrpc": "2.0", "result": "ok", "id": value})),
        )
    };
    ids.into_iter().map(echoed).collect()
}
