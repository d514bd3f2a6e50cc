//! The harness's own client: for requests to one server, one at a time, by either transport. Never for load.

mod causes;
#[cfg(test)]
mod tests;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use serde_json::Value;
use tungstenite::client::IntoClientRequest;
use tungstenite::handshake::HandshakeError;
use tungstenite::http::{HeaderName, HeaderValue};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Message, WebSocket};
use ureq::tls::TlsConfig;

pub use self::causes::NoText;
use crate::certificates;

use bench_model::config::ReadyCall;
use bench_model::target::Target;
use bench_model::transport::Transport;
use bench_model::workload::Truth;
use bench_system::readable_numbers::count;

/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes that an answer may have.
pub const MOST_BYTES: usize = 64 << 20;

/// Characters of an answer that a reader is shown.
const SHOWN: usize = 200;

/// An answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status; `None` of a WebSocket and of a Unix socket, whose messages have none.
    pub status: Option<u16>,
    /// The body, or the message.
    pub text: String,
}

impl Answer {
    /// Whether it has the status of a JSON-RPC answer.
    pub fn is_ok(&self) -> bool {
        self.status.is_none_or(|status| status == 200)
    }

    /// What it says as JSON-RPC; `None` of another status and of what is not JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_str(&self.text).ok().filter(|_| self.is_ok())
    }

    /// It in one line, cut off where it is long, with how much of it.
    pub fn shown(&self) -> String {
        let start: String = self.text.chars().take(SHOWN).collect();
        let kind = self.status.map_or("message".to_owned(), |status| format!("HTTP {status}"));
        match self.text.chars().count().saturating_sub(SHOWN) as u64 {
            0 => format!("{kind}: {}", start.trim()),
            cut => format!("{kind}: {}… [{} more characters cut]", start.trim(), count(cut)),
        }
    }
}

/// A connection for one request after the other, kept between them and made again where it was lost.
pub struct Connection {
    target: Target,
    timeout: Duration,
    client: Client,
}

enum Client {
    Http { agent: ureq::Agent, closes: bool },
    Messages(Option<Box<dyn Messages>>),
}

/// A connection on which each message is answered by the next one.
trait Messages: Send {
    /// Sends a message and gives the next one.
    fn exchange(&mut self, body: &str) -> Result<String>;
}

/// What a WebSocket reads and writes: TCP, or TLS over it. tungstenite has such a type as a feature, which would
/// stand below the servers in Cargo.lock.
trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}

impl Connection {
    /// To a server that gets requests; one is given up after `timeout`.
    ///
    /// # Errors
    /// There are no certificates to verify the server's with.
    pub fn new(target: &Target, timeout: Duration) -> Result<Self> {
        let client = match target.transport() {
            Transport::Http => {
                let tls = || certificates::for_http(target.access().ca.as_deref());
                let tls = if target.is_encrypted() { Some(tls()?) } else { None };
                Client::Http { agent: configured(tls, timeout), closes: false }
            }
            Transport::WebSocket | Transport::Ipc => Client::Messages(None),
        };
        Ok(Self { target: target.clone(), timeout, client })
    }

    /// Sends a JSON-RPC request and gives the answer.
    ///
    /// # Errors
    /// There was no whole answer in time.
    pub fn request(&mut self, body: &str) -> Result<Answer> {
        match &mut self.client {
            Client::Http { agent, closes } => {
                post(&self.target, agent, *closes, body).map_err(|error| causes::of_wait(error, self.timeout))
            }
            Client::Messages(kept) => {
                let is_ipc = self.target.transport() == Transport::Ipc;
                let place = if is_ipc { self.target.to_string() } else { self.target.addr().to_owned() };
                let context = || format!("no answer from {place}");
                let mut socket: Box<dyn Messages> = match kept.take() {
                    Some(socket) => socket,
                    None if is_ipc => {
                        Box::new(BufReader::new(connect(&self.target, self.timeout).with_context(context)?))
                    }
                    None => Box::new(open(&self.target, self.timeout)?),
                };
                let text = socket.exchange(body);
                let text =
                    text.map_err(|error| causes::of_wait(error, self.timeout)).with_context(context)?;
                *kept = Some(socket);
                Ok(Answer { status: None, text })
            }
        }
    }
}

/// Sends a JSON-RPC request on a connection of its own and gives the answer.
///
/// # Errors
/// There was no whole answer in time.
pub fn request(target: &Target, body: &str) -> Result<Answer> {
    let mut connection = Connection::new(target, TIMEOUT)?;
    if let Client::Http { closes, .. } = &mut connection.client {
        *closes = true;
    }
    connection.request(body)
}

/// An HTTP client whose requests take at most `timeout`; an answer of any status is one.
pub fn agent(timeout: Duration) -> ureq::Agent {
    configured(None, timeout)
}

fn configured(tls: Option<TlsConfig>, timeout: Duration) -> ureq::Agent {
    let builder = ureq::Agent::config_builder().tls_config(tls.unwrap_or_default());
    // A redirect is an answer of its own: nobody's token goes elsewhere.
    let builder = builder.timeout_global(Some(timeout)).http_status_as_error(false).max_redirects(0);
    builder.max_redirects_will_error(false).build().into()
}

fn post(target: &Target, agent: &ureq::Agent, closes: bool, body: &str) -> Result<Answer> {
    let filled = target.filled_path()?;
    let url = target.with_path(&filled).url();
    let mut request = agent.post(url).header("content-type", "application/json");
    for (name, value) in target.access().headers.filled()? {
        request = request.header(name, value);
    }
    if closes {
        request = request.header("connection", "close");
    }
    let answer = request.send(body).map_err(|error| causes::of_plain_http(error.into(), target));
    let mut answer = answer.with_context(|| format!("no answer from {}", target.addr()))?;
    let bytes = answer.body_mut().with_config().limit(MOST_BYTES as u64).read_to_vec();
    let bytes = bytes.with_context(|| format!("half an answer from {}", target.addr()))?;
    let encoding = answer.headers().get("content-encoding").and_then(|value| value.to_str().ok());
    let kind = format!("HTTP {}", answer.status().as_u16());
    let mut text = NoText::or_text(&kind, bytes, encoding)?;
    if target.has_secret() {
        // A server may answer with the path that it does not know, and that would be kept.
        text = text.replace(&filled, target.path());
    }
    Ok(Answer { status: Some(answer.status().as_u16()), text })
}

/// A WebSocket to a server. Each read and write may take as long as `timeout`.
fn open(target: &Target, timeout: Duration) -> Result<WebSocket<Box<dyn Stream>>> {
    let context = || format!("no WebSocket to {target}");
    // The first of a name's addresses that answers.
    let addresses = target.addresses()?;
    let connect = |addr: &SocketAddr| TcpStream::connect_timeout(addr, timeout);
    let first = connect(&addresses[0]);
    let stream = addresses[1..].iter().fold(first, |found, addr| found.or_else(|_| connect(addr)));
    let stream = stream.with_context(context)?;
    stream.set_nodelay(true).with_context(context)?;
    stream.set_read_timeout(Some(timeout)).with_context(context)?;
    stream.set_write_timeout(Some(timeout)).with_context(context)?;
    let limit = Some(MOST_BYTES);
    let config = WebSocketConfig::default().max_message_size(limit).max_frame_size(limit);
    let url = target.with_path(&target.filled_path()?).url();
    let mut request = url.into_client_request().with_context(context)?;
    for (name, value) in target.access().headers.filled()? {
        let name = HeaderName::try_from(name).with_context(context)?;
        request.headers_mut().insert(name, HeaderValue::try_from(value).with_context(context)?);
    }
    let stream: Box<dyn Stream> = match target.is_encrypted() {
        true => Box::new(certificates::encrypted(target, stream)?),
        false => Box::new(stream),
    };
    let made = tungstenite::client::client_with_config(request, stream, Some(config));
    let made = made.map(|(socket, _)| socket).map_err(|error| match error {
        HandshakeError::Interrupted(_) => causes::waited(timeout),
        HandshakeError::Failure(error) => causes::of_wait(error.into(), timeout),
    });
    made.map_err(|error| causes::of_plain_http(error, target)).with_context(context)
}

impl Messages for WebSocket<Box<dyn Stream>> {
    fn exchange(&mut self, body: &str) -> Result<String> {
        self.send(Message::text(body))?;
        loop {
            match self.read()? {
                Message::Text(text) => return Ok(text.as_str().to_owned()),
                Message::Binary(bytes) => return Ok(NoText::or_text("message", bytes.to_vec(), None)?),
                Message::Close(_) => return Err(anyhow!("the server closed the WebSocket")),
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }
}

/// A Unix socket to a server. Connecting and each read and write may take as long as `timeout`.
pub fn connect(target: &Target, timeout: Duration) -> Result<UnixStream> {
    let stream =
        UnixStream::from(socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?);
    stream.set_read_timeout(Some(timeout))?;
    // A connect that finds the listen queue full waits as long as a write does.
    stream.set_write_timeout(Some(timeout))?;
    match net::connect(&stream, &SocketAddrUnix::new(target.addr())?) {
        Err(Errno::AGAIN) => bail!("its listen queue was full for {timeout:?}"),
        other => Ok(other.map(|()| stream)?),
    }
}

/// A message is a line.
impl Messages for BufReader<UnixStream> {
    fn exchange(&mut self, body: &str) -> Result<String> {
        // A body of several lines would be several messages; white space means nothing in JSON.
        let body = format!("{}\n", body.replace(['\n', '\r'], " "));
        self.get_mut().write_all(body.as_bytes())?;
        let mut text = String::new();
        let length = self.take(MOST_BYTES as u64).read_line(&mut text)?;
        ensure!(length > 0, "the server closed the connection");
        Ok(text)
    }
}

/// What makes an answer to a request right, once the server was requested whose answer that is.
///
/// # Errors
/// That server gives no JSON-RPC answer in time.
pub fn settled(truth: &Truth, body: &str) -> Result<Truth> {
    let Some((reference, made_of)) = truth.reference() else { return Ok(truth.clone()) };
    let context = || format!("the reference, server {}", reference.server);
    let target = Target::parse(&reference.url).with_context(context)?.with_access(&reference.access);
    let answer = request(&target, body).with_context(context)?;
    let json =
        answer.json().with_context(|| format!("{}: no JSON-RPC answer: {}", context(), answer.shown()))?;
    Ok(made_of(json))
}

/// An answer that is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Right {
    /// Bytes of its body.
    pub bytes: usize,
    /// The number in it that never falls, where its truth says that there is one.
    pub number: Option<u64>,
    /// It and the reference's answer, where differences are counted.
    pub both: Option<(Value, Value)>,
}

/// A right answer, or what was answered instead.
pub type Verdict = Result<Right, String>;

/// Whether a server's answer is right; where not, what it answered instead.
///
/// # Errors
/// There was no whole answer in time.
pub fn verify(target: &Target, body: &str, truth: &Truth) -> Result<Verdict> {
    compare(target, body, truth.counts_differences(), &settled(truth, body)?)
}

/// The same with a truth that is [`settled`].
///
/// # Errors
/// There was no whole answer in time.
pub fn compare(target: &Target, body: &str, counts_differences: bool, truth: &Truth) -> Result<Verdict> {
    let answer = match request(target, body) {
        Err(error) => match error.downcast_ref::<NoText>() {
            Some(wrong) => return Ok(Err(wrong.to_string())),
            None => return Err(error),
        },
        Ok(answer) => answer,
    };
    let json = answer.json();
    if let Some(misfit) = json.as_ref().and_then(|json| truth.misfit(json)) {
        return Ok(Err(format!("{} ({misfit})", answer.shown())));
    }
    let right = json.filter(|answer| counts_differences || truth.accepts(answer));
    let right = right.map(|json| {
        let both = if counts_differences { truth.both(&json) } else { None };
        Right { bytes: answer.text.len(), number: truth.number(&json), both }
    });
    Ok(right.ok_or_else(|| answer.shown()))
}

/// Whether a server answers a request as it does when it is ready; not while it can't be reached.
///
/// # Errors
/// Its certificate is not trusted, or what reaching it takes is not there: waiting would not help.
pub fn says_ready(target: &Target, call: &ReadyCall) -> Result<bool> {
    certificates::check(target.access().ca.as_deref())?;
    match request(target, &call.request) {
        Err(error) if certificates::are_refused(&error) => Err(error),
        answer => Ok(answer.is_ok_and(|answer| answer.json().is_some_and(|json| call.is_said_by(&json)))),
    }
}
