//! Where an answer of HTTP/1.1 ends: RFC 9112, section 6, for the answer to a POST request.

use std::io;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::StatusCode;
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};

/// The most headers of an answer: more than fit into the longest head of most servers.
const MOST_HEADERS: usize = 1_024;

/// The longest head of an answer, and the longest line about a chunk.
const LONGEST_HEAD: usize = 64 * 1024;

/// The most bytes that room is made for before they come: the rest of a body that says it is longer comes into room that grows.
const MOST_RESERVED: usize = 1 << 20;

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its whole body, without chunks' sizes.
    pub body: Bytes,
    /// Whether the server ends the connection with it.
    pub last: bool,
}

/// How a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// After this number of bytes.
    After(usize),
    /// With a chunk of no bytes.
    Chunked,
    /// With the connection.
    WithConnection,
}

/// What is read next.
#[derive(Debug, Default)]
enum Reads {
    #[default]
    Head,
    Body(Head),
    Chunks(Head, BytesMut),
    Trailer(Head, BytesMut),
}

#[derive(Debug, Clone, Copy)]
struct Head {
    status: u16,
    ends: Ends,
    last: bool,
}

impl Head {
    fn with(self, body: Bytes) -> Answer {
        Answer { status: self.status, body, last: self.last }
    }
}

/// Divides the bytes that a server sends on a connection into answers.
#[derive(Debug, Default)]
pub struct Answers {
    reads: Reads,
}

impl Answers {
    /// Whether nothing of an answer has been taken from what was read.
    pub fn between_answers(&self) -> bool {
        matches!(self.reads, Reads::Head)
    }

    /// Takes the next answer from what was read so far; `None` where it is not whole.
    ///
    /// # Errors
    /// It is no answer of HTTP/1.1.
    pub fn next(&mut self, from: &mut BytesMut) -> io::Result<Option<Answer>> {
        loop {
            match &mut self.reads {
                Reads::Head => {
                    let Some(head) = read_head(from)? else { return Ok(None) };
                    self.reads = match head.ends {
                        Ends::Chunked => Reads::Chunks(head, BytesMut::new()),
                        Ends::After(_) | Ends::WithConnection => Reads::Body(head),
                    };
                }
                Reads::Body(head) => {
                    let head = *head;
                    let Ends::After(length) = head.ends else { return Ok(None) };
                    if from.len() < length {
                        from.reserve((length - from.len()).min(MOST_RESERVED));
                        return Ok(None);
                    }
                    self.reads = Reads::Head;
                    return Ok(Some(head.with(from.split_to(length).freeze())));
                }
                Reads::Chunks(head, body) => {
                    let Some((at, length)) = chunk(from)? else { return Ok(None) };
                    let head = *head;
                    if length == 0 {
                        from.advance(at);
                        self.reads = Reads::Trailer(head, std::mem::take(body));
                        continue;
                    }
                    let end = at.saturating_add(length);
                    if from.len() < end.saturating_add(2) {
                        return Ok(None);
                    }
                    body.put_slice(&from[at..end]);
                    if &from[end..end + 2] != b"\r\n" {
                        return Err(unreadable("a chunk is longer than it says"));
                    }
                    from.advance(end + 2);
                }
                Reads::Trailer(head, body) => {
                    let Some(end) = from.iter().position(|byte| *byte == b'\n') else {
                        let is_long = from.len() > LONGEST_HEAD;
                        return if is_long { Err(unreadable("its trailer is too long")) } else { Ok(None) };
                    };
                    // Nothing in a trailer matters here.
                    if !from.split_to(end + 1).trim_ascii().is_empty() {
                        continue;
                    }
                    let answer = head.with(std::mem::take(body).freeze());
                    self.reads = Reads::Head;
                    return Ok(Some(answer));
                }
            }
        }
    }

    /// The same where the connection has ended, and with it perhaps an answer.
    ///
    /// # Errors
    /// It is no answer of HTTP/1.1, or has ended early.
    pub fn last(&mut self, from: &mut BytesMut) -> io::Result<Option<Answer>> {
        if let Some(answer) = self.next(from)? {
            return Ok(Some(answer));
        }
        if let Reads::Body(head @ Head { ends: Ends::WithConnection, .. }) = self.reads {
            self.reads = Reads::Head;
            return Ok(Some(head.with(from.split().freeze())));
        }
        if from.is_empty() && matches!(self.reads, Reads::Head) {
            return Ok(None);
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// The head of the next answer, taken from the bytes; `None` where it is not whole. Those that only announce one are left out.
fn read_head(from: &mut BytesMut) -> io::Result<Option<Head>> {
    loop {
        let mut headers = [const { std::mem::MaybeUninit::uninit() }; MOST_HEADERS];
        let mut response = httparse::Response::new(&mut []);
        let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
            &mut response,
            from,
            &mut headers,
        );
        let httparse::Status::Complete(length) = parsed.map_err(of_head)? else {
            return if from.len() > LONGEST_HEAD {
                Err(unreadable("its head is too long"))
            } else {
                Ok(None)
            };
        };
        let status = response.code.unwrap_or_default();
        let mut head = Head { status, ends: Ends::WithConnection, last: false };
        let is_old = response.version == Some(0);
        let (mut closes, mut keeps) = (false, !is_old);
        for header in response.headers.iter() {
            read_header(header, is_old, &mut head)?;
            closes |= header.name.eq_ignore_ascii_case(CONNECTION.as_str()) && has(header.value, "close");
            keeps |= header.name.eq_ignore_ascii_case(CONNECTION.as_str()) && has(header.value, "keep-alive");
        }
        from.advance(length);
        if status == StatusCode::NO_CONTENT || status == StatusCode::NOT_MODIFIED {
            head.ends = Ends::After(0);
        }
        head.last = closes || !keeps || head.ends == Ends::WithConnection;
        if !(100..200).contains(&status) {
            return Ok(Some(head));
        }
    }
}

/// Reads a header that says how an answer ends, as the harness's own client does. HTTP/1.0 has no chunks, and another
/// transfer-encoding, such as `identity`, says nothing of the end.
fn read_header(header: &httparse::Header<'_>, is_old: bool, head: &mut Head) -> io::Result<()> {
    if header.name.eq_ignore_ascii_case(CONTENT_LENGTH.as_str()) {
        // A proxy may have joined two of them into one.
        for part in header.value.split(|byte| *byte == b',') {
            let length = std::str::from_utf8(part).ok().and_then(|text| text.trim().parse().ok());
            let length = length.ok_or_else(|| unreadable("its content-length is no number"))?;
            match head.ends {
                Ends::After(other) if other != length => {
                    return Err(unreadable("it has two content-lengths"));
                }
                // Where an answer has both, chunks it is (RFC 9112, 6.3).
                Ends::Chunked => {}
                Ends::After(_) | Ends::WithConnection => head.ends = Ends::After(length),
            }
        }
    } else if header.name.eq_ignore_ascii_case(TRANSFER_ENCODING.as_str())
        && has(header.value, "chunked")
        && !is_old
    {
        head.ends = Ends::Chunked;
    }
    Ok(())
}

/// Whether a list in a header has a word.
pub fn has(list: &[u8], word: &str) -> bool {
    let words = list.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    words.into_iter().any(|found| found.eq_ignore_ascii_case(word.as_bytes()))
}

/// Where the next chunk begins and how long it is; `None` where that can't be read yet.
fn chunk(from: &[u8]) -> io::Result<Option<(usize, usize)>> {
    let parsed = httparse::parse_chunk_size(from);
    match parsed.map_err(|_| unreadable("a chunk's size is no number"))? {
        httparse::Status::Complete((at, length)) => {
            let length = usize::try_from(length).map_err(|_| unreadable("a chunk is too long"))?;
            Ok(Some((at, length)))
        }
        httparse::Status::Partial if from.len() > LONGEST_HEAD => {
            Err(unreadable("a chunk's size is too long"))
        }
        httparse::Status::Partial => Ok(None),
    }
}

/// Why what came is no answer.
#[derive(Debug)]
pub struct Unreadable(pub &'static str);

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Unreadable {}

fn unreadable(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, Unreadable(why))
}

fn of_head(error: httparse::Error) -> io::Error {
    unreadable(match error {
        httparse::Error::TooManyHeaders => "it has more than 1,024 headers",
        httparse::Error::HeaderName => "a header's name has a sign that no name may have",
        httparse::Error::HeaderValue => "a header's value has a sign that no value may have",
        httparse::Error::NewLine => "a line of its head has no end",
        httparse::Error::Status => "its status is no number",
        httparse::Error::Token | httparse::Error::Version => "it does not begin as HTTP/1.1 does",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of a text that comes whole, and of the same text a byte at a time, which must be equal: answers, and the end.
    fn read(text: &str) -> Result<Vec<(u16, String, bool)>, String> {
        let parts = |length: usize| {
            let (mut answers, mut bytes, mut found) = (Answers::default(), BytesMut::new(), Vec::new());
            let mut keep = |answer: Answer| {
                let body = String::from_utf8(answer.body.to_vec()).unwrap_or_default();
                found.push((answer.status, body, answer.last));
            };
            for part in text.as_bytes().chunks(length.max(1)) {
                bytes.extend_from_slice(part);
                while let Some(answer) = answers.next(&mut bytes).map_err(|error| error.to_string())? {
                    keep(answer);
                }
            }
            while let Some(answer) = answers.last(&mut bytes).map_err(|error| error.to_string())? {
                keep(answer);
            }
            Ok(found)
        };
        let whole = parts(text.len());
        assert_eq!(whole, parts(1), "{text:?}");
        whole
    }

    fn one(text: &str) -> (u16, String, bool) {
        let mut answers = read(text).unwrap_or_default();
        assert_eq!(answers.len(), 1, "{text:?}");
        answers.remove(0)
    }

    #[test]
    fn an_answer_ends_where_its_head_says() {
        let kept = |status, body: &str| (status, body.to_owned(), false);
        assert_eq!(one("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), kept(200, "{}"));
        assert_eq!(one("HTTP/1.1 503 Busy\r\ncontent-length:0\r\n\r\n"), kept(503, ""));
        assert_eq!(one("HTTP/1.1 204 No Content\r\n\r\n"), kept(204, ""));
        let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\n[1\r\nA\r\n,2,3,4,5,6\r\n1\r\n]\r\n0\r\n";
        assert_eq!(one(&format!("{chunks}\r\n")), kept(200, "[1,2,3,4,5,6]"));
        assert_eq!(one(&format!("{chunks}Digest: x\r\n\r\n")), kept(200, "[1,2,3,4,5,6]"));
        let both =
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n1\r\n0\r\n\r\n";
        assert_eq!(one(both), kept(200, "1"));
        let announced =
            "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1";
        assert_eq!(one(announced), kept(200, "1"));
        let two =
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1HTTP/1.1 429 Slow\r\nContent-Length: 1\r\n\r\n2";
        assert_eq!(read(two), Ok(vec![kept(200, "1"), kept(429, "2")]));
    }

    /// What the harness's client reads in the check before a run.
    #[test]
    fn an_unusual_head_is_read_as_it_is_meant() {
        let body = |head: &str| one(&format!("HTTP/1.1 200 OK\r\n{head}\r\n7,")).1;
        let many: String = (0..130).map(|i| format!("x-{i}: {i}\r\n")).collect();
        for head in [
            format!("{many}content-length: 2\r\n"),
            format!("content-length: 2\r\n{many}"),
            "Content-Length: 2, 2\r\n".to_owned(),
            "Content-Length: 2\r\nContent-Length: 2,2 ,2\r\n".to_owned(),
            "Transfer-Encoding: identity\r\nContent-Length: 2\r\n".to_owned(),
            "Content-Length: 2\r\nTransfer-Encoding: Identity\r\n".to_owned(),
            "Transfer-Encoding: identity\r\n".to_owned(),
        ] {
            assert_eq!(body(&head), "7,", "{head}");
        }
        let old = "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n7,";
        assert_eq!(one(old).1, "7,");
        let trailer =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n7\r\n0\r\na b: c\r\nd\r\n\r\n";
        assert_eq!(one(trailer).1, "7");
    }

    #[test]
    fn an_answer_that_cant_be_read_says_why() {
        let many: String = (0..2_000).map(|i| format!("x-{i}: a\r\n")).collect();
        for (head, why) in [
            (format!("HTTP/1.1 200 OK\r\n{many}\r\n"), "it has more than 1,024 headers"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1k\r\n\r\n".into(), "its content-length is no number"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n".into(), "it has two content-lengths"),
            ("HTTP/1.1 200 OK\r\na b: c\r\n\r\n".into(), "a header's name has a sign that no name may have"),
            ("SSH-2.0-OpenSSH_9\r\n".into(), "it does not begin as HTTP/1.1 does"),
        ] {
            assert_eq!(read(&head).unwrap_err(), why);
        }
    }

    #[test]
    fn an_answer_says_whether_the_connection_goes_on() {
        let length = "Content-Length: 1\r\n\r\n1";
        let last = |head: &str| one(&format!("{head}{length}")).2;
        assert!(!last("HTTP/1.1 200 OK\r\n"));
        assert!(last("HTTP/1.1 200 OK\r\nConnection: close\r\n"));
        assert!(last("HTTP/1.1 200 OK\r\nconnection: x, Close\r\n"));
        assert!(last("HTTP/1.0 200 OK\r\n"));
        assert!(!last("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n"));
        assert!(last("HTTP/1.1 200 OK\r\nConnection: close\r\nConnection: keep-alive\r\n"));
        assert!(last("HTTP/1.1 200 OK\r\nConnection: keep-alive, close\r\n"));
        assert_eq!(one("HTTP/1.1 200 OK\r\n\r\nto the end"), (200, "to the end".to_owned(), true));
    }

    #[test]
    fn what_is_no_answer_or_not_whole_is_an_error() {
        for text in [
            "hello\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n12",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n12\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n12",
            "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n12",
            "HTTP/1.1 200 OK\r\nContent-",
        ] {
            assert!(read(text).is_err(), "{text:?}");
        }
        let endless = format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(LONGEST_HEAD));
        assert!(Answers::default().next(&mut BytesMut::from(endless.as_str())).is_err());
    }
}
