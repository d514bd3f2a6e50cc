//! HTTP that is not a POST of JSON within the size limit, and HTTP that is odd in itself.

use server_kit::testing::sockets::HEALTH;
use validator_state::MAX_BODY_BYTES;

use super::Row;
use crate::fuzz::shrink::usual;
use crate::fuzz::wire::Request;

const CALL: &[u8] = HEALTH.as_bytes();

/// What makes a gzip file of [`CALL`], which it holds as it is: header and length before it, checksum and length behind it.
const GZIP_BEGIN: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x01\x2d\x00\xd2\xff";
const GZIP_END: &[u8] = b"\x46\x62\x84\x40\x2d\x00\x00\x00";

/// Where the header lines of [`usual`] are.
const HOST: usize = 0;
const TYPE: usize = 1;
const LENGTH: usize = 2;

const CHUNKED: &str = "Transfer-Encoding: chunked\r\n";

pub fn rows() -> Vec<Row> {
    [routes(), types(), sizes(), heads(), framings()].into_iter().flatten().collect()
}

fn row(name: impl Into<String>, change: impl FnOnce(&mut Request)) -> Row {
    let mut request = usual(CALL);
    change(&mut request);
    request.oddity = request.oddity.or(Some("row"));
    Row { name: name.into(), request }
}

fn line(name: &str, line: &str) -> Row {
    row(name, |request| request.line = format!("{line}\r\n").into())
}

/// Another header in the place of one of the usual.
fn header(name: &str, place: usize, header: &str) -> Row {
    row(name, |request| request.headers[place] = header.into())
}

fn added(name: &str, header: &str) -> Row {
    row(name, |request| request.headers.push(header.into()))
}

fn routes() -> Vec<Row> {
    let mut rows: Vec<Row> = ["PUT", "DELETE", "PATCH", "OPTIONS", "FOO"]
        .map(|method| line(&format!("{method} /"), &format!("{method} / HTTP/1.1")))
        .into();
    rows.extend(["GET", "HEAD", "OPTIONS"].map(|method| {
        row(format!("{method} / without a body"), |request| {
            request.line = format!("{method} / HTTP/1.1\r\n").into();
            request.headers.truncate(1);
            request.body.clear();
        })
    }));
    rows.push(line("PUT /health", "PUT /health HTTP/1.1"));
    rows
}

fn types() -> Vec<Row> {
    let of = |media: &str| header(&format!("`{media}`"), TYPE, &format!("Content-Type: {media}\r\n"));
    let mut rows = vec![
        header("no Content-Type", TYPE, ""),
        header("an empty Content-Type", TYPE, "Content-Type: \r\n"),
    ];
    rows.extend(
        [
            "text/plain",
            "application/json-rpc",
            "application/jsonx",
            "application/json; charset=latin1",
            "application/json ; charset=utf-8",
            "application/json;  charset=utf-8",
            "application/json; boundary=x",
        ]
        .map(of),
    );
    rows
}

fn sizes() -> Vec<Row> {
    let large = [CALL, &vec![b' '; MAX_BODY_BYTES + 1 - CALL.len()]].concat();
    let chunks = |bytes: usize| {
        let chunk = |part: &[u8]| [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat();
        [large.chunks(bytes).flat_map(chunk).collect(), b"0\r\n\r\n".to_vec()].concat()
    };
    let chunked = |name: &str, bytes: usize| {
        row(name, |request| {
            *request = Request { body: chunks(bytes), ..usual(&large) };
            request.headers[LENGTH] = CHUNKED.into();
        })
    };
    vec![
        row("a body of 51,201 bytes", |request| *request = usual(&large)),
        chunked("a body of 51,201 bytes in chunks of 4,096", 4_096),
        chunked("a body of 51,201 bytes in one chunk", large.len()),
    ]
}

fn heads() -> Vec<Row> {
    let lines = |name: &str, header: &str, count: usize| added(name, &header.repeat(count));
    vec![
        line("UTF-8 in the target", "POST /é HTTP/1.1"),
        line("HTTP/1.0", "POST / HTTP/1.0"),
        line("HTTP/1.2", "POST / HTTP/1.2"),
        line("`PRI * HTTP/2.0`", "PRI * HTTP/2.0"),
        line("CONNECT", "CONNECT localhost:80 HTTP/1.1"),
        header("Host missing", HOST, ""),
        added("Host twice", "Host: other\r\n"),
        header("`Host: a b`", HOST, "Host: a b\r\n"),
        lines("130 headers", "X: a\r\n", 130),
        added("a header of 200 kB", &format!("X: {}\r\n", "a".repeat(200_000))),
        added("a folded header", "X: a\r\n b\r\n"),
        added("a space before a header's colon", "X : a\r\n"),
        added("a control character in a header", "X: a\u{1}b\r\n"),
        added("`Expect: other`", "Expect: other\r\n"),
        added("`Upgrade: websocket` with a body", "Connection: Upgrade\r\nUpgrade: websocket\r\n"),
        added("`Content-Encoding: gzip` over a plain body", "Content-Encoding: gzip\r\n"),
        row("a gzip body with `Content-Encoding: gzip`", |request| {
            *request = Request { payload: CALL.into(), ..usual(&[GZIP_BEGIN, CALL, GZIP_END].concat()) };
            request.headers.push("Content-Encoding: gzip\r\n".into());
        }),
    ]
}

fn framings() -> Vec<Row> {
    let size = format!("{:x}", CALL.len());
    let right = format!("Content-Length: {}\r\n", CALL.len());
    let chunked = |name: &str, header: &str, first_line: &str| {
        row(name, |request| {
            request.headers[LENGTH] = header.into();
            request.oddity = Some("chunks");
            request.body = [first_line.as_bytes(), b"\r\n", CALL, b"\r\n0\r\n\r\n"].concat();
        })
    };
    vec![
        header("the same Content-Length twice", LENGTH, &right.repeat(2)),
        header("two Content-Lengths", LENGTH, &format!("{right}Content-Length: 3\r\n")),
        header("`Content-Length: +45`", LENGTH, "Content-Length: +45\r\n"),
        header("`Content-Length: x`", LENGTH, "Content-Length: x\r\n"),
        header("Content-Length of 2^64 - 1", LENGTH, "Content-Length: 18446744073709551615\r\n"),
        chunked("Content-Length with chunks", &format!("{right}{CHUNKED}"), &size),
        chunked("a transfer coding before `chunked`", "Transfer-Encoding: gzip, chunked\r\n", &size),
        chunked("a transfer coding other than `chunked`", "Transfer-Encoding: gzip\r\n", &size),
        chunked("`chunked` twice", &CHUNKED.repeat(2), &size),
        chunked("a chunk size that is no number", CHUNKED, "xyz"),
        chunked("a chunk extension of 20 kB", CHUNKED, &format!("{size};{}", "a".repeat(20_000))),
    ]
}
