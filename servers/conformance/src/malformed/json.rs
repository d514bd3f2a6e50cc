//! Bodies that are not JSON, or JSON that is not a JSON-RPC call.

use server_kit::testing::sockets::HEALTH as CALL;

use super::Row;
use crate::fuzz::shrink::usual;

const NOTE: &str = r#"{"jsonrpc":"2.0","method":"getHealth"}"#;

pub fn rows() -> Vec<Row> {
    [json(), ids(), members(), notifications(), batches()].into_iter().flatten().collect()
}

fn row(name: impl Into<String>, body: impl AsRef<[u8]>) -> Row {
    Row { name: name.into(), request: usual(body.as_ref()) }
}

/// A call with something else in the place of a part of it.
fn with(part: &str, other: &str) -> String {
    assert!(CALL.contains(part), "{part}");
    CALL.replacen(part, other, 1)
}

fn getting(method: &str, params: &str) -> String {
    with(r#""getHealth""#, &format!(r#""{method}","params":{params}"#))
}

fn json() -> Vec<Row> {
    let behind = [CALL.as_bytes(), b"\xff"].concat();
    let inside =
        [br#"{"jsonrpc":"2.0","id":"#.as_slice(), b"\"\xff\"", br#","method":"getHealth"}"#].concat();
    vec![
        row("an empty body", ""),
        row("white space alone", " "),
        row("JSON cut short", &CALL[..20]),
        row("a comma too many", with("\"}", "\",}")),
        row("two calls, one behind the other", CALL.repeat(2)),
        row("text behind the call", format!("{CALL}x")),
        row("128 spaces before the call", format!("{}{CALL}", " ".repeat(128))),
        row("a byte order mark", format!("\u{feff}{CALL}")),
        row("a form feed before the call", format!("\u{c}{CALL}")),
        row("not UTF-8, in the id", inside),
        row("not UTF-8, behind the call", behind),
        row("`1`", "1"),
        row("`\"getHealth\"`", "\"getHealth\""),
        row("`null`", "null"),
        row("`{}`", "{}"),
        row("`[\"2.0\",\"getHealth\",[],1]`", r#"["2.0","getHealth",[],1]"#),
        row("`[\"2.0\",1,\"getHealth\",[]]`", r#"["2.0",1,"getHealth",[]]"#),
        row("`1e400` in params", getting("getBlocks", "[1e400]")),
        row("`1e400` in the params of an unknown method", getting("nope", "[1e400]")),
        row(
            "params nested 300 deep",
            getting("getBalance", &format!("{}{}", "[".repeat(300), "]".repeat(300))),
        ),
        row("`\"\\ud800\"` in params", getting("getBalance", r#"["\ud800"]"#)),
    ]
}

fn ids() -> Vec<Row> {
    let ids = ["-1", "1.5", "1.0", "1e3", "18446744073709551616", "true", "[]", "{}", r#""\ud800""#];
    ids.map(|id| row(format!("id `{id}`"), with("\"id\":1", &format!("\"id\":{id}")))).into()
}

fn members() -> Vec<Row> {
    let twice = |name: &str, part: &str, other: &str| {
        row(format!("{name} twice"), with(part, &format!("{part},{other}")))
    };
    let method = r#""method":"getHealth""#;
    vec![
        row("`jsonrpc` missing", with(r#""jsonrpc":"2.0","#, "")),
        row("`jsonrpc` null", with(r#""2.0""#, "null")),
        row("`jsonrpc` `\"1.0\"`", with("2.0", "1.0")),
        row("`jsonrpc` a number", with(r#""2.0""#, "2.0")),
        row("`jsonrpc` `\"1.0\"` and id `1.5`", CALL.replace("2.0", "1.0").replace("\"id\":1", "\"id\":1.5")),
        row("`method` missing", with(&format!(",{method}"), "")),
        row("`method` a number", with(r#""getHealth""#, "1")),
        row("`params` null", getting("getHealth", "null")),
        row("`params` a number", getting("getHealth", "5")),
        row("`params` a string", getting("getHealth", "\"x\"")),
        row("`params` a string, of getBalance", getting("getBalance", "\"x\"")),
        row("an unknown member", with("\"}", "\",\"x\":1}")),
        twice("`id`", "\"id\":1", "\"id\":2"),
        twice("`jsonrpc`", r#""jsonrpc":"2.0""#, r#""jsonrpc":"2.0""#),
        twice("`method`", method, r#""method":"getSlot""#),
        row("`params` twice", getting("getHealth", r#"[],"params":[]"#)),
        row(
            "`commitment` twice",
            getting("getSlot", r#"[{"commitment":"processed","commitment":"confirmed"}]"#),
        ),
    ]
}

fn notifications() -> Vec<Row> {
    vec![
        row("a notification", NOTE),
        row("a notification of an unknown method", NOTE.replace("getHealth", "nope")),
        row("a notification without `jsonrpc`", r#"{"method":"getHealth"}"#),
        row("a notification with an unknown member", NOTE.replace("\"}", "\",\"x\":1}")),
    ]
}

fn batches() -> Vec<Row> {
    let batch = |name: &str, entries: &[&str]| row(name, format!("[{}]", entries.join(",")));
    let bad_id = with("\"id\":1", "\"id\":1.5");
    vec![
        row("`[]`", "[]"),
        row("`[1]`", "[1]"),
        row("`[{}]`", "[{}]"),
        row("`[[]]`", "[[]]"),
        batch("batch of a call and a notification", &[CALL, NOTE]),
        batch("batch of notifications", &[NOTE, NOTE]),
        batch("batch of a call and `{}`", &[CALL, "{}"]),
        batch("batch of a call and `1`", &[CALL, "1"]),
        batch("batch of a call and a batch", &[CALL, &format!("[{CALL}]")]),
        batch("batch of a call and one with id `1.5`", &[CALL, &bad_id]),
        batch("batch of a call and one without `jsonrpc`", &[CALL, &with(r#""jsonrpc":"2.0","#, "")]),
        batch("batch of a call and one with an unknown member", &[CALL, &with("\"}", "\",\"x\":1}")]),
        batch("batch cut short", &[CALL, "{"]),
        batch("batch of 101 calls", &[CALL; 101]),
        batch("batch of 101 notifications", &[NOTE; 101]),
    ]
}
