//! What is sent and what comes back: a client over a bare socket, for requests that no other client would send.
//!
//! Every wait has a bound, and nothing here panics because of what a server does.

use std::fmt;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// The bound of a wait for something that has to come.
const PATIENCE: Duration = Duration::from_secs(20);

/// The longest body and the longest line of a head that are read.
const MOST_BYTES: usize = 16 << 20;

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
    /// Whether the client then closes its side for writing. A script that does not ends in a request that asks the server
    /// to close.
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
    /// The server sent what is no HTTP.
    NotHttp,
}

/// All answers on one connection, and its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// In the order of their arrival, without interim ones (1xx).
    pub answers: Vec<Answer>,
    /// How it ended.
    pub end: End,
}

/// A server, and the connection to it that is kept.
#[derive(Debug)]
pub struct Client {
    addr: SocketAddr,
    kept: Option<BufReader<TcpStream>>,
}

impl Client {
    /// Connects when something is asked.
    pub fn new(addr: SocketAddr) -> Self {
        Self { addr, kept: None }
    }

    fn connect(&self, patience: Duration) -> std::io::Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect_timeout(&self.addr, PATIENCE)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(BufReader::with_capacity(65_536, stream))
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
        let mut writer = stream.get_ref().try_clone().map_err(|error| end_of(&error))?;
        std::thread::scope(|scope| {
            // That a server closes before the end of a request is the server's to say.
            scope.spawn(move || writer.write_all(&request.bytes()).is_ok());
            let answer = read_answer(&mut stream, request.is_head());
            let _closed = stream.get_ref().shutdown(Shutdown::Both);
            answer
        })
    }

    /// Plays a script on a connection of its own; `silence` is how long a server may do nothing before it is taken to
    /// wait for more.
    pub fn play(&self, script: &Script, silence: Duration) -> Exchange {
        let nothing = Exchange { answers: Vec::new(), end: End::Closed };
        let Ok(mut stream) = self.connect(silence) else { return nothing };
        let Ok(writer) = stream.get_ref().try_clone() else { return nothing };
        let mut answers = Vec::new();
        let end = std::thread::scope(|scope| {
            scope.spawn(|| send(&writer, script));
            let heads = script.requests.iter().map(Request::is_head).chain(std::iter::repeat(false));
            for head in heads {
                match read_answer(&mut stream, head) {
                    Ok(answer) => answers.push(answer),
                    Err(end) => {
                        // Whether or not it is closed already.
                        let _closed = stream.get_ref().shutdown(Shutdown::Both);
                        return end;
                    }
                }
            }
            End::Open
        });
        Exchange { answers, end }
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
    stream: &mut BufReader<TcpStream>,
    requests: &[&Request],
    got: &mut Vec<Result<Answer, End>>,
) -> Option<End> {
    let Ok(mut writer) = stream.get_ref().try_clone() else { return Some(End::Closed) };
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
            match read_answer(stream, request.is_head()) {
                Ok(answer) => got.push(Ok(answer)),
                Err(end) => {
                    // So that the writer ends too.
                    let _closed = stream.get_ref().shutdown(Shutdown::Both);
                    return Some(end);
                }
            }
        }
        None
    })
}

/// The next answer that is not an interim one.
fn read_answer(stream: &mut BufReader<TcpStream>, head_alone: bool) -> Result<Answer, End> {
    loop {
        let status_line = line(stream)?;
        let Some(rest) = status_line.strip_prefix("HTTP/1.1 ").or(status_line.strip_prefix("HTTP/1.0 "))
        else {
            return Err(End::NotHttp);
        };
        let status: u16 = rest.get(..3).and_then(|code| code.parse().ok()).ok_or(End::NotHttp)?;
        let (mut media, mut length, mut chunked) = (String::new(), None, false);
        loop {
            let line = line(stream)?;
            let Some((name, value)) = line.split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-type" => {
                    media = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
                }
                "content-length" => length = Some(value.trim().parse().map_err(|_| End::NotHttp)?),
                "transfer-encoding" => chunked = true,
                _ => {}
            }
        }
        if status < 200 {
            continue;
        }
        let body = match (head_alone, length) {
            (true, _) => Vec::new(),
            (false, Some(length)) => exactly(stream, length)?,
            (false, None) if chunked => chunks(stream)?,
            (false, None) if matches!(status, 204 | 304) => Vec::new(),
            (false, None) => to_the_end(stream)?,
        };
        return Ok(Answer { status, media, body });
    }
}

fn end_of(error: &std::io::Error) -> End {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => End::Open,
        _ => End::Closed,
    }
}

fn line(stream: &mut BufReader<TcpStream>) -> Result<String, End> {
    let mut bytes = Vec::new();
    stream.take(MOST_BYTES as u64).read_until(b'\n', &mut bytes).map_err(|error| end_of(&error))?;
    match bytes.last() {
        None => Err(End::Closed),
        Some(b'\n') => {
            String::from_utf8(bytes).map_or(Err(End::NotHttp), |line| Ok(line.trim_end().to_owned()))
        }
        Some(_) => Err(End::Closed),
    }
}

fn exactly(stream: &mut BufReader<TcpStream>, length: usize) -> Result<Vec<u8>, End> {
    if length > MOST_BYTES {
        return Err(End::NotHttp);
    }
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).map_err(|error| end_of(&error))?;
    Ok(bytes)
}

fn chunks(stream: &mut BufReader<TcpStream>) -> Result<Vec<u8>, End> {
    let mut body = Vec::new();
    loop {
        let length = usize::from_str_radix(&line(stream)?, 16).map_err(|_| End::NotHttp)?;
        body.extend(exactly(stream, length)?);
        line(stream)?;
        if length == 0 {
            return Ok(body);
        }
    }
}

fn to_the_end(stream: &mut BufReader<TcpStream>) -> Result<Vec<u8>, End> {
    let mut body = Vec::new();
    stream.read_to_end(&mut body).map_err(|error| end_of(&error))?;
    Ok(body)
}
