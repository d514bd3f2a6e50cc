//! A gateway that gets SIGTERM: what callers' WebSockets get.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use server_kit::testing::ws_client::{CloseCode, Message, WsConnection, WsEnd};
use server_kit::testing::{PATIENCE, Running};

use crate::node::Node;
use crate::{call, counted, gateway};

/// A WebSocket through which a call was answered already.
fn caller(gateway: &Running) -> WsConnection {
    let mut caller = WsConnection::open(gateway);
    assert_eq!(caller.ask(&call("first", "echo", "first"))["result"], "first");
    caller
}

const AWAY: Result<Message, WsEnd> = Err(WsEnd::Frame(Some(CloseCode::Away)));

#[test]
fn callers_get_their_answers_and_then_a_close_frame() {
    let node = Node::websocket();
    let gateway = gateway(&node.url, &[]);
    let (mut idle, mut waiting) = (caller(&gateway), caller(&gateway));
    // The node answers `sleep` half a second later, long after the signal.
    waiting.send(Message::text(call("slow", "sleep", 500)));
    // A notification, which nobody waits for.
    idle.send(Message::text(json!({"jsonrpc": "2.0", "method": "echo", "params": [1]}).to_string()));
    assert_eq!(idle.ask(&call("second", "echo", "second"))["result"], "second");
    let deadline = Instant::now() + PATIENCE;
    while counted(&gateway, "upstream_calls") < 5 {
        assert!(Instant::now() < deadline, "the calls are not passed on");
        thread::sleep(Duration::from_millis(5));
    }
    gateway.signal("TERM");
    assert_eq!(idle.receive(), AWAY);
    assert_eq!(waiting.answer()["id"], "slow");
    assert_eq!(waiting.receive(), AWAY);
    drop((idle, waiting));
    assert!(gateway.wait_for_end().success());
}

#[test]
fn a_node_that_never_answers_does_not_keep_the_close_frame_from_a_caller() {
    let node = Node::websocket();
    let gateway = gateway(&node.url, &[]);
    let mut caller = caller(&gateway);
    caller.send(Message::text(call("late", "never", 1)));
    assert_eq!(caller.ask(&call("third", "echo", "third"))["result"], "third");
    gateway.signal("TERM");
    assert_eq!(caller.receive(), AWAY);
    drop(caller);
    assert!(gateway.wait_for_end().success());
}
