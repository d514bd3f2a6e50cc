//! The differences that are known: what the frameworks' own HTTP parsers make of requests that are not well-formed.
//!
//! Each is a row in docs/CONTRACT.md, "Where a framework differs", and pinned: `tests/fuzz.rs` sends its example.

use super::compare::Difference;

/// A listed difference.
#[derive(Debug)]
pub struct Row {
    /// The oddities of [`super::odd`] and [`super::heads`] that it excuses.
    pub oddities: &'static [&'static str],
    /// What shows it. [`super::heads::last`] follows it on the same connection, unless the client closes its side.
    pub example: &'static str,
    /// Whether the client closes its side for writing behind the example.
    pub half_close: bool,
    /// What legacy, jsonrpsee and actix do: status codes and the end; `|` between what time decides.
    pub outlines: [&'static str; 3],
    /// Why it stays.
    pub reason: &'static str,
}

/// Every row. `PAD` in an example stands for 500,000 letters.
pub const ROWS: &[Row] = &[
    Row {
        oddities: &["host-missing", "host-twice"],
        example: "POST / HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 45\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"getHealth\"}",
        half_close: false,
        outlines: ["200 200 closed", "200 200 closed", "400 closed"],
        reason: "hyper does not look at Host; actix-http refuses none and two",
    },
    Row {
        oddities: &["length-twice"],
        example: "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 45\r\nContent-Length: 45\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"getHealth\"}",
        half_close: false,
        outlines: ["200 200 closed", "200 200 closed", "400 closed"],
        reason: "hyper takes the same Content-Length twice",
    },
    Row {
        oddities: &["length-with-chunked", "chunked-with-length"],
        example: "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 45\r\nTransfer-Encoding: chunked\r\n\r\n2d\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"getHealth\"}\r\n0\r\n\r\n",
        half_close: false,
        outlines: ["200 200 closed", "200 closed", "400 closed"],
        reason: "hyper takes the chunks, hyper 1 closes behind them; actix-http refuses both together",
    },
    Row {
        oddities: &["chunked-twice", "coding-before-chunked"],
        example: "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2d\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"getHealth\"}\r\n0\r\n\r\n",
        half_close: false,
        outlines: ["200 200 closed", "200 200 closed", "400 closed"],
        reason: "hyper looks at the last coding alone",
    },
    Row {
        oddities: &[
            "chunk-size-broken",
            "chunk-space-size",
            "chunk-line-feed",
            "chunk-size-huge",
            "chunk-end-missing",
        ],
        example: "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"getHealth\"}\r\n0\r\n\r\n",
        half_close: false,
        outlines: ["closed", "closed", "400 closed"],
        reason: "hyper closes on a chunk that it can't read, without an answer",
    },
    Row {
        oddities: &["chunk-extension-long"],
        example: "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2d;PAD\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"getHealth\"}\r\n0\r\n\r\n",
        half_close: false,
        outlines: ["closed", "closed", "200 200 closed"],
        reason: "hyper has a limit on extensions",
    },
    Row {
        oddities: &["length-huge"],
        example: "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 18446744073709551615\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"getHealth\"}",
        half_close: false,
        outlines: ["431 closed", "431 closed", "open"],
        reason: "hyper refuses a length that it keeps for itself; actix-http waits for the body",
    },
    Row {
        oddities: &["header-huge"],
        example: "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX: PAD\r\nContent-Length: 45\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"getHealth\"}",
        half_close: false,
        outlines: ["431 closed|200 200 closed", "200 200 closed", "431 closed"],
        reason: "each has its own limit on the size of a head; hyper's counts what it happens to have buffered",
    },
    Row {
        oddities: &["target-bytes"],
        example: "POST /é HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 45\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"getHealth\"}",
        half_close: false,
        outlines: ["400 closed", "200 200 closed", "400 closed"],
        reason: "only hyper 1 takes UTF-8 in a target",
    },
    Row {
        oddities: &["upgrade"],
        example: "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 45\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"getHealth\"}",
        half_close: false,
        outlines: ["200 200 closed", "200 200 closed", "open"],
        reason: "actix-http takes what follows an offered websocket for a stream without an end",
    },
    Row {
        oddities: &["half-close"],
        example: "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 45\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"getHealth\"}",
        half_close: true,
        outlines: ["200 closed|closed", "200 closed|closed", "200 closed"],
        reason: "hyper closes when its client does, answered or not; actix-http answers, a cut body with 400",
    },
    Row {
        oddities: &["body-unread", "connect", "health-absolute"],
        example: "PATCH / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n \r\n0\r\n\r\n",
        half_close: false,
        outlines: ["405 closed|405 200 closed", "405 closed|405 200 closed", "405 200 closed"],
        reason: "the answer is the same, but each has its own rule when to close behind a body that nobody read",
    },
    Row {
        oddities: &[
            "head-pipelined",
            "http-1.0",
            "http-1.0-keep-alive",
            "close-pipelined",
            "options-asterisk",
        ],
        example: "POST / HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 45\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"getHealth\"}",
        half_close: false,
        outlines: ["200 closed", "200 closed", "200 200 closed"],
        reason: "actix-http keeps method, version and Connection of the newest request that it has read, and answers older ones by them",
    },
    Row {
        oddities: &["pipelined-in-pieces"],
        example: "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
        half_close: false,
        outlines: ["200 200 closed", "200 200 closed", "200 200 closed"],
        reason: "actix-http closes behind a pipelined request whose body came in pieces, with every answer given",
    },
];

/// The row that excuses a difference.
pub fn excuse(difference: &Difference) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.oddities.iter().any(|oddity| difference.oddities.contains(oddity)))
}
