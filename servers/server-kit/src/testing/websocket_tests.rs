//! What every server has to do with its WebSocket connections, whatever its framework. What each method answers is the
//! conformance crate's.

use std::collections::HashSet;
use std::net::Shutdown;
use std::time::Duration;

use serde_json::{Value, json};

use super::post;
use super::sockets::{BALANCE, BLOCKS, HEALTH, Subject};
use super::ws_client::{CloseCode, ENDS, Message, TEXT, TEXT_BEGINS, WsConnection, WsEnd, frame_bytes};

/// For how long a connection is left alone to see that it is kept: longer than any framework's timer.
const IDLE: Duration = Duration::from_secs(6);

/// A call whose answer tells which call it belongs to.
fn numbered(id: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"getBlocks","params":[{id},{id}]}}"#)
}

/// Asserts that a connection still answers.
///
/// # Panics
/// It does not.
pub fn assert_answers(connection: &mut WsConnection) {
    assert_eq!(connection.ask(HEALTH), json!({"jsonrpc": "2.0", "result": "ok", "id": 1}));
}

impl Subject {
    /// Calls, errors, batches and notifications.
    ///
    /// # Panics
    /// One is not answered as it is over HTTP, or not counted.
    pub fn assert_ws_answers_like_http(&self) {
        let server = self.start(&[]);
        let mut connection = WsConnection::open(&server);
        let unknown = HEALTH.replace("getHealth", "nope");
        let wrong = r#"{"jsonrpc":"2.0","id":"a","method":"getBalance","params":[]}"#;
        let batch = format!("[{HEALTH},{wrong},{HEALTH}]");
        for body in [BALANCE, BLOCKS, HEALTH, &unknown, wrong, &batch] {
            assert_eq!(connection.ask(body), post(server.addr, body).json(), "{body}");
        }
        assert_eq!((server.totals().answered, server.totals().errors), (14, 4));
        // A notification has no answer, so the next message is that of the call.
        connection.send(r#"{"jsonrpc":"2.0","method":"getHealth"}"#);
        assert_answers(&mut connection);
    }

    /// An answer beyond what a socket takes at once.
    ///
    /// # Panics
    /// It does not arrive whole, or what follows does not.
    pub fn assert_ws_largest_answer(&self) {
        let server = self.start(&["--slots", "600000"]);
        let mut connection = WsConnection::open(&server);
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"getBlocks","params":[0,500000]}"#;
        for _ in 0..2 {
            assert_eq!(connection.ask(call), post(server.addr, call).json());
        }
        assert_answers(&mut connection);
    }

    /// Many calls on one socket before any answer is read.
    ///
    /// # Panics
    /// An answer is missing, comes twice, or is another call's.
    pub fn assert_ws_many_in_flight(&self) {
        const CALLS: usize = 300;
        let server = self.start(&["--slots", "1000"]);
        let newest = post(server.addr, BLOCKS).json()["result"].as_array().cloned().unwrap();
        let mut connections = [(); 3].map(|()| WsConnection::open(&server));
        for id in 0..CALLS {
            connections.iter_mut().for_each(|connection| connection.send(numbered(id).as_str()));
        }
        for connection in &mut connections {
            let mut ids = HashSet::new();
            for _ in 0..CALLS {
                let answer = connection.answer();
                let id = answer["id"].clone();
                let expected: Vec<&Value> = newest.iter().filter(|slot| **slot == id).collect();
                assert_eq!(answer["result"], json!(expected), "{answer}");
                assert!(ids.insert(id.as_u64().unwrap()), "twice: {answer}");
            }
            assert_eq!((ids.len(), ids.iter().max()), (CALLS, Some(&(CALLS as u64 - 1))));
        }
    }

    /// A message in two frames with a ping between them, and one that arrives byte by byte.
    ///
    /// # Panics
    /// It is not answered, or the ping is not.
    pub fn assert_ws_any_pieces(&self) {
        let server = self.start(&[]);
        let mut connection = WsConnection::open(&server);
        for byte in frame_bytes(TEXT, HEALTH.as_bytes()) {
            connection.send_raw(&[byte]).unwrap();
        }
        assert_eq!(connection.answer()["result"], "ok");
        let (one, two) = HEALTH.as_bytes().split_at(20);
        connection.send_raw(&frame_bytes(TEXT_BEGINS, one)).unwrap();
        connection.send(Message::Ping(b"between".as_slice().into()));
        // A server may answer the ping before it has the rest, or with the rest's answer.
        connection.send_raw(&frame_bytes(ENDS, two)).unwrap();
        let mut pongs = 0;
        loop {
            match connection.receive().unwrap() {
                Message::Pong(payload) => pongs += usize::from(payload.as_ref() == b"between"),
                Message::Text(text) => break assert!(text.contains("\"ok\""), "{text}"),
                other => panic!("{other:?}"),
            }
        }
        if pongs == 0 {
            assert_eq!(connection.receive(), Ok(Message::Pong(b"between".as_slice().into())));
        }
        assert_answers(&mut connection);
    }

    /// The handshake that ends a connection, begun by the client, and a client that is gone without one.
    ///
    /// # Panics
    /// The server does not end it by a close frame and the end of the TCP connection, or harms another connection.
    pub fn assert_ws_closes(&self) {
        let server = self.start(&["--threads", "1"]);
        let mut other = WsConnection::open(&server);
        let mut connection = WsConnection::open(&server);
        assert_answers(&mut connection);
        connection.close();
        assert!(matches!(connection.receive(), Err(WsEnd::Frame(Some(CloseCode::Normal)))));
        assert!(connection.is_closed());
        let mut gone = WsConnection::open(&server);
        gone.send(HEALTH);
        gone.shutdown(Shutdown::Both);
        drop(gone);
        assert_answers(&mut other);
    }

    /// A binary frame with a call in it.
    ///
    /// # Panics
    /// It is not answered as text.
    pub fn assert_ws_binary(&self) {
        let server = self.start(&[]);
        let mut connection = WsConnection::open(&server);
        assert_eq!(connection.ask_binary(HEALTH)["result"], "ok");
        assert_answers(&mut connection);
    }

    /// A connection on which nothing is sent, with each tuning.
    ///
    /// # Panics
    /// The server sends something, such as a ping, or ends it.
    pub fn assert_ws_idle(&self) {
        let servers = ["equal", "shipped"].map(|tuning| self.start(&["--tuning", tuning]));
        let mut connections = [&servers[0], &servers[1]].map(WsConnection::open);
        connections.iter_mut().for_each(assert_answers);
        std::thread::sleep(IDLE);
        for connection in &mut connections {
            assert!(connection.is_silent_for(Duration::from_millis(1)));
            assert_answers(connection);
        }
    }

    /// SIGTERM while WebSocket connections are idle, with each tuning.
    ///
    /// # Panics
    /// The server does not end in time with exit code 0, or leaves a connection open.
    pub fn assert_ws_ends_when_idle(&self) {
        for tuning in ["equal", "shipped"] {
            let server = self.start(&["--tuning", tuning]);
            let mut idle = WsConnection::open(&server);
            assert_answers(&mut idle);
            let _never_used = WsConnection::open(&server);
            assert_eq!(server.stop_gracefully().code(), Some(0), "{tuning}");
            assert!(idle.receive().is_err());
        }
    }

    /// More connections at once than the frameworks' own limits of 100.
    ///
    /// # Panics
    /// One is refused with the equal tuning.
    pub fn assert_ws_many_connections(&self) {
        let server = self.start(&[]);
        let mut connections: Vec<_> = (0..200).map(|_| WsConnection::open(&server)).collect();
        for _ in 0..3 {
            connections.iter_mut().for_each(|connection| connection.send(HEALTH));
            connections.iter_mut().for_each(|connection| assert_eq!(connection.answer()["result"], "ok"));
        }
        assert_eq!((server.totals().answered, server.totals().errors), (600, 0));
    }
}

/// The tests of a server's WebSocket connections; `$each` gives the subjects.
#[macro_export]
macro_rules! test_websocket {
    ($each:ident) => {
        $crate::test_sockets! { $each:
            websocket_answers_are_those_of_http assert_ws_answers_like_http,
            the_largest_answer_arrives_whole_over_websocket assert_ws_largest_answer,
            calls_in_flight_on_one_websocket_are_all_answered assert_ws_many_in_flight,
            websocket_messages_may_arrive_in_any_pieces assert_ws_any_pieces,
            a_websocket_is_closed_by_a_handshake assert_ws_closes,
            a_binary_frame_is_a_call_too assert_ws_binary,
            an_idle_websocket_is_kept_and_not_pinged assert_ws_idle,
            sigterm_ends_it_under_an_idle_websocket assert_ws_ends_when_idle,
            hundreds_of_websockets_are_answered assert_ws_many_connections,
            each_slot_is_announced_to_subscribers assert_slots_announced,
            a_chain_that_does_not_advance_announces_nothing assert_standing_chain_is_silent,
            subscriptions_end_with_their_connection assert_subscriptions_end_with_connections,
            sigterm_ends_it_under_subscribers assert_ends_under_subscribers,
        }
    };
}
