//! Heads and framings that are odd in one named way.
//!
//! What the frameworks say to some of them is pinned by [`crate::malformed`].

use super::heads::HEALTH;
use super::random::Random;
use super::wire::Request;

/// A request that is odd in one way.
pub fn odd(random: &mut Random) -> Request {
    let length = format!("Content-Length: {}\r\n", HEALTH.len());
    let mut request = Request {
        line: b"POST / HTTP/1.1\r\n".to_vec(),
        headers: vec![
            b"Host: localhost\r\n".to_vec(),
            b"Content-Type: application/json\r\n".to_vec(),
            length.clone().into_bytes(),
        ],
        body: HEALTH.to_vec(),
        payload: HEALTH.to_vec(),
        ..Request::default()
    };
    let oddity = match random.below(5) {
        0 => odd_line(random, &mut request),
        1 => odd_host(random, &mut request),
        2 => odd_header(random, &mut request),
        3 => odd_length(random, &mut request),
        _ => odd_chunks(random, &mut request),
    };
    request.oddity = Some(oddity);
    request
}

fn odd_line(random: &mut Random, request: &mut Request) -> &'static str {
    let (line, oddity): (&[u8], _) = match random.below(16) {
        0 => (b"POST / HTTP/1.0\r\n", "http-1.0"),
        1 => {
            request.headers.push(b"Connection: keep-alive\r\n".to_vec());
            (b"POST / HTTP/1.0\r\n", "http-1.0-keep-alive")
        }
        2 => (
            random.pick(&[&b"POST / HTTP/1.2\r\n"[..], b"POST / HTTP/2.0\r\n", b"POST / HTTP/3\r\n"]),
            "version-unknown",
        ),
        3 => (
            random.pick(&[
                &b"POST / http/1.1\r\n"[..],
                b"POST / HTTP/1.1x\r\n",
                b"POST / HTTP/11\r\n",
                b"POST / \r\n",
                b"POST /\r\n",
            ]),
            "version-broken",
        ),
        4 => (
            random.pick(&[
                &b"POST  / HTTP/1.1\r\n"[..],
                b"POST /  HTTP/1.1\r\n",
                b"POST / HTTP/1.1 \r\n",
                b" POST / HTTP/1.1\r\n",
                b"POST\t/ HTTP/1.1\r\n",
            ]),
            "line-spaces",
        ),
        5 => (b"\r\nPOST / HTTP/1.1\r\n", "empty-line-before"),
        6 => (b"POST / HTTP/1.1\n", "line-feed-alone"),
        7 => (b"POST * HTTP/1.1\r\n", "target-asterisk"),
        8 => (b"OPTIONS * HTTP/1.1\r\n", "options-asterisk"),
        9 => (
            random.pick(&[
                &b"POST localhost:80 HTTP/1.1\r\n"[..],
                b"POST x HTTP/1.1\r\n",
                b"POST ?a HTTP/1.1\r\n",
                b"POST :// HTTP/1.1\r\n",
            ]),
            "target-no-path",
        ),
        10 => (b"CONNECT localhost:80 HTTP/1.1\r\n", "connect"),
        11 => (
            random.pick(&[
                &b"POST /\xc3\xa9 HTTP/1.1\r\n"[..],
                b"POST /\xff HTTP/1.1\r\n",
                b"POST /\x7f HTTP/1.1\r\n",
                b"POST /\x01 HTTP/1.1\r\n",
            ]),
            "target-bytes",
        ),
        12 => (
            random.pick(&[
                &b"POST /#a HTTP/1.1\r\n"[..],
                b"POST /\"<> HTTP/1.1\r\n",
                b"POST /%zz HTTP/1.1\r\n",
                b"POST /{}|\\^` HTTP/1.1\r\n",
            ]),
            "target-characters",
        ),
        13 => (
            random.pick(&[
                &b"P(ST / HTTP/1.1\r\n"[..],
                b"P\x01ST / HTTP/1.1\r\n",
                b"/ HTTP/1.1\r\n",
                b"\xffOST / HTTP/1.1\r\n",
            ]),
            "method-broken",
        ),
        14 => (
            random.pick(&[
                &b"GET http://localhost/health HTTP/1.1\r\n"[..],
                b"GET HTTP://LOCALHOST/health HTTP/1.1\r\n",
            ]),
            "health-absolute",
        ),
        _ => (b"PRI * HTTP/2.0\r\n", "http-2-preface"),
    };
    request.line = line.to_vec();
    if oddity == "line-feed-alone" {
        for header in &mut request.headers {
            header.retain(|byte| *byte != b'\r');
        }
    }
    oddity
}

fn odd_host(random: &mut Random, request: &mut Request) -> &'static str {
    match random.below(4) {
        0 => {
            drop(request.headers.remove(0));
            "host-missing"
        }
        1 => {
            request.headers.push(random.pick(&[&b"Host: localhost\r\n"[..], b"host: other\r\n"]).to_vec());
            "host-twice"
        }
        2 => {
            request.headers[0] = b"Host:\r\n".to_vec();
            "host-empty"
        }
        _ => {
            request.headers[0] = random
                .pick(&[
                    &b"Host: a b\r\n"[..],
                    b"Host: http://x/\r\n",
                    b"Host: x:99999\r\n",
                    b"Host: \xff\r\n",
                    b"Host: [::1\r\n",
                ])
                .to_vec();
            "host-broken"
        }
    }
}

fn odd_header(random: &mut Random, request: &mut Request) -> &'static str {
    let (header, oddity): (Vec<u8>, _) = match random.below(14) {
        0 => (b"X-Fold: a\r\n b\r\n".to_vec(), "folded"),
        1 => (b"X-Space : a\r\n".to_vec(), "space-before-colon"),
        2 => (random.pick(&[&b"X-No-Colon\r\n"[..], b": a\r\n", b" X: a\r\n"]).to_vec(), "header-broken"),
        3 => (
            random
                .pick(&[&b"X(Y: a\r\n"[..], b"X Y: a\r\n", b"X\xff: a\r\n", b"X\x01: a\r\n", b"X@: a\r\n"])
                .to_vec(),
            "name-broken",
        ),
        4 => (
            random.pick(&[&b"X: a\x01b\r\n"[..], b"X: a\0b\r\n", b"X: a\x7fb\r\n"]).to_vec(),
            "value-control",
        ),
        5 => (b"X: a\rb\r\n".to_vec(), "value-carriage-return"),
        6 => (b"X: \xff\xfe\r\n".to_vec(), "value-bytes"),
        7 => (
            format!("X: {}\r\n", "a".repeat(*random.pick(&[&4_000, &8_000, &30_000]))).into_bytes(),
            "header-long",
        ),
        8 => (
            format!("X: {}\r\n", "a".repeat(*random.pick(&[&140_000, &500_000]))).into_bytes(),
            "header-huge",
        ),
        9 => ("X: a\r\n".repeat(*random.pick(&[&40, &60, &90])).into_bytes(), "headers-many"),
        10 => ("X: a\r\n".repeat(*random.pick(&[&101, &130, &1_000])).into_bytes(), "headers-too-many"),
        11 => (
            random.pick(&[&b"Expect: 100-continue\r\n"[..], b"Expect: 100-Continue\r\n"]).to_vec(),
            "expect-continue",
        ),
        12 => (b"Expect: other\r\n".to_vec(), "expect-other"),
        _ => (
            random
                .pick(&[
                    &b"Connection: Upgrade\r\nUpgrade: websocket\r\n"[..],
                    b"Connection: upgrade, http2-settings\r\nUpgrade: h2c\r\n",
                ])
                .to_vec(),
            "upgrade",
        ),
    };
    request.headers.push(header);
    oddity
}

fn odd_length(random: &mut Random, request: &mut Request) -> &'static str {
    let right = HEALTH.len();
    let (header, oddity) = match random.below(8) {
        0 => (format!("Content-Length: {right}\r\nContent-Length: {right}\r\n"), "length-twice"),
        1 => (format!("Content-Length: {right}\r\nContent-Length: 3\r\n"), "length-two"),
        2 => (format!("Content-Length: {right}, {right}\r\n"), "length-list"),
        3 => (format!("Content-Length: +{right}\r\n"), "length-plus"),
        4 => (
            random
                .pick(&[
                    "Content-Length: -1\r\n",
                    "Content-Length: 0x10\r\n",
                    "Content-Length: x\r\n",
                    "Content-Length:\r\n",
                    "Content-Length: 1 2\r\n",
                ])
                .to_owned(),
            "length-broken",
        ),
        5 => (
            random
                .pick(&[
                    "Content-Length: 18446744073709551615\r\n",
                    "Content-Length: 18446744073709551616\r\n",
                    "Content-Length: 9223372036854775808\r\n",
                    "Content-Length: 99999\r\n",
                ])
                .to_owned(),
            "length-huge",
        ),
        6 => (format!("Content-Length: 00{right}\r\n"), "length-zeros"),
        _ => {
            request.body.clear();
            (String::new(), "length-missing")
        }
    };
    request.headers[2] = header.into_bytes();
    oddity
}

fn odd_chunks(random: &mut Random, request: &mut Request) -> &'static str {
    let lawful = [format!("{:x}\r\n", HEALTH.len()).as_bytes(), HEALTH, b"\r\n0\r\n\r\n"].concat();
    let size = format!("{:x}", HEALTH.len());
    let broken = |first: String| [first.as_bytes(), HEALTH, b"\r\n0\r\n\r\n"].concat();
    let te = "Transfer-Encoding: chunked\r\n";
    let length = String::from_utf8_lossy(&request.headers[2]).into_owned();
    let (header, body, oddity) = match random.below(14) {
        0 => (format!("{length}{te}"), lawful, "length-with-chunked"),
        1 => (format!("{te}{length}"), lawful, "chunked-with-length"),
        2 => ("Transfer-Encoding: gzip, chunked\r\n".to_owned(), lawful, "coding-before-chunked"),
        3 => (
            random
                .pick(&[
                    "Transfer-Encoding: chunked, gzip\r\n",
                    "Transfer-Encoding: identity\r\n",
                    "Transfer-Encoding: gzip\r\n",
                    "Transfer-Encoding:\r\n",
                    "Transfer-Encoding: xchunked\r\n",
                ])
                .to_owned(),
            lawful,
            "coding-other",
        ),
        4 => (te.repeat(2), lawful, "chunked-twice"),
        5 => (
            random.pick(&["Transfer-Encoding: Chunked\r\n", "transfer-encoding:  CHUNKED \r\n"]).to_owned(),
            lawful,
            "chunked-case",
        ),
        6 => {
            request.line = b"POST / HTTP/1.0\r\n".to_vec();
            (te.to_owned(), lawful, "chunked-http-1.0")
        }
        7 => (
            te.to_owned(),
            broken(random.pick(&["xyz\r\n", "-1\r\n", "0x2d\r\n", "\r\n", "+2d\r\n"]).to_owned()),
            "chunk-size-broken",
        ),
        8 => (te.to_owned(), broken(format!("{size} \r\n")), "chunk-size-space"),
        9 => (te.to_owned(), broken(format!(" {size}\r\n")), "chunk-space-size"),
        10 => (te.to_owned(), broken(format!("{size}\n")), "chunk-line-feed"),
        11 => (
            te.to_owned(),
            broken(
                random
                    .pick(&["fffffffffffffffff\r\n", "ffffffffffffffff\r\n", "7fffffffffffffff\r\n"])
                    .to_owned(),
            ),
            "chunk-size-huge",
        ),
        12 => (
            te.to_owned(),
            [format!("{size}\r\n").as_bytes(), HEALTH, b"0\r\n\r\n"].concat(),
            "chunk-end-missing",
        ),
        _ => (
            te.to_owned(),
            [format!("{size};{}\r\n", "a".repeat(20_000)).as_bytes(), HEALTH, b"\r\n0\r\n\r\n"].concat(),
            "chunk-extension-long",
        ),
    };
    request.headers[2] = header.into_bytes();
    request.body = body;
    oddity
}
