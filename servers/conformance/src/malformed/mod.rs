//! Each server's answers to malformed requests: the table of docs/CONTRACT.md. The rows are sent, and what is answered is
//! written as the page has it; the test `malformed` compares the two. Out of scope: well-formed requests, which have one right
//! answer ([`crate::judge`]).

mod http;
mod json;
pub mod websocket;

use std::fmt::Write;

use serde_json::Value;

use crate::fuzz::shrink::usual;
use crate::fuzz::wire::{Answer, End, Request};

/// A kind of malformed request.
#[derive(Debug)]
pub struct Row {
    /// As the page names it, in Markdown.
    pub name: String,
    /// An example of it.
    pub request: Request,
}

/// The rows about JSON-RPC, by POST of a JSON body.
pub fn json_rows() -> Vec<Row> {
    json::rows()
}

/// The rows about HTTP.
pub fn http_rows() -> Vec<Row> {
    http::rows()
}

/// Batches that ask for more slots than one call may: limits are the servers' own. For a ledger of 900,000 slots.
pub fn large_rows() -> Vec<Row> {
    let call =
        |slots: usize| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"getBlocks","params":[0,{slots}]}}"#);
    let row = |count: usize, slots: usize| {
        let body = format!("[{}]", vec![call(slots); count].join(","));
        Row { name: format!("{count} getBlocks of {slots} slots"), request: usual(body.as_bytes()) }
    };
    vec![row(2, 300_000), row(3, 500_000), row(100, 500_000)]
}

/// An answer, or the lack of one, in a few words.
pub fn describe(answer: &Result<Answer, End>) -> String {
    let answer = match answer {
        Err(End::Closed) => return "closed".to_owned(),
        Err(End::Open) => return "waits".to_owned(),
        Err(End::NotHttp) => return "not HTTP".to_owned(),
        Ok(answer) => answer,
    };
    let short = match serde_json::from_slice(&answer.body) {
        _ if answer.body.is_empty() => "empty".to_owned(),
        Ok(Value::Array(entries)) if entries.len() > 3 => {
            let errors = entries.iter().filter(|entry| entry.get("error").is_some()).count();
            format!("{} results, {errors} errors", entries.len() - errors)
        }
        Ok(Value::Array(entries)) => {
            let entries: Vec<String> = entries.iter().map(describe_entry).collect();
            format!("[{}]", entries.join("; "))
        }
        Ok(json @ (Value::Object(_) | Value::Null)) => describe_entry(&json),
        _ => "text".to_owned(),
    };
    match (answer.status, short.as_str()) {
        (200, "empty" | "text") => format!("200, {short}"),
        (200, _) => short,
        (status, "empty" | "text") => status.to_string(),
        (status, _) => format!("{status}, {short}"),
    }
}

fn describe_entry(entry: &Value) -> String {
    match (entry.get("error"), entry.get("result")) {
        (Some(error), _) => {
            let id = entry.get("id").map_or("no id".to_owned(), |id| format!("id {id}"));
            format!("{}, {id}", error["code"])
        }
        (None, Some(_)) => "result".to_owned(),
        (None, None) => format!("`{entry}`"),
    }
}

/// A table of rows, each with a cell for every server.
pub fn table(first_column: &str, servers: &[&str], rows: &[(&str, Vec<String>)]) -> String {
    let names = servers.join(" | ");
    let mut table = format!("| {first_column} | {names} |\n|---|{}\n", "---|".repeat(servers.len()));
    for (name, cells) in rows {
        // Writing to a string can't fail.
        let _infallible = writeln!(table, "| {name} | {} |", cells.join(" | "));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::well_formed::parse;

    #[test]
    fn answers_in_a_few_words() {
        let short = |status, body: &str| {
            describe(&Ok(Answer { status, media: "application/json".to_owned(), body: body.into() }))
        };
        let error = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"x"},"id":null}"#;
        assert_eq!(short(200, error), "-32600, id null");
        assert_eq!(short(413, error), "413, -32600, id null");
        assert_eq!(short(200, r#"{"result":1,"id":1}"#), "result");
        assert_eq!(short(200, &format!(r#"[{error},{{"result":1}}]"#)), "[-32600, id null; result]");
        let four = r#"[{"result":1},{"result":1},{"error":{}},{"result":1}]"#;
        assert_eq!(short(200, four), "3 results, 1 errors");
        assert_eq!(short(200, "null"), "`null`");
        assert_eq!(
            (short(200, ""), short(405, ""), short(405, "no")),
            ("200, empty".into(), "405".into(), "405".into())
        );
        assert_eq!(describe(&Err(End::Closed)), "closed");
        assert_eq!(describe(&Err(End::Open)), "waits");
    }

    #[test]
    fn the_arithmetic_of_the_page_on_safety() {
        assert_eq!(size_of::<Value>(), 32);
        assert_eq!(validator_state::MAX_BLOCKS_RANGE, 500_000);
        assert_eq!(validator_state::MAX_BATCH_ENTRIES, 100);
    }

    #[test]
    fn no_row_of_json_is_well_formed_and_no_name_is_there_twice() {
        let (json, http) = (json_rows(), http_rows());
        for row in &json {
            assert!(parse(&row.request.payload).is_none(), "{}", row.name);
        }
        let mut names: Vec<&str> = json.iter().chain(&http).map(|row| row.name.as_str()).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
