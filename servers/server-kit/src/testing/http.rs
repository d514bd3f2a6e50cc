//! As much of an HTTP/1.1 client as the tests need, over a bare socket: so that a test can send what no client would.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use httparse::Status;
use serde_json::Value;

use super::PATIENCE;

/// More than any answer of a server here.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// An answer, its body whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The status code.
    pub status: u16,
    /// The Content-Type, if there is one.
    pub content_type: Option<String>,
    /// The body.
    pub body: String,
}

impl HttpAnswer {
    /// The body as JSON.
    ///
    /// # Panics
    /// It is not.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// An answer as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawAnswer {
    /// The status code.
    pub status: u16,
    /// The Content-Type, if there is one.
    pub content_type: Option<String>,
    /// Whether the server announced that it closes the connection.
    pub closes: bool,
    /// The body, without its transfer coding.
    pub body: Vec<u8>,
}

/// Reads the answers that come on a connection, one after the other.
#[derive(Debug)]
pub struct Answers<S> {
    stream: S,
    /// What came and is not read yet.
    bytes: Vec<u8>,
}

impl<S: Read> Answers<S> {
    /// Reads from this connection.
    pub fn new(stream: S) -> Self {
        Self { stream, bytes: Vec::new() }
    }

    /// The connection.
    pub fn stream(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Whether a part of the next answer has come.
    pub fn has_begun(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// The next answer that is not an interim one (1xx); `to_head`: its request was a HEAD, so it has no body.
    ///
    /// # Errors
    /// `UnexpectedEof` where the server closes the connection before the answer's end, `InvalidData` where it sends what is
    /// no HTTP, and what the system says of the connection.
    pub fn next(&mut self, to_head: bool) -> io::Result<RawAnswer> {
        let mut ended = false;
        loop {
            if let Some((answer, length)) = parse(&self.bytes, to_head, ended)? {
                self.bytes.drain(..length);
                if answer.status >= 200 {
                    return Ok(answer);
                }
            } else if ended {
                return Err(ErrorKind::UnexpectedEof.into());
            } else if self.bytes.len() > MAX_ANSWER_BYTES {
                return Err(ErrorKind::InvalidData.into());
            } else {
                ended = self.fill()? == 0;
            }
        }
    }

    /// Waits for more; gives how many bytes came, none at the connection's end.
    fn fill(&mut self) -> io::Result<usize> {
        let mut part = [0; 65_536];
        let length = self.stream.read(&mut part)?;
        self.bytes.extend_from_slice(&part[..length]);
        Ok(length)
    }
}

/// The first answer in `bytes` and its length there; `None` where its end has not come. `ended`: nothing more will come,
/// which is the end of a body without a length.
fn parse(bytes: &[u8], to_head: bool, ended: bool) -> io::Result<Option<(RawAnswer, usize)>> {
    let not_http = |_| io::Error::from(ErrorKind::InvalidData);
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut head = httparse::Response::new(&mut headers);
    let Status::Complete(start) = head.parse(bytes).map_err(not_http)? else { return Ok(None) };
    let header = |name: &str| {
        let found = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        found.map(|header| String::from_utf8_lossy(header.value).trim().to_owned())
    };
    let rest = &bytes[start..];
    let status = head.code.unwrap_or_default();
    let length: Option<usize> = match header("content-length") {
        _ if to_head || status < 200 || matches!(status, 204 | 304) => Some(0),
        Some(length) => Some(length.parse().map_err(|_| ErrorKind::InvalidData)?),
        None => None,
    };
    let body = match length {
        Some(length) => rest.get(..length).map(|body| (body.to_vec(), length)),
        None if header("transfer-encoding").is_some() => chunks(rest)?,
        None => ended.then(|| (rest.to_vec(), rest.len())),
    };
    Ok(body.map(|(body, length)| {
        let closes = header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        (RawAnswer { status, content_type: header("content-type"), closes, body }, start + length)
    }))
}

/// A body in chunks and its length with their sizes; `None` where its end has not come.
fn chunks(bytes: &[u8]) -> io::Result<Option<(Vec<u8>, usize)>> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let size = httparse::parse_chunk_size(&bytes[at..]).map_err(|_| ErrorKind::InvalidData)?;
        let Status::Complete((before, size)) = size else { return Ok(None) };
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        // A line break ends each chunk.
        let Some(chunk) = bytes[at + before..].get(..size.saturating_add(2)) else { return Ok(None) };
        body.extend_from_slice(&chunk[..size]);
        at += before + chunk.len();
        if size == 0 {
            return Ok(Some((body, at)));
        }
    }
}

/// Connects with the timeouts of a test.
///
/// # Errors
/// Nobody listens there.
pub fn connect(addr: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&addr, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A connection that is kept.
#[derive(Debug)]
pub struct Connection(Answers<TcpStream>);

impl Connection {
    /// Connects.
    ///
    /// # Panics
    /// Nobody listens there.
    pub fn open(addr: SocketAddr) -> Self {
        Self(Answers::new(connect(addr).unwrap_or_else(|error| panic!("{addr}: {error}"))))
    }

    /// Sends bytes as they are, at once.
    ///
    /// # Panics
    /// The server closed the connection.
    pub fn send(&mut self, bytes: &[u8]) {
        self.0.stream().write_all(bytes).expect("the server still reads");
    }

    /// Reads the next answer.
    ///
    /// # Panics
    /// None comes, or it is not HTTP.
    pub fn answer(&mut self) -> HttpAnswer {
        let RawAnswer { status, content_type, body, .. } = self.0.next(false).expect("the server answers");
        HttpAnswer { status, content_type, body: String::from_utf8(body).expect("bodies are text") }
    }

    /// Sends a JSON-RPC body by POST and reads the answer.
    ///
    /// # Panics
    /// See [`Self::answer`].
    pub fn post(&mut self, body: &str) -> HttpAnswer {
        self.send(&request(body));
        self.answer()
    }

    /// Whether the server has closed the connection; waits for what it does next.
    ///
    /// # Panics
    /// The server does nothing.
    pub fn is_closed(&mut self) -> bool {
        // A reset is an end too.
        match self.0.fill() {
            Ok(length) => length == 0,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }
}

/// The request that the load tools send: POST to `/` with a JSON body.
pub fn request(body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Sends a JSON-RPC body by POST on a fresh connection.
///
/// # Panics
/// No answer comes, or it is not HTTP.
pub fn post(addr: SocketAddr, body: &str) -> HttpAnswer {
    Connection::open(addr).post(body)
}

/// Requests a path by GET on a fresh connection.
///
/// # Panics
/// No answer comes, or it is not HTTP.
pub fn get(addr: SocketAddr, path: &str) -> HttpAnswer {
    exchange(addr, format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes())
}

/// Sends bytes as they are on a fresh connection and reads one answer.
///
/// # Panics
/// No answer comes, or it is not HTTP.
pub fn exchange(addr: SocketAddr, raw: &[u8]) -> HttpAnswer {
    let mut connection = Connection::open(addr);
    connection.send(raw);
    connection.answer()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its bytes one by one.
    struct Slow(&'static [u8]);

    impl Read for Slow {
        fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
            self.0.read(&mut part[..1])
        }
    }

    #[test]
    fn answers_are_read_in_whatever_pieces_they_come() {
        let mut answers = Answers::new(Slow(
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: a/b\r\n\r\nok\
              HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nab\r\n1\r\nc\r\n0\r\n\r\n\
              HTTP/1.1 204 No Content\r\n\r\nHTTP/1.0 400 Bad\r\nConnection: Close\r\n\r\nto the end",
        ));
        let mut next = || answers.next(false);
        let first = next().unwrap();
        assert_eq!((first.status, first.content_type.as_deref(), first.closes), (200, Some("a/b"), false));
        assert_eq!(first.body, b"ok");
        assert_eq!(next().unwrap().body, b"abc");
        assert_eq!((next().unwrap().status, next().unwrap().body), (204, b"to the end".to_vec()));
        assert_eq!(next().unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        let error = |bytes: &'static [u8]| Answers::new(bytes).next(false).unwrap_err().kind();
        assert_eq!(error(b"SSH-2.0-x\r\n\r\n"), ErrorKind::InvalidData);
        assert_eq!(error(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"), ErrorKind::InvalidData);
        assert_eq!(error(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"), ErrorKind::UnexpectedEof);
    }
}
