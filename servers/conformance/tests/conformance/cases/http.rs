//! The HTTP that every server takes: paths, content types, sizes, and /health.

use serde_json::json;
use server_kit::testing::sockets::HEALTH;
use validator_state::MAX_BODY_BYTES;

use super::{Case, Want, result};

const JSON: &str = "Content-Type: application/json\r\n";

pub fn cases() -> Vec<Case> {
    [routes(), content_types(), sizes()].into_iter().flatten().collect()
}

/// A request with a Content-Length.
fn request(line: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head =
        format!("{line} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// A request in chunks of `chunk_bytes`.
fn chunked(body: &[u8], chunk_bytes: usize) -> Vec<u8> {
    let mut bytes = format!("POST / HTTP/1.1\r\nHost: localhost\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n")
        .into_bytes();
    for chunk in body.chunks(chunk_bytes) {
        bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

fn routes() -> Vec<Case> {
    let health = HEALTH.as_bytes();
    let get = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    vec![
        Case::raw("http/health/get", get, Want::Text(200, "ok")),
        Case::raw("http/health/post", request("POST /health", JSON, health), Want::Text(200, "ok")),
        Case::raw("http/health/post-empty", request("POST /health", "", b""), Want::Text(200, "ok")),
        Case::raw("http/health/below", request("POST /health/x", JSON, health), result(json!("ok"))),
        Case::raw("http/path/other", request("POST /a/b", JSON, health), result(json!("ok"))),
        Case::raw("http/path/query", request("POST /?a=1", JSON, health), result(json!("ok"))),
    ]
}

fn content_types() -> Vec<Case> {
    let headers = [
        "Content-Type: application/json\r\n",
        "content-type: Application/JSON\r\n",
        "Content-Type: application/json; charset=utf-8\r\n",
        "Content-Type: application/json;charset=UTF-8\r\n",
    ];
    let ask = |header: &str| {
        let name = format!("http/type/{}", header.trim_end());
        Case::raw(name, request("POST /", header, HEALTH.as_bytes()), result(json!("ok")))
    };
    headers.into_iter().map(ask).collect()
}

fn sizes() -> Vec<Case> {
    let padded = |bytes: usize| [HEALTH.as_bytes(), &vec![b' '; bytes - HEALTH.len()]].concat();
    let ask = |name: &str, request| Case::raw(format!("size/{name}"), request, result(json!("ok")));
    vec![
        ask("most", request("POST /", JSON, &padded(MAX_BODY_BYTES))),
        ask("chunked/one", chunked(HEALTH.as_bytes(), 1_000)),
        ask("chunked/bytes", chunked(HEALTH.as_bytes(), 1)),
        ask("chunked/most", chunked(&padded(MAX_BODY_BYTES), 4_096)),
    ]
}
