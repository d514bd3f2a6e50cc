//! Every recorded request of a real node, sent again over HTTP.
//!
//! Equal means the same status, media type and JSON. What depends on the moment of the recording is not compared: the slot in
//! a value's context, and the newest slot in rows that request it. legacy, which has the node's own framework, must agree in
//! every row, the others in the well-formed ones. The rest they may answer as their framework does, within the bounds of
//! [`Node`].

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use conformance::judge::Node;
use conformance::servers::{AGAVE_NODE, LEGACY};
use conformance::well_formed;
use serde_json::{Value, json};
use server_kit::testing::sockets::HEALTH;
use server_kit::testing::{HttpAnswer, exchange};

use crate::servers::{Server, oracle_dir};
use crate::verdict::Verdict;

/// How many rows are sent, and how many of them are well-formed; other numbers are a recording that changed.
pub const ROWS: (usize, usize) = (324, 275);

/// Sends every row to a server.
pub fn replay(server: &Server) {
    replay_in_version(server, &|response| response.to_owned());
}

/// Sends every row to a server whose answers to requests of its version are recorded in another one.
fn replay_in_version(server: &Server, of_version: &dyn Fn(&str) -> String) {
    let running = server.start(&[]);
    let (node, mut verdict) = (Node::load(), Verdict::of(server));
    let mut sent = (0, 0);
    for mut row in rows() {
        row["response"] = json!(of_version(row["response"].as_str().unwrap_or_default()));
        let name = row["name"].as_str().unwrap();
        let answer = exchange(running.addr, &request(&row));
        let has_one_answer = is_well_formed(&row);
        let outcome = if has_one_answer || [LEGACY, AGAVE_NODE].contains(&server.name.as_str()) {
            compare(&row, &answer)
        } else {
            bounded(&node, &row, &answer)
        };
        verdict.take(&format!("oracle/{name}"), outcome);
        sent = (sent.0 + 1, sent.1 + usize::from(has_one_answer));
    }
    assert_eq!(sent, ROWS);
    verdict.close();
}

/// Every recorded request, with its answer, but for those about CORS, which is not part of the contract.
pub fn rows() -> Vec<Value> {
    let rows = std::fs::read_to_string(oracle_dir().join("agave-2.3.13.jsonl")).unwrap();
    let rows = rows.lines().map(|row| serde_json::from_str::<Value>(row).unwrap());
    rows.filter(|row| !row["name"].as_str().unwrap().starts_with("http/origin/")).collect()
}

pub fn is_well_formed(row: &Value) -> bool {
    let headers = row["headers"].as_object().unwrap();
    let header = |wanted: &str| headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
    let media = header("content-type");
    row["method"] == "POST"
        && header("content-encoding").is_none()
        && media.is_some_and(|(_, media)| well_formed::is_json(media.as_str().unwrap()))
        && well_formed::parse(&body(row)).is_some()
}

/// Whether an answer to a malformed request is one that the contract allows.
pub fn bounded(node: &Node, row: &Value, got: &HttpAnswer) -> Result<(), String> {
    if got.status >= 500 {
        return Err(format!("status {}", got.status));
    }
    node.wrong_result(&[&body(row)], got.body.as_bytes()).map_or(Ok(()), Err)
}

/// The recorded request as bytes.
pub fn request(row: &Value) -> Vec<u8> {
    let (method, path) = (row["method"].as_str().unwrap(), row["path"].as_str().unwrap());
    let body = body(row);
    let mut request =
        format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in row["headers"].as_object().unwrap() {
        request += &format!("{name}: {}\r\n", value.as_str().unwrap());
    }
    [request.as_bytes(), b"\r\n", &body].concat()
}

/// The recorded body: text, base64 where it is no text, or a call with spaces behind it where only its length matters.
pub fn body(row: &Value) -> Vec<u8> {
    if let Some(base64) = row["body_b64"].as_str() {
        return BASE64_STANDARD.decode(base64).unwrap();
    }
    if let Some(length) = row["body_pad_to"].as_u64() {
        let mut body = HEALTH.as_bytes().to_vec();
        body.resize(usize::try_from(length).unwrap(), b' ');
        return body;
    }
    row["body"].as_str().unwrap().as_bytes().to_vec()
}

pub fn compare(row: &Value, got: &HttpAnswer) -> Result<(), String> {
    let text = |member: &str| row[member].as_str().unwrap_or_default();
    let expected = normal(text("response"), text("state"));
    let answer = normal(&got.body, text("state"));
    if u64::from(got.status) != row["status"].as_u64().unwrap() {
        return Err(format!("status {}, not {}", got.status, row["status"]));
    }
    let (media, recorded) =
        (media_type(got.content_type.as_deref()), media_type(row["content_type"].as_str()));
    if !recorded.is_empty() && expected != "" && media != recorded {
        return Err(format!("media type {media}, not {recorded}"));
    }
    if answer == expected { Ok(()) } else { Err(format!("{answer}, not {expected}")) }
}

fn media_type(header: Option<&str>) -> String {
    header.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The recorded answer of a row, without what depends on its moment.
pub fn recorded_answer(row: &Value) -> Value {
    normal(row["response"].as_str().unwrap_or_default(), row["state"].as_str().unwrap_or_default())
}

/// An answer without what depends on its moment; text that is no JSON stays as it is.
fn normal(text: &str, state: &str) -> Value {
    if text.trim().is_empty() {
        return json!("");
    }
    let Ok(answer) = serde_json::from_str::<Value>(text) else { return json!(text) };
    without_moments(state, answer)
}

/// An answer without what depends on its moment, which the row's `state` tells.
pub fn without_moments(state: &str, mut answer: Value) -> Value {
    let moments: &[&str] = match state {
        "context" => &["/result/context/slot", "/error/data/contextSlot"],
        "tip" => &["/result", "/error/data/contextSlot"],
        _ => &[],
    };
    for moment in moments {
        if let Some(slot) = answer.pointer_mut(moment).filter(|slot| slot.is_u64()) {
            *slot = json!("any");
        }
    }
    answer
}

/// A real node of another version, where it is built: its own version is all that may differ.
#[test]
#[ignore = "needs the node, which docs/ADD-A-SERVER.md says how to build"]
fn agave_node_answers_as_the_recorded_node() {
    let version = |response: &str| response.replace("2.3.13", "4.2.2").replace("2142755730", "565236538");
    replay_in_version(&Server::named(AGAVE_NODE), &version);
}

#[test]
fn different_answers_are_detected() {
    let row = json!({
        "name": "x", "state": "context", "status": 200, "content_type": "application/json",
        "response": r#"{"result":{"context":{"slot":5},"value":1}}"#,
    });
    let answer = |status, media: &str, body: &str| HttpAnswer {
        status,
        content_type: Some(media.to_owned()),
        body: body.to_owned(),
    };
    let json = "Application/JSON; charset=utf-8";
    let same = r#"{"result": {"value": 1, "context": {"slot": 6}}}"#;
    assert_eq!(compare(&row, &answer(200, json, same)), Ok(()));
    assert!(compare(&row, &answer(400, json, same)).is_err());
    assert!(compare(&row, &answer(200, "text/plain", same)).is_err());
    assert!(compare(&row, &answer(200, json, r#"{"result":{"context":{"slot":5},"value":2}}"#)).is_err());
    assert!(compare(&row, &answer(200, json, "")).is_err());
}
