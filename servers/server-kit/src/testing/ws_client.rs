//! A WebSocket client for tests: a blocking one, which can also send what no client would.

use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;
use socket2::{Domain, SockRef, Socket, Type};
pub use tungstenite::Message;
use tungstenite::error::ProtocolError;
use tungstenite::protocol::WebSocketConfig;
pub use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Error, HandshakeError, WebSocket};

use super::{PATIENCE, Running, connect};

/// The first byte of a frame that is a whole message of text.
pub const TEXT: u8 = 0x81;
/// The first byte of a text message's first frame.
pub const TEXT_BEGINS: u8 = 0x01;
/// The first byte of a frame in the middle of a message.
pub const CONTINUES: u8 = 0x00;
/// The first byte of a message's last frame.
pub const ENDS: u8 = 0x80;
/// The first byte of a frame that is a whole binary message.
pub const BINARY: u8 = 0x82;
/// The first byte of a ping.
pub const PING: u8 = 0x89;

/// A client's connection.
#[derive(Debug)]
pub struct WsConnection(WebSocket<TcpStream>);

/// How a server ended a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WsEnd {
    /// By a close frame with this code, or with none.
    Frame(Option<CloseCode>),
    /// Without a close frame.
    Cut,
    /// By bytes that are no WebSocket.
    Broken,
}

impl Running {
    /// The URL of its ready line's `ws`.
    ///
    /// # Panics
    /// The line has none.
    pub fn ws_url(&self) -> &str {
        self.ready["ws"].as_str().unwrap_or_else(|| panic!("no ws in {}", self.ready))
    }

    /// Where it takes WebSocket connections.
    ///
    /// # Panics
    /// See [`Self::ws_url`].
    pub fn ws_addr(&self) -> SocketAddr {
        let addr = self.ws_url().trim_start_matches("ws://").trim_end_matches('/');
        addr.parse().unwrap_or_else(|_| panic!("{addr} is no address"))
    }
}

impl WsConnection {
    /// Connects.
    ///
    /// # Panics
    /// The server does not take the connection.
    pub fn open(server: &Running) -> Self {
        Self::try_open(server).unwrap_or_else(|error| panic!("{}: {error}", server.ws_url()))
    }

    /// Connects, which a server may refuse.
    ///
    /// # Errors
    /// The connection or the handshake failed.
    pub fn try_open(server: &Running) -> Result<Self, Error> {
        Self::handshake(server, connect(server.ws_addr())?)
    }

    /// Connects with a receive buffer of a few kilobytes, for a client that reads slowly or not at all.
    ///
    /// # Panics
    /// The server does not take the connection.
    pub fn open_narrow(server: &Running) -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.set_recv_buffer_size(4_096).expect("sockets have buffers");
        socket.connect(&server.ws_addr().into()).expect("the server accepts");
        let stream: TcpStream = socket.into();
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout above 0");
        Self::handshake(server, stream).unwrap_or_else(|error| panic!("{}: {error}", server.ws_url()))
    }

    fn handshake(server: &Running, stream: TcpStream) -> Result<Self, Error> {
        // So that the client limits nothing that a server sends.
        let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        match tungstenite::client::client_with_config(server.ws_url(), stream, Some(config)) {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(HandshakeError::Failure(error)) => Err(error),
            Err(HandshakeError::Interrupted(_)) => Err(Error::Io(io::ErrorKind::TimedOut.into())),
        }
    }

    /// Sends a message.
    ///
    /// # Panics
    /// The connection is gone.
    pub fn send(&mut self, message: impl Into<Message>) {
        self.0.send(message.into()).expect("the server still reads");
    }

    /// Sends bytes as they are, at once.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.get_mut().write_all(bytes)
    }

    /// The next message that is no close, or how the server ended the connection.
    ///
    /// # Errors
    /// The server ended it.
    ///
    /// # Panics
    /// It does nothing.
    pub fn receive(&mut self) -> Result<Message, WsEnd> {
        let received = self.0.read();
        self.outcome(received)
    }

    fn outcome(&mut self, received: Result<Message, Error>) -> Result<Message, WsEnd> {
        match received {
            Ok(Message::Close(frame)) => {
                // Our part of the handshake, which a server may not wait for.
                let _cut = self.0.flush();
                Err(WsEnd::Frame(frame.map(|frame| frame.code)))
            }
            Ok(message) => Ok(message),
            Err(
                Error::ConnectionClosed
                | Error::AlreadyClosed
                | Error::Protocol(ProtocolError::ResetWithoutClosingHandshake),
            ) => Err(WsEnd::Cut),
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                panic!("the server does not answer: {error}")
            }
            Err(Error::Io(_)) => Err(WsEnd::Cut),
            Err(_) => Err(WsEnd::Broken),
        }
    }

    /// [`Self::receive`] for at most `limit`; `None` where nothing arrives.
    pub fn receive_within(&mut self, limit: Duration) -> Option<Result<Message, WsEnd>> {
        let stream = self.0.get_ref();
        let usual = stream.read_timeout().expect("a connection has a timeout");
        stream.set_read_timeout(Some(limit)).expect("a timeout can be set");
        let received = self.0.read();
        self.0.get_ref().set_read_timeout(usual).expect("a timeout can be set");
        match received {
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => None,
            received => Some(self.outcome(received)),
        }
    }

    /// The next message, as JSON.
    ///
    /// # Panics
    /// It is no text or no JSON, or the server ended the connection.
    pub fn answer(&mut self) -> Value {
        match self.receive() {
            Ok(Message::Text(text)) => {
                serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
            }
            other => panic!("no answer but {other:?}"),
        }
    }

    /// Sends a text and reads the next message as JSON.
    ///
    /// # Panics
    /// See [`Self::answer`].
    pub fn ask(&mut self, text: &str) -> Value {
        self.send(text);
        self.answer()
    }

    /// Sends a text in a binary frame and reads the next message as JSON.
    ///
    /// # Panics
    /// See [`Self::answer`].
    pub fn ask_binary(&mut self, text: &str) -> Value {
        self.send(text.as_bytes().to_vec());
        self.answer()
    }

    /// Ends the TCP connection, without a handshake.
    pub fn shutdown(&mut self, how: Shutdown) {
        // An error says that it has ended already.
        let _ended = self.0.get_mut().shutdown(how);
    }

    /// Ends the TCP connection by a reset.
    ///
    /// # Panics
    /// The system refuses the option.
    pub fn reset(self) {
        SockRef::from(self.0.get_ref()).set_linger(Some(Duration::ZERO)).expect("sockets can be reset");
    }

    /// Whether nothing arrives within `limit`.
    ///
    /// # Panics
    /// The system refuses a timeout.
    pub fn is_silent_for(&mut self, limit: Duration) -> bool {
        let stream = self.0.get_ref();
        let usual = stream.read_timeout().expect("a connection has a timeout");
        stream.set_read_timeout(Some(limit)).expect("a timeout can be set");
        let waited = stream.peek(&mut [0]);
        stream.set_read_timeout(usual).expect("a timeout can be set");
        waited.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Begins the handshake that ends the connection.
    ///
    /// # Panics
    /// The connection is gone.
    pub fn close(&mut self) {
        let frame = tungstenite::protocol::CloseFrame { code: CloseCode::Normal, reason: "".into() };
        self.0.close(Some(frame)).expect("the server still reads");
    }

    /// Whether the server has ended the TCP connection; waits for what it does next.
    ///
    /// # Panics
    /// The server does nothing.
    pub fn is_closed(&mut self) -> bool {
        self.receive() == Err(WsEnd::Cut)
    }
}

/// A frame as a client sends it, masked; `head` is its first byte, such as [`TEXT`].
pub fn frame_bytes(head: u8, payload: &[u8]) -> Vec<u8> {
    const MASK: [u8; 4] = [0x5a, 0xa5, 0x0f, 0xf0];
    let masked = payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask);
    let length = match payload.len() {
        short @ 0..126 => vec![0x80 | short as u8],
        middle @ 126..=0xffff => [&[0x80 | 126], (middle as u16).to_be_bytes().as_slice()].concat(),
        long => [&[0x80 | 127], (long as u64).to_be_bytes().as_slice()].concat(),
    };
    [head].into_iter().chain(length).chain(MASK).chain(masked).collect()
}
