//! HTTP: methods, paths, content types, sizes, and /health.

use serde_json::json;
use validator_state::MAX_BODY_BYTES;

use super::{Case, Want, parse_error, result};

const HEALTH: &str = r#"{"jsonrpc":"2.0","id":1,"method":"getHealth"}"#;
const JSON: &str = "Content-Type: application/json\r\n";

const WRONG_METHOD: &str = "Used HTTP Method is not allowed. POST or OPTIONS is required\n";
const WRONG_TYPE: &str = "Supplied content type is not allowed. Content-Type: application/json is required\n";
const TOO_LARGE: &str = "request body size exceeds allowed maximum";

pub fn cases() -> Vec<Case> {
    [routes(), content_types(), sizes(), encodings()].into_iter().flatten().collect()
}

/// A request with a Content-Length.
fn request(line: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head =
        format!("{line} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// A request in chunks of so many bytes.
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
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut cases = vec![
        Case::raw("http/health/get", get("/health"), Want::Text(200, "ok")),
        Case::raw("http/health/post", request("POST /health", JSON, health), Want::Text(200, "ok")),
        Case::raw("http/health/post-empty", request("POST /health", "", b""), Want::Text(200, "ok")),
        Case::raw("http/health/put", request("PUT /health", JSON, health), Want::Text(405, WRONG_METHOD)),
        Case::raw("http/health/below", request("POST /health/x", JSON, health), result(json!("ok"))),
        Case::raw("http/path/other", request("POST /a/b", JSON, health), result(json!("ok"))),
        Case::raw("http/path/query", request("POST /?a=1", JSON, health), result(json!("ok"))),
        Case::raw("http/get", get("/"), Want::Text(405, WRONG_METHOD)),
        Case::raw("http/options", request("OPTIONS /", JSON, health), Want::Nothing),
        Case::raw("http/options-without-type", request("OPTIONS /", "", b""), Want::Nothing),
    ];
    for method in ["PUT", "DELETE", "PATCH"] {
        let request = request(&format!("{method} /"), JSON, health);
        cases.push(Case::raw(format!("http/{method}"), request, Want::Text(405, WRONG_METHOD)));
    }
    cases
}

fn content_types() -> Vec<Case> {
    let ask = |header: &str, want| {
        Case::raw(
            format!("http/type/{}", header.trim_end()),
            request("POST /", header, HEALTH.as_bytes()),
            want,
        )
    };
    let good = [
        "Content-Type: application/json\r\n",
        "content-type: Application/JSON\r\n",
        "Content-Type: application/json; charset=utf-8\r\n",
        "Content-Type: application/json;charset=UTF-8\r\n",
    ];
    let bad = [
        "",
        "Content-Type: \r\n",
        "Content-Type: text/plain\r\n",
        "Content-Type: application/json-rpc\r\n",
        "Content-Type: application/json-rpc; charset=utf-8\r\n",
        "Content-Type: application/json; charset=latin1\r\n",
        // Found by fuzzing: actix took these.
        "Content-Type: application/json ; charset=utf-8\r\n",
        "Content-Type: application/json;  charset=utf-8\r\n",
        "Content-Type: application/json;\tcharset=utf-8\r\n",
    ];
    let mut cases: Vec<Case> = good.into_iter().map(|header| ask(header, result(json!("ok")))).collect();
    cases.extend(bad.into_iter().map(|header| ask(header, Want::Text(415, WRONG_TYPE))));
    cases
}

fn sizes() -> Vec<Case> {
    let padded = |bytes: usize| [HEALTH.as_bytes(), &vec![b' '; bytes - HEALTH.len()]].concat();
    let fits = || result(json!("ok"));
    let too_large = || Want::Text(413, TOO_LARGE);
    let ask = |name: &str, request, want| Case::raw(format!("size/{name}"), request, want);
    vec![
        ask("most", request("POST /", JSON, &padded(MAX_BODY_BYTES)), fits()),
        ask("one-more", request("POST /", JSON, &padded(MAX_BODY_BYTES + 1)), too_large()),
        ask("chunked/one", chunked(HEALTH.as_bytes(), 1_000), fits()),
        ask("chunked/bytes", chunked(HEALTH.as_bytes(), 1), fits()),
        ask("chunked/most", chunked(&padded(MAX_BODY_BYTES), 4_096), fits()),
        ask("chunked/one-more", chunked(&padded(MAX_BODY_BYTES + 1), 4_096), too_large()),
        ask(
            "chunked/one-more-at-once",
            chunked(&padded(MAX_BODY_BYTES + 1), MAX_BODY_BYTES + 1),
            too_large(),
        ),
        ask("none", request("POST /", JSON, b""), parse_error()),
    ]
}

fn encodings() -> Vec<Case> {
    let not_utf8 = br#"{"jsonrpc":"2.0","id":"*","method":"getHealth"}"#
        .map(|byte| if byte == b'*' { 0xff } else { byte });
    let behind = [HEALTH.as_bytes(), b"\xff"].concat();
    vec![
        Case::raw(
            "encoding/not-undone",
            request("POST /", &format!("{JSON}Content-Encoding: gzip\r\n"), HEALTH.as_bytes()),
            result(json!("ok")),
        ),
        Case::raw(
            "encoding/not-utf8-in-id",
            request("POST /", JSON, &not_utf8),
            Want::Text(400, "utf-8 encoding error at byte 23 in request body"),
        ),
        Case::raw(
            "encoding/not-utf8-behind",
            request("POST /", JSON, &behind),
            Want::Text(400, "utf-8 encoding error at byte 45 in request body"),
        ),
        Case::raw(
            "encoding/not-utf8-chunked",
            chunked(&behind, 7),
            Want::Text(400, "utf-8 encoding error at byte 45 in request body"),
        ),
    ]
}
