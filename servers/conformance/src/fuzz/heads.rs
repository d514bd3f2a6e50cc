//! HTTP around bodies: the usual POST in its valid varieties, and several requests on one connection.

use server_kit::testing::sockets;
use validator_state::MAX_BODY_BYTES;

use super::bodies::body;
use super::odd::odd;
use super::random::Random;
use super::wire::{Request, Script};

pub(super) const HEALTH: &[u8] = sockets::HEALTH.as_bytes();

const TARGETS: &[&str] =
    &["/", "/", "/", "/rpc", "/?a=1", "/health/", "/healthz", "/a/../b", "/%2e%2e", "//", "/health?x"];

const JSON_TYPES: &[&str] = &[
    "application/json",
    "application/json",
    "application/json",
    "Application/JSON",
    "application/json; charset=utf-8",
    "application/json;charset=UTF-8",
];

/// Other types, and near misses.
const OTHER_TYPES: &[&str] = &[
    "",
    "text/plain",
    "application/json-rpc",
    "application/json; charset=latin1",
    "application/json ; charset=utf-8",
    "application/json;  charset=utf-8",
    "application/json; charset=utf-8;",
    "application/json;",
    "application/jsonx",
    "application/json; charset=\"utf-8\"",
    "application/json; boundary=x",
    "application/json, text/plain",
    "*/*",
    "application/json;\tcharset=utf-8",
    "json",
];

/// Headers that change nothing.
const IDLE: &[&str] = &[
    "Accept: */*\r\n",
    "User-Agent: fuzz\r\n",
    "X-Empty:\r\n",
    "x-tabs:\t a \t\r\n",
    "X-High: \u{e9}\r\n",
    "Accept-Encoding: gzip\r\n",
    "Origin: http://example.com\r\n",
    "Cookie: a=b; c=d\r\n",
    "Connection: keep-alive\r\n",
    "Content-Language: en\r\n",
    "TE: trailers\r\n",
    "Accept: a\r\nAccept: b\r\n",
    "Cache-Control: no-store\r\n",
    "Range: bytes=0-1\r\n",
    "If-None-Match: *\r\n",
    "Authorization: Basic eDp5\r\n",
];

/// A POST of a body that nothing is odd about, for a kept connection.
pub fn plain(random: &mut Random) -> Request {
    let payload = body(random);
    let target = random.pick(TARGETS);
    let media = random.pick(JSON_TYPES);
    post(random, target, media, payload)
}

fn post(random: &mut Random, target: &str, media: &str, payload: Vec<u8>) -> Request {
    let mut request = Request {
        line: format!("POST {target} HTTP/1.1\r\n").into_bytes(),
        headers: vec![b"Host: localhost\r\n".to_vec()],
        ..Request::default()
    };
    let name = random.pick(&["Content-Type", "Content-Type", "content-type", "CONTENT-TYPE"]);
    let blank = random.pick(&[" ", " ", "", "\t", "  "]);
    request.headers.push(format!("{name}:{blank}{media}\r\n").into_bytes());
    if random.one_in(8) {
        request.headers.push(random.pick(IDLE).into());
    }
    if random.one_in(8) {
        request.headers.push(b"Transfer-Encoding: chunked\r\n".to_vec());
        let most = chunk_length(random, &payload);
        request.body = chunked(random, payload.chunks(most));
        // A well-formed request has its blanks in one piece with the first byte of the call.
        if payload.chunks(most).next().is_some_and(|first| first.trim_ascii().is_empty()) {
            request.oddity = Some("blanks-alone");
        }
    } else {
        request.headers.push(format!("Content-Length: {}\r\n", payload.len()).into_bytes());
        request.body.clone_from(&payload);
    }
    if random.one_in(4) {
        let (from, to) = (random.below(request.headers.len()), random.below(request.headers.len()));
        request.headers.swap(from, to);
    }
    if target.split('?').next() == Some("/health") {
        request.oddity = Some("health");
    }
    request.payload = payload;
    request
}

/// The most bytes of a chunk: few, but at most some 200 chunks.
fn chunk_length(random: &mut Random, payload: &[u8]) -> usize {
    let most = random.pick(&[&1_usize, &7, &100, &4_096, &60_000]);
    (*most).max(payload.len() / 200).max(1)
}

/// Valid chunks: extensions, trailers, sizes in either case.
fn chunked<'a>(random: &mut Random, chunks: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    for chunk in chunks {
        let extension = random.pick(&["", "", "", "", ";a", ";a=b", ";a=\"b\""]);
        let size = match random.below(4) {
            0 => format!("{:X}", chunk.len()),
            1 => format!("00{:x}", chunk.len()),
            _ => format!("{:x}", chunk.len()),
        };
        out.extend_from_slice(format!("{size}{extension}\r\n").as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(
        random
            .pick(&["0\r\n\r\n", "0\r\n\r\n", "0;a\r\n\r\n", "000\r\n\r\n", "0\r\nX-Trailer: a\r\n\r\n"])
            .as_bytes(),
    );
    out
}

/// Some requests on one connection.
pub fn script(random: &mut Random) -> Script {
    let mut script = Script::default();
    for _ in 0..=random.below(4) {
        script.requests.push(if random.one_in(3) { odd(random) } else { valid(random) });
    }
    if random.one_in(8) {
        script.half_close = true;
        if let Some(last) = script.requests.last_mut() {
            last.oddity = Some("half-close");
        }
        if random.one_in(2) {
            let last = script.requests.last().map_or(0, |last| last.bytes().len());
            script.missing = random.below(last + 1);
        }
    } else {
        script.requests.push(last());
    }
    let length = script.bytes().len().max(1);
    if random.one_in(3) {
        script.cuts = (0..1 + random.below(3)).map(|_| random.below(length)).collect();
        script.cuts.sort_unstable();
    }
    script
}

/// A request with `Connection: close`.
pub fn last() -> Request {
    Request {
        line: b"GET /health HTTP/1.1\r\n".to_vec(),
        headers: vec![b"Host: localhost\r\n".to_vec(), b"Connection: close\r\n".to_vec()],
        oddity: Some("health"),
        ..Request::default()
    }
}

/// A request that breaks no rule of HTTP, though it may not be a POST of JSON.
fn valid(random: &mut Random) -> Request {
    let payload = if random.one_in(2) { HEALTH.to_vec() } else { body(random) };
    match random.below(12) {
        0 => {
            let media = random.pick(OTHER_TYPES);
            Request { oddity: Some("other-type"), ..post(random, "/", media, payload) }
        }
        1 => {
            let method = random.pick(&["PUT", "DELETE", "PATCH", "OPTIONS", "GET", "FOO", "post", "TRACE"]);
            let target = random.pick(TARGETS);
            let line = format!("{method} {target} HTTP/1.1\r\n").into_bytes();
            Request {
                line,
                oddity: Some("other-method"),
                ..post(random, target, "application/json", payload)
            }
        }
        2 => {
            let method = random.pick(&["GET", "OPTIONS", "DELETE"]);
            let target = random.pick(&["/", "/health", "/health?x", "/x"]);
            let line = format!("{method} {target} HTTP/1.1\r\n").into_bytes();
            let headers = vec![b"Host: localhost\r\n".to_vec()];
            Request { line, headers, oddity: Some("other-method"), ..Request::default() }
        }
        3 => Request { oddity: Some("health"), ..post(random, "/health", "text/plain", payload) },
        4 => {
            let mut request = post(random, "/", "application/json", payload);
            request.line = b"POST http://localhost/ HTTP/1.1\r\n".to_vec();
            request
        }
        5 if random.one_in(4) => {
            let mut request = post(random, "/", "application/json", payload);
            request.headers.push(b"Connection: close\r\n".to_vec());
            request.oddity = Some("close-pipelined");
            request
        }
        6 if random.one_in(4) => {
            let mut payload = payload;
            payload.resize(MAX_BODY_BYTES + random.below(3), b' ');
            let too_large = (payload.len() > MAX_BODY_BYTES).then_some("too-large");
            let request = post(random, "/", "application/json", payload);
            Request { oddity: too_large.or(request.oddity), ..request }
        }
        7 if random.one_in(4) => {
            let mut request = post(random, "/", "application/json", payload);
            request.headers.push(b"Content-Encoding: gzip\r\n".to_vec());
            request.oddity = Some("content-encoding");
            request
        }
        _ => {
            let (target, media) = (random.pick(TARGETS), random.pick(JSON_TYPES));
            post(random, target, media, payload)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first chunk of a body.
    fn first_chunk(request: &Request) -> &[u8] {
        let body = &request.body;
        let start = body.windows(2).position(|pair| pair == b"\r\n").unwrap() + 2;
        let line = std::str::from_utf8(&body[..start]).unwrap();
        let length = usize::from_str_radix(line.split([';', '\r']).next().unwrap(), 16).unwrap();
        &body[start..start + length]
    }

    #[test]
    fn blanks_alone_in_the_first_chunk_are_not_called_well_formed() {
        let requests = (0..200_000).map(|number| plain(&mut Random::new(1, number)));
        let chunked =
            requests.filter(|request| request.body != request.payload && !request.payload.is_empty());
        let (odd, usual): (Vec<_>, Vec<_>) = chunked
            .filter(|request| request.oddity != Some("health"))
            .partition(|request| request.oddity == Some("blanks-alone"));
        assert!(!odd.is_empty() && usual.len() > 10 * odd.len(), "{} {}", odd.len(), usual.len());
        assert!(odd.iter().all(|request| first_chunk(request).trim_ascii().is_empty()));
        assert!(usual.iter().all(|request| !first_chunk(request).trim_ascii().is_empty()));
    }
}
