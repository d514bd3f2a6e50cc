//! What is sent and what comes back: a client over a bare socket, for requests that no other client would send.
//!
//! Every wait has a bound, and nothing here panics because of what a server does.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use server_kit::testing::{Answers, PATIENCE, connect};

/// A request, taken apart so that a failing case can be made smaller.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The first line, with its end.
    pub line: Vec<u8>,
    /// Header lines, with their ends.
    pub headers: Vec<Vec<u8>>,
    /// What follows the head, in its transfer coding.
    pub body: Vec<u8>,
    /// The body without its transfer coding.
    pub payload: Vec<u8>,
    /// What is odd about its HTTP; `None` for a POST of JSON, whose answer depends on the body alone.
    pub oddity: Option<&'static str>,
}

impl Request {
    /// The bytes of the request.
    pub fn bytes(&self) -> Vec<u8> {
        let end: &[u8] =
            if self.line.ends_with(b"\r\n") || !self.line.ends_with(b"\n") { b"\r\n" } else { b"\n" };
        [self.line.as_slice(), &self.headers.concat(), end, &self.body].concat()
    }

    fn is_head(&self) -> bool {
        self.line.starts_with(b"HEAD ")
    }
}

/// What is sent on one connection.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// One after another, none waiting for an answer.
    pub requests: Vec<Request>,
    /// Where the bytes are cut into writes with a short pause between.
    pub cuts: Vec<usize>,
    /// Bytes that are left away from the end.
    pub missing: usize,
    /// Whether the client then closes its side for writing. A script that does not ends in a request with
    /// `Connection: close`.
    pub half_close: bool,
}

impl Script {
    /// All bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.requests.iter().flat_map(Request::bytes).collect();
        bytes.truncate(bytes.len().saturating_sub(self.missing));
        bytes
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The Content-Type up to a semicolon, in lower case.
    pub media: String,
    /// The body.
    pub body: Vec<u8>,
}

impl fmt::Display for Answer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = self.body.get(..300).unwrap_or(&self.body);
        write!(out, "{} {} {}", self.status, self.media, body.escape_ascii())
    }
}

/// How a connection was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The server closed it.
    Closed,
    /// The server did nothing more.
    Open,
    /// The server sent what is neither HTTP nor WebSocket.
    NotHttp,
}

/// All answers on one connection, and its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// In the order of their arrival, without interim ones (1xx).
    pub answers: Vec<Answer>,
    /// The payloads of pongs, over WebSocket.
    pub pongs: Vec<Vec<u8>>,
    /// How it ended.
    pub end: End,
}

impl Exchange {
    /// Of HTTP.
    pub fn new(answers: impl Into<Vec<Answer>>, end: End) -> Self {
        Self { answers: answers.into(), pongs: Vec::new(), end }
    }
}

/// A server, and the connection to it that is kept.
#[derive(Debug)]
pub struct Client {
    addr: SocketAddr,
    kept: Option<Answers<TcpStream>>,
}

impl Client {
    /// Connects with the first request.
    pub fn new(addr: SocketAddr) -> Self {
        Self { addr, kept: None }
    }

    fn connect(&self, patience: Duration) -> io::Result<Answers<TcpStream>> {
        let stream = connect(self.addr)?;
        stream.set_read_timeout(Some(patience))?;
        Ok(Answers::new(stream))
    }

    /// Sends requests in one go on the kept connection; `Err` in the place of an answer that did not come.
    pub fn pipeline(&mut self, requests: &[&Request]) -> Vec<Result<Answer, End>> {
        let mut got = Vec::with_capacity(requests.len());
        while got.len() < requests.len() {
            let fresh = self.kept.is_none();
            let Some(mut stream) = self.kept.take().or_else(|| self.connect(PATIENCE).ok()) else {
                got.push(Err(End::Closed));
                continue;
            };
            let rest = &requests[got.len()..];
            let before = got.len();
            let end = exchange_all(&mut stream, rest, &mut got);
            match end {
                None => self.kept = Some(stream),
                Some(End::Closed) if got.len() > before || !fresh => {}
                Some(end) => got.push(Err(end)),
            }
        }
        got
    }

    /// Sends one request on a connection of its own and reads the first answer; `silence` is as for [`Self::play`].
    ///
    /// # Errors
    /// No answer came.
    pub fn first(&self, request: &Request, silence: Duration) -> Result<Answer, End> {
        let mut stream = self.connect(silence).map_err(|error| end_of(&error))?;
        let mut writer = stream.stream().try_clone().map_err(|error| end_of(&error))?;
        std::thread::scope(|scope| {
            // That a server closes before the end of a request is the server's to say.
            scope.spawn(move || writer.write_all(&request.bytes()).is_ok());
            let answer = read_answer(&mut stream, Some(request));
            let _closed = stream.stream().shutdown(Shutdown::Both);
            answer
        })
    }

    /// Plays a script on a connection of its own; `silence` is how long a server may do nothing before it is taken to
    /// wait for more.
    pub fn play(&self, script: &Script, silence: Duration) -> Exchange {
        let nothing = Exchange::new([], End::Closed);
        let Ok(mut stream) = self.connect(silence) else { return nothing };
        let Ok(writer) = stream.stream().try_clone() else { return nothing };
        let mut answers = Vec::new();
        let end = std::thread::scope(|scope| {
            scope.spawn(|| send(&writer, script));
            for request in script.requests.iter().map(Some).chain(std::iter::repeat(None)) {
                match read_answer(&mut stream, request) {
                    Ok(answer) => answers.push(answer),
                    Err(end) => {
                        // Whether or not it is closed already.
                        let _closed = stream.stream().shutdown(Shutdown::Both);
                        return end;
                    }
                }
            }
            End::Open
        });
        Exchange::new(answers, end)
    }
}

/// Sends a script; that a server closes before its end is the server's to say.
fn send(mut writer: &TcpStream, script: &Script) {
    let bytes = script.bytes();
    let mut from = 0;
    for &cut in script.cuts.iter().filter(|cut| **cut < bytes.len()) {
        if cut > from {
            let _closed = writer.write_all(&bytes[from..cut]);
            std::thread::sleep(Duration::from_micros(400));
            from = cut;
        }
    }
    let _closed = writer.write_all(&bytes[from..]);
    if script.half_close {
        let _closed = writer.shutdown(Shutdown::Write);
    }
}

/// Sends and reads at the same time: neither side may wait for the other to take what it has. `None` where every answer
/// came.
fn exchange_all(
    stream: &mut Answers<TcpStream>,
    requests: &[&Request],
    got: &mut Vec<Result<Answer, End>>,
) -> Option<End> {
    let Ok(mut writer) = stream.stream().try_clone() else { return Some(End::Closed) };
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for part in requests.chunks(64) {
                let bytes: Vec<u8> = part.iter().flat_map(|request| request.bytes()).collect();
                if writer.write_all(&bytes).is_err() {
                    return;
                }
            }
        });
        for request in requests {
            match read_answer(stream, Some(request)) {
                Ok(answer) => got.push(Ok(answer)),
                Err(end) => {
                    // So that the writer ends too.
                    let _closed = stream.stream().shutdown(Shutdown::Both);
                    return Some(end);
                }
            }
        }
        None
    })
}

fn read_answer(stream: &mut Answers<TcpStream>, request: Option<&Request>) -> Result<Answer, End> {
    let answer = stream.next(request.is_some_and(Request::is_head)).map_err(|error| end_of(&error))?;
    let media = answer.content_type.unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    Ok(Answer { status: answer.status, media, body: answer.body })
}

fn end_of(error: &io::Error) -> End {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => End::Open,
        ErrorKind::InvalidData => End::NotHttp,
        _ => End::Closed,
    }
}
