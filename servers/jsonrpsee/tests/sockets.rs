//! jsonrpsee over real sockets: its limit of connections, bodies that arrive in pieces, and its shortest server. The
//! conformance crate tests what each method answers.
#![allow(clippy::unwrap_used, reason = "a test's helpers may fail loudly")]

use std::collections::HashSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use server_kit::testing::sockets::{HEALTH, Subject};
use server_kit::testing::ws_client::WsConnection;
use server_kit::testing::{Connection, HttpAnswer, Running, assert_stores_answer_alike, get, post, request};

/// What jsonrpsee ships: concurrent requests, of which a connection has one at most.
const SHIPPED_LIMIT: usize = 100;

fn subject() -> Subject {
    Subject::new(env!("CARGO_BIN_EXE_server-jsonrpsee"), &[])
}

fn server(args: &[&str]) -> Running {
    subject().start(args)
}

fn each() -> [Subject; 1] {
    [subject()]
}

server_kit::test_websocket!(each);

const SUBSCRIBE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"slotSubscribe"}"#;

#[test]
fn a_slow_subscriber_loses_its_subscriptions() {
    const SUBSCRIPTIONS: usize = 200;
    let server = server(&["--slot-interval-ms", "2"]);
    let mut slow = WsConnection::open_narrow(&server);
    for _ in 0..SUBSCRIPTIONS {
        slow.send(SUBSCRIBE);
    }
    // Acceptances wait in the same queue: one that comes when the queue is full would be accepted once the client reads again.
    let mut accepted = 0;
    while accepted < SUBSCRIPTIONS {
        accepted += usize::from(slow.answer()["result"].is_u64());
    }
    // Another client's slots are the clock.
    let mut reading = WsConnection::open(&server);
    assert!(reading.ask(SUBSCRIBE)["result"].is_u64());
    for _ in 0..2_000 {
        assert_eq!(reading.answer()["method"], "slotNotification");
    }
    slow.send(HEALTH);
    while slow.answer()["result"] != "ok" {}
    let mut announced = HashSet::new();
    let end = Instant::now() + Duration::from_millis(400);
    while Instant::now() < end {
        let Some(message) = slow.receive_within(Duration::from_millis(400)) else { break };
        let text = message.unwrap().into_text().unwrap();
        let message: Value = serde_json::from_str(&text).unwrap();
        announced.insert(message["params"]["subscription"].as_u64().unwrap());
    }
    // A busy machine may end most of them while they are accepted; the few that are left need not fill the socket's
    // buffers (up to 4 MiB), which takes the announcements of some 15 subscriptions here.
    assert!(announced.len() < SUBSCRIPTIONS / 10, "{} are announced still", announced.len());
    // Those are announced in front of the answer.
    slow.send(HEALTH);
    while slow.answer()["result"] != "ok" {}
}

/// Holds as many requests open as jsonrpsee allows by default, then sends one more on a connection of its own, again and
/// again until it is refused, or for that long.
fn one_more_than_shipped(server: &Running, patience: Duration) -> (Vec<Connection>, HttpAnswer) {
    let whole = request(HEALTH);
    let held: Vec<Connection> = (0..SHIPPED_LIMIT)
        .map(|_| {
            let mut connection = Connection::open(server.addr);
            // A request that has been answered proves that the connection is served; the next one stays open.
            assert_eq!(connection.post(HEALTH).status, 200);
            connection.send(&whole[..whole.len() - 1]);
            connection
        })
        .collect();
    // The server answers this from a task of its own, so every head that was sent before may still wait to be read.
    let mut last = post(server.addr, HEALTH);
    let begin = Instant::now();
    while last.status == 200 && begin.elapsed() < patience {
        std::thread::sleep(Duration::from_millis(5));
        last = post(server.addr, HEALTH);
    }
    (held, last)
}

#[test]
fn the_ready_line_has_the_interval_and_the_walk() {
    subject().assert_interval_and_walk();
}

#[test]
fn the_shipped_limit_refuses_the_101st_request_and_no_other() {
    let server = server(&["--tuning", "shipped"]);
    assert_eq!(server.ready["max_connections"], SHIPPED_LIMIT);
    let (mut held, refused) = one_more_than_shipped(&server, Duration::from_secs(20));
    assert_eq!(
        (refused.status, refused.body.as_str()),
        (429, "Too many connections. Please try again later.")
    );
    for connection in &mut held {
        connection.send(b"}");
        assert_eq!(connection.answer().json()["result"], "ok");
    }
    assert_eq!(post(server.addr, HEALTH).json()["result"], "ok");
}

#[test]
fn the_equal_tuning_has_no_such_limit() {
    let server = server(&[]);
    let (_held, answer) = one_more_than_shipped(&server, Duration::from_secs(1));
    assert_eq!((answer.status, answer.json()["result"].clone()), (200, json!("ok")));
}

#[test]
fn white_space_in_front_of_a_call_does_not_matter() {
    let server = server(&[]);
    let answer = post(server.addr, &format!("{}{HEALTH}", " ".repeat(127)));
    assert_eq!(answer.json()["result"], "ok");
    let batch = post(server.addr, &format!("{}[{HEALTH}]", "\n".repeat(127)));
    assert_eq!(batch.json()[0]["result"], "ok");
    // Byte by byte without blanks: the framework refuses a body whose first piece has nothing else.
    let mut connection = Connection::open(server.addr);
    for byte in request(HEALTH) {
        connection.send(&[byte]);
    }
    assert_eq!(connection.answer().json()["result"], "ok");
    assert_eq!(post(server.addr, " ").status, 400, "the framework's own answer");
}

#[test]
fn health_is_answered_before_json_rpc() {
    let server = server(&[]);
    for answer in [get(server.addr, "/health"), exchange_health(&server)] {
        assert_eq!((answer.status, answer.body.as_str()), (200, "ok"));
        assert!(answer.content_type.unwrap().starts_with("text/plain"));
    }
    assert_eq!(server.totals().answered, 0);
}

fn exchange_health(server: &Running) -> HttpAnswer {
    let head = b"POST /health HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
    server_kit::testing::exchange(server.addr, head)
}

#[test]
fn calls_that_a_method_answers_are_counted() {
    let server = server(&[]);
    let unknown = r#"{"jsonrpc":"2.0","id":1,"method":"nope"}"#;
    let wrong = r#"{"jsonrpc":"2.0","id":1,"method":"getBalance","params":[]}"#;
    let note = r#"{"jsonrpc":"2.0","method":"getHealth"}"#;
    let batch = format!("[{HEALTH},{unknown},{wrong},{note},{{}}]");
    for (body, counted) in
        [(HEALTH, (1, 0)), (unknown, (1, 0)), (wrong, (2, 1)), (note, (2, 1)), (batch.as_str(), (4, 2))]
    {
        post(server.addr, body);
        assert_eq!((server.totals().answered, server.totals().errors), counted, "{body}");
    }
}

#[test]
fn the_shortest_server_gives_the_same_answers() {
    subject().assert_minimal("jsonrpsee", true);
}

#[test]
fn stores_and_threads_change_no_answer() {
    assert_stores_answer_alike(&subject().program, &[], env!("CARGO_TARGET_TMPDIR"));
}
