//! Well-formed batches: order, errors inside, sizes.

use serde_json::{Value, json};

use super::{Case, Want, call, error_object};

fn health(id: impl std::fmt::Display) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"getHealth"}}"#)
}

fn ok(id: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "result": "ok", "id": id.into()})
}

fn batch(name: &str, entries: &[String], want: Want) -> Case {
    Case::post(format!("batch/{name}"), format!("[{}]", entries.join(",")), want)
}

pub fn cases() -> Vec<Case> {
    let many = (0..100).map(health).collect::<Vec<_>>();
    vec![
        batch("one", &[health(7)], Want::Json(json!([ok(7)]))),
        batch(
            "order",
            &[health(3), health("\"b\""), health(1), health("null")],
            Want::Json(json!([ok(3), ok("b"), ok(1), ok(Value::Null)])),
        ),
        batch("same-id", &[health(1), health(1)], Want::Json(json!([ok(1), ok(1)]))),
        batch(
            "mixed",
            &[call("getSlot", "[]"), call("getBlocks", "[1,2]")],
            Want::Json(json!([
                {"jsonrpc": "2.0", "result": 424, "id": 1},
                {"jsonrpc": "2.0", "result": [1, 2], "id": 1},
            ])),
        ),
        batch(
            "errors-inside",
            &[health(1), call("nope", "[]"), call("getBalance", "[]"), health(2)],
            Want::Json(json!([
                ok(1),
                error_object(json!(1), -32601, "Method not found"),
                error_object(json!(1), -32602, "`params` should have at least 1 argument(s)"),
                ok(2),
            ])),
        ),
        batch("100", &many, Want::Json((0..100).map(ok).collect())),
    ]
}
