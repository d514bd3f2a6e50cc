//! Connections that carry messages both ways: WebSockets and Unix sockets. Each read and write takes at most a time.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use serde::Deserialize;
use serde_json::value::RawValue;
use tungstenite::client::IntoClientRequest;
use tungstenite::handshake::HandshakeError;
use tungstenite::http::{HeaderMap, HeaderName, HeaderValue};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Message, WebSocket};

use super::causes::{self, NoAnswer};
use super::{MOST_BYTES, headers};
use crate::certificates;
use bench_core::target::Target;

/// A connection that carries messages both ways.
pub(super) trait Messages: Send {
    /// Sends a message.
    fn send(&mut self, body: &str) -> Result<()>;

    /// The next message of the server.
    fn next(&mut self) -> Result<String>;

    /// Whether a message was sent on it that has no answer, so that an error without an id may be about that one.
    fn has_unanswered(&mut self) -> &mut bool;
}

/// A connection, and whether a message without an answer was sent on it.
struct Kept<S> {
    stream: S,
    has_unanswered: bool,
}

/// What a WebSocket reads and writes: TCP, or TLS over it. tungstenite has such a type as a feature, which would
/// stand below the servers in Cargo.lock.
trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}

/// A WebSocket to a server.
///
/// # Errors
/// It can't be reached, or refuses the handshake.
pub(super) fn open(target: &Target, timeout: Duration) -> Result<Box<dyn Messages>> {
    let context = || format!("no WebSocket to {target}");
    let stream = causes::connect_tcp(target, timeout).with_context(context)?;
    stream.set_nodelay(true).with_context(context)?;
    stream.set_read_timeout(Some(timeout)).with_context(context)?;
    stream.set_write_timeout(Some(timeout)).with_context(context)?;
    let limit = Some(MOST_BYTES);
    let config = WebSocketConfig::default().max_message_size(limit).max_frame_size(limit);
    let url = target.with_path(&target.filled_path()?).socket_url();
    let mut request = url.into_client_request().with_context(context)?;
    let mut given = HeaderMap::new();
    for (name, value) in headers(target)?.filled()? {
        let name = HeaderName::try_from(name).with_context(context)?;
        given.append(name, HeaderValue::try_from(value).with_context(context)?);
    }
    // Those that the handshake has already are replaced: the host.
    request.headers_mut().extend(given);
    let stream: Box<dyn Stream> = match target.is_encrypted() {
        true => Box::new(certificates::encrypted(target, stream)?),
        false => Box::new(stream),
    };
    let made = tungstenite::client::client_with_config(request, stream, Some(config));
    let made = made.map_err(|error| match error {
        HandshakeError::Interrupted(_) => causes::waited(timeout),
        HandshakeError::Failure(error) => causes::of_wait(error.into(), timeout),
    });
    let (stream, _) = made.map_err(|error| causes::of_plain_http(error, target)).with_context(context)?;
    Ok(Box::new(Kept { stream, has_unanswered: false }))
}

impl Messages for Kept<WebSocket<Box<dyn Stream>>> {
    fn send(&mut self, body: &str) -> Result<()> {
        Ok(self.stream.send(Message::text(body))?)
    }

    fn next(&mut self) -> Result<String> {
        loop {
            match self.stream.read()? {
                Message::Text(text) => return Ok(text.as_str().to_owned()),
                Message::Binary(bytes) => return Ok(NoAnswer::or_text("message", bytes.to_vec(), None)?),
                Message::Close(_) => return Err(anyhow!("the server closed the WebSocket")),
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }

    fn has_unanswered(&mut self) -> &mut bool {
        &mut self.has_unanswered
    }
}

/// A Unix socket to a server, for messages.
///
/// # Errors
/// As those of [`connect`].
pub(super) fn open_socket(target: &Target, timeout: Duration) -> Result<Box<dyn Messages>> {
    Ok(Box::new(Kept { stream: BufReader::new(connect(target, timeout)?), has_unanswered: false }))
}

/// A Unix socket to a server. Connecting and each read and write may take as long as `timeout`.
///
/// # Errors
/// Nobody listens there, or its queue is full for that long.
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

impl Messages for Kept<BufReader<UnixStream>> {
    /// As a line: a body of several would be several messages to some servers, and white space means nothing in JSON.
    fn send(&mut self, body: &str) -> Result<()> {
        let line = format!("{}\n", body.replace(['\n', '\r'], " "));
        Ok(self.stream.get_mut().write_all(line.as_bytes())?)
    }

    /// A message ends where its JSON does, whatever lines it has; what is no array or object ends with its line.
    fn next(&mut self) -> Result<String> {
        let mut stream = self.stream.by_ref().take(MOST_BYTES as u64);
        loop {
            let first = match stream.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                buffered => buffered?.first().copied(),
            };
            match first {
                None => bail!("the server closed the connection"),
                Some(byte) if byte.is_ascii_whitespace() => stream.consume(1),
                Some(b'{' | b'[') => {
                    let mut json = serde_json::Deserializer::from_reader(&mut stream);
                    match Box::<RawValue>::deserialize(&mut json) {
                        Ok(value) => return Ok(value.get().to_owned()),
                        Err(error) if error.is_io() => return Err(std::io::Error::from(error).into()),
                        Err(error) if error.is_eof() => {
                            bail!("the server closed the connection in a message")
                        }
                        Err(error) => bail!(NoAnswer(format!("message: no JSON: {error}"))),
                    }
                }
                Some(_) => {
                    let mut line = Vec::new();
                    let length = stream.read_until(b'\n', &mut line)?;
                    ensure!(length > 0, "the server closed the connection");
                    return Ok(NoAnswer::or_text("message", line, None)?);
                }
            }
        }
    }

    fn has_unanswered(&mut self) -> &mut bool {
        &mut self.has_unanswered
    }
}
