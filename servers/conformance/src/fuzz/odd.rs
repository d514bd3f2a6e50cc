//! Heads and framings that are odd in one named way.
//!
//! What the frameworks answer to some of them is pinned by [`crate::malformed`].

use super::heads::HEALTH;
use super::random::Random;
use super::wire::Request;

/// An oddity and its variants. In the text `LEN` and `SIZE` stand for the body's length, decimal and hexadecimal.
type Oddity = (&'static str, &'static [&'static [u8]]);

/// Where the header lines of the usual request are.
const HOST: usize = 0;
const LENGTH: usize = 2;

/// Request lines.
const LINES: [Oddity; 16] = [
    ("http-1.0", &[b"POST / HTTP/1.0\r\n"]),
    ("http-1.0-keep-alive", &[b"POST / HTTP/1.0\r\n"]),
    ("version-unknown", &[b"POST / HTTP/1.2\r\n", b"POST / HTTP/2.0\r\n", b"POST / HTTP/3\r\n"]),
    (
        "version-broken",
        &[
            b"POST / http/1.1\r\n",
            b"POST / HTTP/1.1x\r\n",
            b"POST / HTTP/11\r\n",
            b"POST / \r\n",
            b"POST /\r\n",
        ],
    ),
    (
        "line-spaces",
        &[
            b"POST  / HTTP/1.1\r\n",
            b"POST /  HTTP/1.1\r\n",
            b"POST / HTTP/1.1 \r\n",
            b" POST / HTTP/1.1\r\n",
            b"POST\t/ HTTP/1.1\r\n",
        ],
    ),
    ("empty-line-before", &[b"\r\nPOST / HTTP/1.1\r\n"]),
    ("line-feed-alone", &[b"POST / HTTP/1.1\n"]),
    ("target-asterisk", &[b"POST * HTTP/1.1\r\n"]),
    ("options-asterisk", &[b"OPTIONS * HTTP/1.1\r\n"]),
    (
        "target-no-path",
        &[
            b"POST localhost:80 HTTP/1.1\r\n",
            b"POST x HTTP/1.1\r\n",
            b"POST ?a HTTP/1.1\r\n",
            b"POST :// HTTP/1.1\r\n",
        ],
    ),
    ("connect", &[b"CONNECT localhost:80 HTTP/1.1\r\n"]),
    (
        "target-bytes",
        &[
            b"POST /\xc3\xa9 HTTP/1.1\r\n",
            b"POST /\xff HTTP/1.1\r\n",
            b"POST /\x7f HTTP/1.1\r\n",
            b"POST /\x01 HTTP/1.1\r\n",
        ],
    ),
    (
        "target-characters",
        &[
            b"POST /#a HTTP/1.1\r\n",
            b"POST /\"<> HTTP/1.1\r\n",
            b"POST /%zz HTTP/1.1\r\n",
            b"POST /{}|\\^` HTTP/1.1\r\n",
        ],
    ),
    (
        "method-broken",
        &[b"P(ST / HTTP/1.1\r\n", b"P\x01ST / HTTP/1.1\r\n", b"/ HTTP/1.1\r\n", b"\xffOST / HTTP/1.1\r\n"],
    ),
    (
        "health-absolute",
        &[b"GET http://localhost/health HTTP/1.1\r\n", b"GET HTTP://LOCALHOST/health HTTP/1.1\r\n"],
    ),
    ("http-2-preface", &[b"PRI * HTTP/2.0\r\n"]),
];

/// Host headers.
const HOSTS: [Oddity; 4] = [
    ("host-missing", &[b""]),
    ("host-twice", &[b"Host: localhost\r\n", b"host: other\r\n"]),
    ("host-empty", &[b"Host:\r\n"]),
    (
        "host-broken",
        &[
            b"Host: a b\r\n",
            b"Host: http://x/\r\n",
            b"Host: x:99999\r\n",
            b"Host: \xff\r\n",
            b"Host: [::1\r\n",
        ],
    ),
];

/// Further headers; those without a text are made of many bytes.
const HEADERS: [Oddity; 14] = [
    ("folded", &[b"X-Fold: a\r\n b\r\n"]),
    ("space-before-colon", &[b"X-Space : a\r\n"]),
    ("header-broken", &[b"X-No-Colon\r\n", b": a\r\n", b" X: a\r\n"]),
    ("name-broken", &[b"X(Y: a\r\n", b"X Y: a\r\n", b"X\xff: a\r\n", b"X\x01: a\r\n", b"X@: a\r\n"]),
    ("value-control", &[b"X: a\x01b\r\n", b"X: a\0b\r\n", b"X: a\x7fb\r\n"]),
    ("value-carriage-return", &[b"X: a\rb\r\n"]),
    ("value-bytes", &[b"X: \xff\xfe\r\n"]),
    ("header-long", &[]),
    ("header-huge", &[]),
    ("headers-many", &[]),
    ("headers-too-many", &[]),
    ("expect-continue", &[b"Expect: 100-continue\r\n", b"Expect: 100-Continue\r\n"]),
    ("expect-other", &[b"Expect: other\r\n"]),
    (
        "upgrade",
        &[
            b"Connection: Upgrade\r\nUpgrade: websocket\r\n",
            b"Connection: upgrade, http2-settings\r\nUpgrade: h2c\r\n",
        ],
    ),
];

/// In the place of the Content-Length.
const LENGTHS: [Oddity; 8] = [
    ("length-twice", &[b"Content-Length: LEN\r\nContent-Length: LEN\r\n"]),
    ("length-two", &[b"Content-Length: LEN\r\nContent-Length: 3\r\n"]),
    ("length-list", &[b"Content-Length: LEN, LEN\r\n"]),
    ("length-plus", &[b"Content-Length: +LEN\r\n"]),
    (
        "length-broken",
        &[
            b"Content-Length: -1\r\n",
            b"Content-Length: 0x10\r\n",
            b"Content-Length: x\r\n",
            b"Content-Length:\r\n",
            b"Content-Length: 1 2\r\n",
        ],
    ),
    (
        "length-huge",
        &[
            b"Content-Length: 18446744073709551615\r\n",
            b"Content-Length: 18446744073709551616\r\n",
            b"Content-Length: 9223372036854775808\r\n",
            b"Content-Length: 99999\r\n",
        ],
    ),
    ("length-zeros", &[b"Content-Length: 00LEN\r\n"]),
    ("length-missing", &[b""]),
];

/// In the place of the Content-Length, before a body in chunks.
const CODINGS: [Oddity; 7] = [
    ("length-with-chunked", &[b"Content-Length: LEN\r\nTransfer-Encoding: chunked\r\n"]),
    ("chunked-with-length", &[b"Transfer-Encoding: chunked\r\nContent-Length: LEN\r\n"]),
    ("coding-before-chunked", &[b"Transfer-Encoding: gzip, chunked\r\n"]),
    (
        "coding-other",
        &[
            b"Transfer-Encoding: chunked, gzip\r\n",
            b"Transfer-Encoding: identity\r\n",
            b"Transfer-Encoding: gzip\r\n",
            b"Transfer-Encoding:\r\n",
            b"Transfer-Encoding: xchunked\r\n",
        ],
    ),
    ("chunked-twice", &[b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"]),
    ("chunked-case", &[b"Transfer-Encoding: Chunked\r\n", b"transfer-encoding:  CHUNKED \r\n"]),
    ("chunked-http-1.0", &[b"Transfer-Encoding: chunked\r\n"]),
];

/// Lines before the one chunk of a body.
const CHUNKS: [Oddity; 7] = [
    ("chunk-size-broken", &[b"xyz\r\n", b"-1\r\n", b"0x2d\r\n", b"\r\n", b"+2d\r\n"]),
    ("chunk-size-space", &[b"SIZE \r\n"]),
    ("chunk-space-size", &[b" SIZE\r\n"]),
    ("chunk-line-feed", &[b"SIZE\n"]),
    ("chunk-size-huge", &[b"fffffffffffffffff\r\n", b"ffffffffffffffff\r\n", b"7fffffffffffffff\r\n"]),
    ("chunk-end-missing", &[b"SIZE\r\n"]),
    ("chunk-extension-long", &[]),
];

/// A request that is odd in one way.
pub fn odd(random: &mut Random) -> Request {
    let mut request = super::shrink::usual(HEALTH);
    request.oddity = Some(match random.below(5) {
        0 => odd_line(random, &mut request),
        1 => odd_host(random, &mut request),
        2 => odd_header(random, &mut request),
        3 => odd_length(random, &mut request),
        _ => odd_chunks(random, &mut request),
    });
    request
}

/// One of the variants of an oddity.
fn variant(random: &mut Random, variants: &[&'static [u8]]) -> Vec<u8> {
    let text: &[u8] = if let [only] = variants { only } else { random.pick(variants) };
    let replace = |text: &[u8], name: &str, value: &str| match text
        .windows(name.len())
        .position(|at| at == name.as_bytes())
    {
        Some(at) => [&text[..at], value.as_bytes(), &text[at + name.len()..]].concat(),
        None => text.to_vec(),
    };
    let (length, size) = (HEALTH.len().to_string(), format!("{:x}", HEALTH.len()));
    // A length may be there twice.
    replace(&replace(&replace(text, "LEN", &length), "LEN", &length), "SIZE", &size)
}

fn odd_line(random: &mut Random, request: &mut Request) -> &'static str {
    let (oddity, variants) = LINES[random.below(LINES.len())];
    request.line = variant(random, variants);
    match oddity {
        "http-1.0-keep-alive" => request.headers.push(b"Connection: keep-alive\r\n".to_vec()),
        "line-feed-alone" => {
            for header in &mut request.headers {
                header.retain(|byte| *byte != b'\r');
            }
        }
        _ => {}
    }
    oddity
}

fn odd_host(random: &mut Random, request: &mut Request) -> &'static str {
    let (oddity, variants) = HOSTS[random.below(HOSTS.len())];
    let host = variant(random, variants);
    if oddity == "host-twice" {
        request.headers.push(host);
    } else {
        request.headers[HOST] = host;
    }
    oddity
}

fn odd_header(random: &mut Random, request: &mut Request) -> &'static str {
    let (oddity, variants) = HEADERS[random.below(HEADERS.len())];
    let mut many = |counts: &[&usize]| *random.pick(counts);
    let header = match oddity {
        "header-long" => format!("X: {}\r\n", "a".repeat(many(&[&4_000, &8_000, &30_000]))).into_bytes(),
        "header-huge" => format!("X: {}\r\n", "a".repeat(many(&[&140_000, &500_000]))).into_bytes(),
        "headers-many" => "X: a\r\n".repeat(many(&[&40, &60, &90])).into_bytes(),
        "headers-too-many" => "X: a\r\n".repeat(many(&[&101, &130, &1_000])).into_bytes(),
        _ => variant(random, variants),
    };
    request.headers.push(header);
    oddity
}

fn odd_length(random: &mut Random, request: &mut Request) -> &'static str {
    let (oddity, variants) = LENGTHS[random.below(LENGTHS.len())];
    request.headers[LENGTH] = variant(random, variants);
    if oddity == "length-missing" {
        request.body.clear();
    }
    oddity
}

fn odd_chunks(random: &mut Random, request: &mut Request) -> &'static str {
    let number = random.below(CODINGS.len() + CHUNKS.len());
    let (header, first_line, oddity) = match number.checked_sub(CODINGS.len()) {
        None => (variant(random, CODINGS[number].1), variant(random, &[b"SIZE\r\n"]), CODINGS[number].0),
        Some(index) => {
            let (oddity, variants) = CHUNKS[index];
            let line = match oddity {
                "chunk-extension-long" => {
                    format!("{:x};{}\r\n", HEALTH.len(), "a".repeat(20_000)).into_bytes()
                }
                _ => variant(random, variants),
            };
            (b"Transfer-Encoding: chunked\r\n".to_vec(), line, oddity)
        }
    };
    if oddity == "chunked-http-1.0" {
        request.line = b"POST / HTTP/1.0\r\n".to_vec();
    }
    let end: &[u8] = if oddity == "chunk-end-missing" { b"0\r\n\r\n" } else { b"\r\n0\r\n\r\n" };
    request.headers[LENGTH] = header;
    request.body = [&first_line, HEALTH, end].concat();
    oddity
}
