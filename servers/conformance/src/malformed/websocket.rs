//! WebSocket that no usual client sends: frames that are too long, in the wrong order or against the protocol, and handshakes
//! that lack something.

use std::time::Duration;

use server_kit::testing::Running;
use server_kit::testing::sockets::HEALTH;
use server_kit::testing::ws_client::{
    BINARY, CONTINUES, ENDS, Message, PING, TEXT, TEXT_BEGINS, WsConnection, WsEnd, frame_bytes,
};
use validator_state::MAX_BODY_BYTES;

use super::describe;
use crate::fuzz::wire::{Answer, Client, Request};

const CALL: &[u8] = HEALTH.as_bytes();

/// A key of a handshake, whose value does not matter.
const KEY: &str = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const VERSION: &str = "Sec-WebSocket-Version: 13\r\n";
const UPGRADE: &str = "Upgrade: websocket\r\nConnection: Upgrade\r\n";

/// A kind of message or handshake.
#[derive(Debug)]
pub struct WsRow {
    /// As docs/CONTRACT.md names it, in Markdown.
    pub name: &'static str,
    sent: Sent,
}

#[derive(Debug)]
enum Sent {
    /// Frames on a connection of their own.
    Frames(Vec<Vec<u8>>),
    /// A request in the place of the handshake.
    Handshake(Request),
}

/// The rows of the table.
pub fn rows() -> Vec<WsRow> {
    [texts(), limits(), frames(), subscriptions(), handshakes()].into_iter().flatten().collect()
}

/// A server's answer to a row, or the lack of one, in a few words.
///
/// # Panics
/// It takes no connection.
pub fn cell(row: &WsRow, server: &Running, silence: Duration) -> String {
    match &row.sent {
        Sent::Handshake(request) => describe(&Client::new(server.ws_addr()).first(request, silence)),
        Sent::Frames(frames) => {
            let mut connection = WsConnection::open(server);
            for frame in frames {
                // A server may end the connection before the last.
                let _ended = connection.send_raw(frame);
            }
            outcome(connection.receive_within(silence))
        }
    }
}

fn outcome(received: Option<Result<Message, WsEnd>>) -> String {
    match received {
        None => "waits".to_owned(),
        Some(Ok(Message::Text(text))) => {
            describe(&Ok(Answer { status: 200, media: String::new(), body: text.as_bytes().to_vec() }))
        }
        Some(Ok(Message::Pong(_))) => "pong".to_owned(),
        Some(Ok(other)) => format!("{other:?}"),
        Some(Err(WsEnd::Frame(Some(code)))) => format!("closed, {code}"),
        Some(Err(WsEnd::Frame(None))) => "closed, no code".to_owned(),
        Some(Err(WsEnd::Cut)) => "cut".to_owned(),
        Some(Err(WsEnd::Broken)) => "not WebSocket".to_owned(),
    }
}

fn row(name: &'static str, frames: &[(u8, &[u8])]) -> WsRow {
    let frames = frames.iter().map(|(head, payload)| frame_bytes(*head, payload)).collect();
    WsRow { name, sent: Sent::Frames(frames) }
}

fn texts() -> Vec<WsRow> {
    let spaces = |count: usize| [vec![b' '; count].as_slice(), CALL].concat();
    let not_text: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"getHealth\"}";
    vec![
        row("a call in a binary frame", &[(BINARY, CALL)]),
        row("an empty message", &[(TEXT, b"")]),
        row("127 spaces before a call", &[(TEXT, &spaces(127))]),
        row("128 spaces before a call", &[(TEXT, &spaces(128))]),
        row("not UTF-8, in a text frame", &[(TEXT, not_text)]),
        row("not UTF-8, in a binary frame", &[(BINARY, not_text)]),
    ]
}

fn limits() -> Vec<WsRow> {
    let mut most = CALL.to_vec();
    most.resize(MAX_BODY_BYTES, b' ');
    let above = [most.as_slice(), b" "].concat();
    let (one, two) = above.split_at(30_000);
    let (begin, rest) = CALL.split_at(10);
    let (middle, end) = rest.split_at(10);
    vec![
        row("a message of 51,200 bytes", &[(TEXT, &most)]),
        row("a message of 51,201 bytes", &[(TEXT, &above)]),
        row("a message of 51,201 bytes in two frames", &[(TEXT_BEGINS, one), (ENDS, two)]),
        row("a message in three frames", &[(TEXT_BEGINS, begin), (CONTINUES, middle), (ENDS, end)]),
    ]
}

fn frames() -> Vec<WsRow> {
    let mut unmasked = vec![TEXT, CALL.len() as u8];
    unmasked.extend_from_slice(CALL);
    vec![
        WsRow { name: "a frame without a mask", sent: Sent::Frames(vec![unmasked]) },
        row("a reserved bit", &[(0x40 | TEXT, CALL)]),
        row("an opcode that nothing has", &[(0x83, CALL)]),
        row("a last frame without a first", &[(ENDS, CALL)]),
        row("a message within a message", &[(TEXT_BEGINS, b"{"), (TEXT, CALL)]),
        row("a ping of 126 bytes", &[(PING, &[b'x'; 126])]),
        row("a ping in two frames", &[(PING & 0x7f, b"x"), (ENDS, b"y")]),
        row("a pong without a ping", &[(0x8a, b"x"), (TEXT, CALL)]),
        row("a close without a code", &[(0x88, b"")]),
        row("a close with code 1005", &[(0x88, &1_005_u16.to_be_bytes())]),
        row("a close with half a code", &[(0x88, b"\x03")]),
    ]
}

/// Calls about subscriptions that a node refuses, or that only some frameworks take.
fn subscriptions() -> Vec<WsRow> {
    let call = |name: &'static str, body: &str| row(name, &[(TEXT, body.as_bytes())]);
    let subscribe = r#"{"jsonrpc":"2.0","id":1,"method":"slotSubscribe"}"#;
    let with = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
    };
    let ending = |params| with("slotUnsubscribe", params);
    vec![
        call("slotSubscribe", subscribe),
        call("slotSubscribe with a parameter", &with("slotSubscribe", "[1]")),
        call("slotSubscribe as a notification", &subscribe.replace(r#""id":1,"#, "")),
        call("slotSubscribe in a batch", &format!("[{subscribe}]")),
        call("slotUnsubscribe of a number that is not there", &ending("[99]")),
        call("slotUnsubscribe of a text", &ending(r#"["99"]"#)),
        call("slotUnsubscribe without a number", &ending("[]")),
        call("another subscription of a node", &subscribe.replace("slot", "root")),
    ]
}

fn handshakes() -> Vec<WsRow> {
    let row = |name: &'static str, line: &str, headers: &[&str]| {
        let headers = ["Host: localhost\r\n"].iter().chain(headers).map(|header| header.as_bytes().to_vec());
        let request = Request {
            line: format!("{line} HTTP/1.1\r\n").into_bytes(),
            headers: headers.collect(),
            oddity: Some("row"),
            ..Request::default()
        };
        WsRow { name, sent: Sent::Handshake(request) }
    };
    vec![
        row("GET without an upgrade", "GET /", &[]),
        row("an upgrade without a key", "GET /", &[UPGRADE, VERSION]),
        row("an upgrade to version 12", "GET /", &[UPGRADE, KEY, "Sec-WebSocket-Version: 12\r\n"]),
        row("an upgrade to something else", "GET /", &["Upgrade: h2c\r\nConnection: Upgrade\r\n"]),
    ]
}
