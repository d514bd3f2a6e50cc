//! Batches: order, notifications inside, sizes, and how many slots one may be answered with.

use serde_json::{Value, json};
use validator_state::{Ledger, Method, Params, SeededSpec, State};

use super::{Case, Want, call, error_object, error_to, parse_error};

const NOTE: &str = r#"{"jsonrpc":"2.0","method":"getHealth"}"#;

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
    let too_large = || error_to(Value::Null, -32600, "Batch too large; max 100");
    let many = |count: u64| (0..count).map(health).collect::<Vec<_>>();
    let note = NOTE.to_owned();
    vec![
        batch("empty", &[], error_to(Value::Null, -32600, "Invalid request")),
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
            "notifications-inside",
            &[note.clone(), health(1), note.clone(), health(2)],
            Want::Json(json!([ok(1), ok(2)])),
        ),
        batch("notifications-alone", &[note.clone(), note.clone()], Want::Nothing),
        batch(
            "errors-inside",
            &[health(1), call("nope", "[]"), call("getBalance", "[]"), "{}".into(), health(2)],
            Want::Json(json!([
                ok(1),
                error_object(json!(1), -32601, "Method not found"),
                error_object(json!(1), -32602, "`params` should have at least 1 argument(s)"),
                error_object(Value::Null, -32600, "Invalid request"),
                ok(2),
            ])),
        ),
        batch(
            "extra-member-inside",
            &[health(1), r#"{"jsonrpc":"2.0","id":2,"method":"getHealth","x":1}"#.into()],
            Want::Json(json!([ok(1), error_object(json!(2), -32600, "Invalid request"),])),
        ),
        batch(
            "no-version-inside",
            &[health(1), r#"{"method":"getHealth"}"#.into()],
            Want::Json(json!([ok(1), error_object(Value::Null, -32600, "Invalid request"),])),
        ),
        batch("bad-id-inside", &[health(1), health("1.5")], parse_error()),
        batch("bad-id-alone", &[health("-1")], parse_error()),
        batch("number-inside", &[health(1), "1".into()], parse_error()),
        batch("array-inside", &[health(1), format!("[{}]", health(2))], parse_error()),
        batch("framework's-array-inside", &[r#"["2.0",1,"getHealth",[]]"#.into()], parse_error()),
        // An array for a call and a member too many elsewhere: each could hide the other from a check that only counts.
        batch(
            "array-and-extra-members-inside",
            &[
                r#"["2.0",1,"getHealth"]"#.into(),
                r#"{"jsonrpc":"2.0","id":1,"method":"getHealth","a":"b","c":{}}"#.into(),
            ],
            parse_error(),
        ),
        batch("cut", &[health(1), r#"{"jsonrpc""#.into()], parse_error()),
        batch("100", &many(100), Want::Json((0..100).map(ok).collect())),
        batch("101", &many(101), too_large()),
        batch("101-notifications", &vec![note.clone(); 101], too_large()),
        batch(
            "100-of-which-99-notifications",
            &[vec![note; 99], vec![health(5)]].concat(),
            Want::Json(json!([ok(5)])),
        ),
    ]
}

/// Over a chain longer than one answer may be.
pub fn large_cases() -> Vec<Case> {
    let state = State::new(Ledger::seeded(&SeededSpec { accounts: 4, slots: 900_000, seed: 1 }));
    let slots = |params: &str| {
        let answer = state.call(Method::GetBlocks, Params::Raw(params)).expect("is a clean call");
        json!({"jsonrpc": "2.0", "result": answer, "id": 1})
    };
    let blocks = |params: &str| call("getBlocks", params);
    let spent = || error_object(json!(1), -32602, "Slot range too large; max 500000");
    let (most, some) = ("[0,300000]", "[0,200000]");
    vec![
        batch("slots/within", &[blocks(most), blocks(some)], Want::Json(json!([slots(most), slots(some)]))),
        batch(
            "slots/spent",
            &[blocks(most), blocks(most), blocks(some)],
            Want::Json(json!([slots(most), spent(), slots(some)])),
        ),
        batch(
            "slots/not-charged",
            &[blocks("[0,500000]"), health(2)],
            Want::Json(json!([slots("[0,500000]"), ok(2)])),
        ),
    ]
}
