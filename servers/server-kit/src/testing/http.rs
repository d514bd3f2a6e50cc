//! As much of an HTTP/1.1 client as the tests need, over a bare socket: so that a test can send what no client would.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

use super::PATIENCE;

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

/// A connection that is kept.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// Connects.
    ///
    /// # Panics
    /// Nobody listens there.
    pub fn open(addr: SocketAddr) -> Self {
        let stream =
            TcpStream::connect_timeout(&addr, PATIENCE).unwrap_or_else(|error| panic!("{addr}: {error}"));
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout above 0");
        stream.set_write_timeout(Some(PATIENCE)).expect("a timeout above 0");
        stream.set_nodelay(true).expect("TCP has the option");
        Self { stream: BufReader::new(stream) }
    }

    /// Sends bytes as they are, at once.
    ///
    /// # Panics
    /// The server closed the connection.
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).expect("the server still reads");
    }

    /// Reads the next answer.
    ///
    /// # Panics
    /// None comes, or it is not HTTP.
    pub fn answer(&mut self) -> HttpAnswer {
        let status_line = self.line();
        let status = status_line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.unwrap_or_else(|| panic!("not a status line: {status_line:?}"));
        let (mut content_type, mut length, mut chunked) = (None, None, false);
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(':') else { break };
            let value = value.trim().to_owned();
            match name.to_ascii_lowercase().as_str() {
                "content-type" => content_type = Some(value),
                "content-length" => length = Some(value.parse().expect("a length is a number")),
                "transfer-encoding" => chunked = value == "chunked",
                _ => {}
            }
        }
        let body = match length {
            Some(length) => self.bytes(length),
            None if chunked => self.chunks(),
            None => self.rest(),
        };
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
        self.stream
            .fill_buf()
            .map_or_else(|error| error.kind() == std::io::ErrorKind::ConnectionReset, <[u8]>::is_empty)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("the server answers");
        line.trim_end().to_owned()
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).expect("the body is as long as announced");
        bytes
    }

    fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let length = usize::from_str_radix(&self.line(), 16).expect("a chunk's length");
            body.extend(self.bytes(length));
            self.line();
            if length == 0 {
                return body;
            }
        }
    }

    fn rest(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.stream.read_to_end(&mut bytes).expect("the body ends");
        bytes
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

/// Asks for a path by GET on a fresh connection.
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
