//! The HTTP/1.1 of one connection, without its socket: bytes in, answers out.
//!
//! As little as keep-alive and pipelining need. Bodies are counted, not kept; chunked ones are refused.

use std::mem::MaybeUninit;

use httparse::{Header, Request, Status};
use typed_rpc::Tally;

/// Bytes of the longest request head.
const MAX_HEAD_BYTES: usize = 16_384;

/// Headers that a request may have.
const MAX_HEADERS: usize = 64;

/// Everything that can be answered, ready to be sent. Made once, shared by all threads.
#[derive(Debug)]
pub(crate) struct Answers {
    rpc: Reply,
    health: Reply,
    options: Reply,
    method_not_allowed: Reply,
    too_large: Reply,
    bad_request: Reply,
    tally: Tally,
    max_body_bytes: usize,
}

/// One answer, twice: for a connection that is kept, and for one that is closed after it.
#[derive(Debug)]
struct Reply {
    kept: Vec<u8>,
    closed: Vec<u8>,
}

impl Reply {
    fn new(status: &str, content_type: &str, body: &[u8]) -> Self {
        let length = body.len();
        let whole = |connection: &str| {
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n{connection}\r\n"
            );
            [head.as_bytes(), body].concat()
        };
        Self { kept: whole(""), closed: whole("connection: close\r\n") }
    }
}

impl Answers {
    /// `rpc_body` is the answer to every POST, and `tally` what it counts for.
    pub(crate) fn new(rpc_body: &[u8], tally: Tally, max_body_bytes: usize) -> Self {
        const JSON: &str = "application/json; charset=utf-8";
        const TEXT: &str = "text/plain; charset=utf-8";
        Self {
            rpc: Reply::new("200 OK", JSON, rpc_body),
            health: Reply::new("200 OK", TEXT, b"ok"),
            options: Reply::new("200 OK", JSON, b""),
            method_not_allowed: Reply::new(
                "405 Method Not Allowed",
                TEXT,
                b"Used HTTP Method is not allowed. POST or OPTIONS is required\n",
            ),
            too_large: Reply::new(
                "413 Payload Too Large",
                TEXT,
                b"request body size exceeds allowed maximum",
            ),
            bad_request: Reply::new("400 Bad Request", TEXT, b"not HTTP/1.1 with a Content-Length\n"),
            tally,
            max_body_bytes,
        }
    }
}

/// What was answered to some bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Fed {
    /// JSON-RPC calls answered.
    pub answered: u64,
    /// Those of them that were answered with an error.
    pub errors: u64,
    /// Whether the connection ends once the answers are sent.
    pub close: bool,
}

/// The state of a connection between two arrivals of bytes.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// The beginning of a head whose end has not arrived.
    head: Vec<u8>,
    /// The request whose body has not arrived in full.
    current: Option<Incoming>,
}

#[derive(Debug)]
struct Incoming {
    kind: Kind,
    close: bool,
    body_left: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rpc,
    Health,
    Options,
    Other,
}

/// Why a request is not read on; its connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    TooLarge,
    Bad,
}

impl Conversation {
    /// Whether no request has begun that was not answered.
    pub(crate) fn is_idle(&self) -> bool {
        self.head.is_empty() && self.current.is_none()
    }

    /// Takes the next bytes of the connection, and appends an answer to `out` for each request that they complete.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], answers: &Answers, out: &mut Vec<u8>) -> Fed {
        let mut fed = Fed::default();
        while !bytes.is_empty() && !fed.close {
            let mut incoming = match self.current.take() {
                Some(incoming) => incoming,
                None => match self.next_head(&mut bytes, answers.max_body_bytes) {
                    Ok(Some(incoming)) => incoming,
                    Ok(None) => break,
                    Err(refusal) => {
                        out.extend_from_slice(&answers.refusal(refusal).closed);
                        fed.close = true;
                        break;
                    }
                },
            };
            let taken = incoming.body_left.min(bytes.len());
            bytes = bytes.get(taken..).unwrap_or_default();
            incoming.body_left -= taken;
            if incoming.body_left == 0 {
                answers.write(&incoming, &mut fed, out);
            } else {
                self.current = Some(incoming);
            }
        }
        fed
    }

    /// The next head, `bytes` moved past it; `None` where it is not complete.
    fn next_head(&mut self, bytes: &mut &[u8], max_body_bytes: usize) -> Result<Option<Incoming>, Refusal> {
        if self.head.is_empty() {
            return match parse(bytes, max_body_bytes)? {
                Some((incoming, length)) => {
                    *bytes = bytes.get(length..).unwrap_or_default();
                    Ok(Some(incoming))
                }
                None => {
                    self.head.extend_from_slice(bytes);
                    Ok(None)
                }
            };
        }
        let before = self.head.len();
        self.head.extend_from_slice(bytes);
        let parsed = parse(&self.head, max_body_bytes)?;
        Ok(parsed.map(|(incoming, length)| {
            // The head did not end with the bytes before, so it ends among the new ones.
            *bytes = bytes.get(length.saturating_sub(before)..).unwrap_or_default();
            self.head.clear();
            incoming
        }))
    }
}

impl Answers {
    fn refusal(&self, refusal: Refusal) -> &Reply {
        match refusal {
            Refusal::TooLarge => &self.too_large,
            Refusal::Bad => &self.bad_request,
        }
    }

    fn write(&self, incoming: &Incoming, fed: &mut Fed, out: &mut Vec<u8>) {
        let reply = match incoming.kind {
            Kind::Rpc => {
                fed.answered += self.tally.answered;
                fed.errors += self.tally.errors;
                &self.rpc
            }
            Kind::Health => &self.health,
            Kind::Options => &self.options,
            Kind::Other => &self.method_not_allowed,
        };
        fed.close = incoming.close;
        out.extend_from_slice(if incoming.close { &reply.closed } else { &reply.kept });
    }
}

/// The head that `bytes` begin with, and its length; `None` where they end before it does.
fn parse(bytes: &[u8], max_body_bytes: usize) -> Result<Option<(Incoming, usize)>, Refusal> {
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut request = Request::new(&mut []);
    match request.parse_with_uninit_headers(bytes, &mut headers) {
        Ok(Status::Complete(length)) => Ok(Some((incoming(&request, max_body_bytes)?, length))),
        Ok(Status::Partial) if bytes.len() < MAX_HEAD_BYTES => Ok(None),
        Ok(Status::Partial) | Err(_) => Err(Refusal::Bad),
    }
}

fn incoming(request: &Request<'_, '_>, max_body_bytes: usize) -> Result<Incoming, Refusal> {
    let mut length = None;
    let mut close = request.version == Some(0);
    for header in request.headers.iter() {
        // By length first: most headers are none of these.
        match header.name.len() {
            14 if header.name.eq_ignore_ascii_case("content-length") => {
                let value = content_length(header)?;
                if length.is_some_and(|before| before != value) {
                    return Err(Refusal::Bad);
                }
                length = Some(value);
            }
            17 if header.name.eq_ignore_ascii_case("transfer-encoding") => return Err(Refusal::Bad),
            10 if header.name.eq_ignore_ascii_case("connection") => {
                close =
                    (close || has_token(header.value, b"close")) && !has_token(header.value, b"keep-alive");
            }
            _ => {}
        }
    }
    let body_left = length.unwrap_or(0);
    if body_left > max_body_bytes {
        return Err(Refusal::TooLarge);
    }
    let kind = match (request.method.unwrap_or_default(), request.path.unwrap_or_default()) {
        ("GET" | "POST", "/health") => Kind::Health,
        ("POST", _) => Kind::Rpc,
        ("OPTIONS", _) => Kind::Options,
        _ => Kind::Other,
    };
    // HEAD would be answered with a body that its client does not expect: what follows would be misread.
    Ok(Incoming { kind, close: close || kind == Kind::Other, body_left })
}

fn content_length(header: &Header<'_>) -> Result<usize, Refusal> {
    // More digits than any limit has; also keeps the sum below from overflowing.
    if header.value.is_empty() || header.value.len() > 12 {
        return Err(Refusal::Bad);
    }
    header.value.iter().try_fold(0, |length, byte| match byte {
        b'0'..=b'9' => Ok(length * 10 + usize::from(byte - b'0')),
        _ => Err(Refusal::Bad),
    })
}

fn has_token(value: &[u8], token: &[u8]) -> bool {
    value.split(|byte| *byte == b',').any(|part| part.trim_ascii().eq_ignore_ascii_case(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers() -> Answers {
        Answers::new(b"{}", Tally { answered: 1, errors: 0 }, 100)
    }

    /// Feeds each part by itself.
    fn feed<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> (String, Fed, Conversation) {
        let (answers, mut conversation, mut out) = (answers(), Conversation::default(), Vec::new());
        let mut sum = Fed::default();
        for part in parts {
            let fed = conversation.feed(part, &answers, &mut out);
            sum.answered += fed.answered;
            sum.close |= fed.close;
        }
        (String::from_utf8(out).unwrap(), sum, conversation)
    }

    const POST: &[u8] = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";

    fn status_of(request: &[u8]) -> (String, bool) {
        let (out, fed, _) = feed([request]);
        (out.get(9..12).unwrap_or_default().to_owned(), fed.close)
    }

    #[test]
    fn the_answer_does_not_depend_on_how_the_bytes_arrive() {
        let stream = [POST, b"GET /health HTTP/1.1\r\n\r\n", POST, POST].concat();
        let (whole, fed, _) = feed([&stream[..]]);
        assert_eq!((fed.answered, whole.matches("HTTP/1.1 200 OK").count()), (3, 4));
        for size in 1..stream.len() {
            let (parts, fed, conversation) = feed(stream.chunks(size));
            assert_eq!((&parts, fed.answered, fed.close), (&whole, 3, false), "parts of {size} bytes");
            assert!(conversation.is_idle());
        }
    }

    #[test]
    fn nothing_is_answered_before_the_body_is_whole() {
        let (out, fed, conversation) = feed([&POST[..POST.len() - 1]]);
        assert_eq!((out.as_str(), fed.answered), ("", 0));
        assert!(!conversation.is_idle());
    }

    #[test]
    fn each_method_has_its_answer() {
        let cases = [
            ("POST /any?x=1 HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "200", false),
            ("POST / HTTP/1.1\r\n\r\n", "200", false),
            ("POST /health HTTP/1.1\r\n\r\n", "200", false),
            ("OPTIONS / HTTP/1.1\r\n\r\n", "200", false),
            ("GET / HTTP/1.1\r\n\r\n", "405", true),
            ("HEAD / HTTP/1.1\r\n\r\n", "405", true),
            ("POST / HTTP/1.1\r\nConnection: Close\r\n\r\n", "200", true),
            ("POST / HTTP/1.0\r\n\r\n", "200", true),
            ("POST / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "200", false),
        ];
        for (request, status, close) in cases {
            assert_eq!(status_of(request.as_bytes()), (status.to_owned(), close), "{request}");
        }
        let (out, ..) = feed([&b"POST / HTTP/1.0\r\n\r\n"[..]]);
        assert!(out.contains("connection: close\r\n"), "{out}");
    }

    #[test]
    fn what_cannot_be_read_ends_the_connection() {
        let long = format!("POST / HTTP/1.1\r\nx: {}", "y".repeat(MAX_HEAD_BYTES));
        let cases = [
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", "400"),
            ("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nContent-Length: \r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n", "413"),
            ("not http at all\r\n\r\n", "400"),
            (long.as_str(), "400"),
        ];
        for (request, status) in cases {
            assert_eq!(status_of(request.as_bytes()), (status.to_owned(), true), "{request}");
        }
    }

    #[test]
    fn nothing_is_answered_after_the_last_answer() {
        let stream = [&b"POST / HTTP/1.1\r\nConnection: close\r\n\r\n"[..], POST].concat();
        let (out, fed, _) = feed([&stream[..]]);
        assert_eq!((out.matches("HTTP/1.1").count(), fed.answered, fed.close), (1, 1, true));
    }
}
