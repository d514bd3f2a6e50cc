//! What is a request: ids, versions, members, JSON itself, and notifications.

use serde_json::{Value, json};

use super::{Case, Want, call, error, error_to, parse_error, result};

pub fn cases() -> Vec<Case> {
    [ids(), members(), json_itself(), notifications()].into_iter().flatten().collect()
}

fn ids() -> Vec<Case> {
    let ask = |id: &str, want| {
        Case::post(format!("id/{id}"), format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"getHealth"}}"#), want)
    };
    let echoed = |id: &str| {
        let value: Value = serde_json::from_str(id).expect("an id is JSON");
        ask(id, Want::Json(json!({"jsonrpc": "2.0", "result": "ok", "id": value})))
    };
    let good = [
        "null",
        "0",
        "18446744073709551615",
        r#""""#,
        r#""a""#,
        r#""a \"quoted\" [id]""#,
        r#""\u00e9\n""#,
        r#""é""#,
    ];
    let bad = ["-1", "1.5", "1.0", "1e3", "18446744073709551616", "true", "[]", "[1]", "{}", r#""\ud800""#];
    let mut cases: Vec<Case> = good.into_iter().map(echoed).collect();
    cases.extend(bad.into_iter().map(|id| ask(id, parse_error())));
    cases
}

fn members() -> Vec<Case> {
    let invalid = |name: &str, body: &str, id: Value| {
        Case::post(format!("request/{name}"), body, error_to(id, -32600, "Invalid request"))
    };
    vec![
        invalid("version/absent", r#"{"id":1,"method":"getHealth"}"#, json!(1)),
        invalid("version/null", r#"{"jsonrpc":null,"id":1,"method":"getHealth"}"#, json!(1)),
        invalid("version/1.0", r#"{"jsonrpc":"1.0","id":1,"method":"getHealth"}"#, json!(1)),
        invalid("version/number", r#"{"jsonrpc":2.0,"id":1,"method":"getHealth"}"#, json!(1)),
        invalid("method/absent", r#"{"jsonrpc":"2.0","id":"a"}"#, json!("a")),
        invalid("method/number", r#"{"jsonrpc":"2.0","id":1,"method":1}"#, json!(1)),
        invalid("params/number", r#"{"jsonrpc":"2.0","id":1,"method":"getHealth","params":5}"#, json!(1)),
        invalid("params/text", r#"{"jsonrpc":"2.0","id":1,"method":"getBalance","params":"x"}"#, json!(1)),
        invalid("extra", r#"{"jsonrpc":"2.0","id":1,"method":"getHealth","extra":1}"#, json!(1)),
        invalid("extra/escaped", r#"{"jsonrpc":"2.0","id":1,"method":"getHealth","\u0065xtra":1}"#, json!(1)),
        invalid("extra/empty-name", r#"{"":[],"jsonrpc":"2.0","id":1,"method":"getHealth"}"#, json!(1)),
        invalid(
            "extra/with-params",
            r#"{"jsonrpc":"2.0","id":1,"method":"getHealth","params":[],"x":{}}"#,
            json!(1),
        ),
        invalid(
            "duplicate/method",
            r#"{"jsonrpc":"2.0","id":1,"method":"getHealth","method":"getSlot"}"#,
            json!(1),
        ),
        invalid(
            "duplicate/params",
            r#"{"jsonrpc":"2.0","id":1,"method":"getHealth","params":[],"params":[]}"#,
            json!(1),
        ),
        invalid("empty", "{}", Value::Null),
        invalid("unrelated", r#"{"a":{"jsonrpc":"2.0","id":1,"method":"getHealth"}}"#, Value::Null),
        invalid("notification/no-version", r#"{"method":"getHealth"}"#, Value::Null),
        invalid("notification/version-1.0", r#"{"jsonrpc":"1.0","method":"getHealth"}"#, Value::Null),
        invalid("notification/extra", r#"{"jsonrpc":"2.0","method":"getHealth","extra":1}"#, Value::Null),
        invalid(
            "notification/scalar-params",
            r#"{"jsonrpc":"2.0","method":"getHealth","params":5}"#,
            Value::Null,
        ),
        Case::post(
            "request/any-order",
            r#"{"params":[],"method":"getHealth","id":1,"jsonrpc":"2.0"}"#,
            result(json!("ok")),
        ),
        Case::post(
            "request/escaped-name",
            r#"{"jsonrpc":"2.0","id":1,"\u006dethod":"getHealth"}"#,
            result(json!("ok")),
        ),
        Case::post(
            "request/escaped-method",
            r#"{"jsonrpc":"2.0","id":1,"method":"\u0067etHealth"}"#,
            result(json!("ok")),
        ),
        Case::post("request/positional", r#"["2.0","getHealth",[],1]"#, result(json!("ok"))),
        Case::post(
            "request/text-in-params",
            call("getHealth", r#"["\"[{"]"#),
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
    ]
}

fn json_itself() -> Vec<Case> {
    let health = r#"{"jsonrpc":"2.0","id":1,"method":"getHealth"}"#;
    let broken = |name: &str, body: &str| Case::post(format!("json/{name}"), body, parse_error());
    let fine = |name: &str, body: &str| Case::post(format!("json/{name}"), body, result(json!("ok")));
    let fine_slot = |name: &str, body: &str| Case::post(format!("json/{name}"), body, result(json!(424)));
    // An array and an object around so many arrays.
    let nested_config = |depth: usize| format!(r#"[{{"a":{}{}}}]"#, "[".repeat(depth), "]".repeat(depth));
    vec![
        broken("empty", ""),
        broken("space", " "),
        broken("number", "1"),
        broken("text", r#""getHealth""#),
        broken("null", "null"),
        broken("cut", r#"{"jsonrpc":"2.0","id":1,"method":"getHea"#),
        broken("trailing-comma", r#"{"jsonrpc":"2.0","id":1,"method":"getHealth",}"#),
        broken("trailing-value", &format!("{health}{health}")),
        broken("trailing-text", &format!("{health}x")),
        broken("single-quotes", "{'jsonrpc':'2.0','id':1,'method':'getHealth'}"),
        broken("byte-order-mark", &format!("\u{feff}{health}")),
        broken("form-feed", &format!("\u{c}{health}")),
        broken("form-feed-in-batch", &format!("\u{c}[{health}]")),
        broken("control-character", "{\"jsonrpc\":\"2.0\",\"id\":\"\t\",\"method\":\"getHealth\"}"),
        broken("number-too-large", &call("getBlocks", "[1e400]")),
        broken("unknown-method-number-too-large", &call("nope", "[1e400]")),
        broken("deep", &call("getBalance", &format!("{}{}", "[".repeat(300), "]".repeat(300)))),
        // Found by fuzzing: the fast ways measured the depth from the parameters on.
        broken("deep-by-one", &call("getSlot", &nested_config(125))),
        fine_slot("deep-enough", &call("getSlot", &nested_config(124))),
        fine("white-space", &format!(" \r\n\t{health}\n ")),
        fine("much-white-space", &format!("{}{health}", " ".repeat(2_000))),
        Case::post(
            "json/large-params",
            call("getBalance", &format!(r#"["{}"]"#, "x".repeat(40_000))),
            error(-32602, "Invalid param: WrongSize"),
        ),
    ]
}

fn notifications() -> Vec<Case> {
    let ask = |name: &str, body: &str| Case::post(format!("notification/{name}"), body, Want::Nothing);
    vec![
        ask("known", r#"{"jsonrpc":"2.0","method":"getHealth"}"#),
        ask("with-params", r#"{"jsonrpc":"2.0","method":"getBlocks","params":[0,1000000]}"#),
        ask("bad-params", r#"{"jsonrpc":"2.0","method":"getBalance","params":[1]}"#),
        ask("unknown", r#"{"jsonrpc":"2.0","method":"nope"}"#),
        ask("null-params", r#"{"jsonrpc":"2.0","method":"getHealth","params":null}"#),
    ]
}
