//! The actix server over real sockets: how requests arrive, how answers are framed, how it starts and ends. What each
//! method answers is the conformance crate's.
#![allow(clippy::unwrap_used, reason = "a test's helpers may fail loudly")]

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use server_kit::testing::{Connection, PATIENCE, Running, example, exchange, get, post, refusal, request};

const BALANCE: &str = r#"{"jsonrpc": "2.0", "id": 1, "method": "getBalance", "params": ["4EVAJ81v9fLjz2wp44SZmxgTbvYB8dBRZ6s1SAqP99eZ"]}"#;
const BLOCKS: &str = r#"{"jsonrpc": "2.0", "id": 1,"method": "getBlocks","params": [0, 1000000]}"#;
const HEALTH: &str = r#"{"jsonrpc":"2.0","id":1,"method":"getHealth"}"#;

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_server-actix"))
}

fn start(args: &[&str]) -> Running {
    Running::start(program(), &[&["--accounts", "10", "--metrics", "127.0.0.1:0"], args].concat())
}

#[test]
fn balance_is_answered_with_and_without_a_config() {
    let server = start(&[]);
    let plain = post(server.addr, BALANCE);
    assert_eq!(plain.status, 200);
    assert_eq!(plain.content_type.as_deref(), Some("application/json; charset=utf-8"));
    let plain = plain.json();
    assert_eq!(plain["result"]["context"]["slot"], 1_499);
    assert!(plain["result"]["value"].as_u64().is_some_and(|lamports| lamports > 0), "{plain}");
    let processed = BALANCE.replace("\"]", "\",{\"commitment\":\"processed\"}]");
    let processed = post(server.addr, &processed).json();
    assert_eq!(processed["result"]["context"]["slot"], 1_530);
    assert_eq!(processed["result"]["value"], plain["result"]["value"]);
}

#[test]
fn blocks_of_the_original_test_are_answered() {
    let server = start(&[]);
    let answer = post(server.addr, BLOCKS).json();
    let slots = answer["result"].as_array().unwrap();
    assert_eq!((slots.first(), slots.last()), (Some(&json!(0)), Some(&json!(1_499))));
    assert_eq!(slots.len() as u64, server.ready["ledger"]["slots"].as_u64().unwrap());
}

/// An answer beyond what is copied, and beyond what a socket takes at once.
#[test]
fn the_largest_answer_arrives_whole() {
    let server = start(&["--slots", "600000"]);
    let mut connection = Connection::open(server.addr);
    let ask = r#"{"jsonrpc":"2.0","id":1,"method":"getBlocks","params":[0,500000]}"#;
    for _ in 0..2 {
        let answer = connection.post(ask);
        assert!(answer.body.len() > 3_000_000, "{}", answer.body.len());
        assert_eq!(answer.json()["result"].as_array().unwrap().first(), Some(&json!(0)));
        assert_eq!(connection.post(HEALTH).json()["result"], "ok");
    }
}

#[test]
fn requests_may_arrive_in_any_pieces() {
    let server = start(&["--threads", "1"]);
    let mut connection = Connection::open(server.addr);
    connection.send(&request(BALANCE).repeat(40));
    let first = connection.answer();
    for _ in 1..40 {
        assert_eq!(connection.answer(), first);
    }
    for byte in request(BALANCE) {
        connection.send(&[byte]);
    }
    assert_eq!(connection.answer(), first);
    let (one, two) = BALANCE.split_at(30);
    let head =
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
    let chunked = format!("{head}\r\n{:x}\r\n{one}\r\n{:x}\r\n{two}\r\n0\r\n\r\n", one.len(), two.len());
    connection.send(chunked.as_bytes());
    assert_eq!(connection.answer(), first);
    assert_eq!((server.totals().answered, server.totals().errors), (42, 0));
}

#[test]
fn calls_are_counted_not_requests() {
    let server = start(&["--threads", "2"]);
    post(server.addr, BALANCE);
    post(server.addr, &format!("[{HEALTH},{{}},{HEALTH}]"));
    assert_eq!(post(server.addr, r#"{"jsonrpc":"2.0","method":"getHealth"}"#).body, "");
    assert_eq!(post(server.addr, "{").json()["error"]["code"], -32_700);
    assert_eq!((server.totals().answered, server.totals().errors), (5, 2));
}

#[test]
fn what_is_no_call_has_the_nodes_own_answer() {
    let server = start(&[]);
    let ask = |method: &str, path: &str, content_type: &str, body: &[u8]| {
        let length = body.len();
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: x\r\n{content_type}Content-Length: {length}\r\n\r\n");
        let answer = exchange(server.addr, &[head.as_bytes(), body].concat());
        (answer.status, answer.body)
    };
    let json = "Content-Type: application/json\r\n";
    let health = HEALTH.as_bytes();
    for content_type in ["application/json; charset=utf-8", "Application/JSON;CHARSET=UTF-8"] {
        assert_eq!(ask("POST", "/x?y", &format!("Content-Type: {content_type}\r\n"), health).0, 200);
    }
    for content_type in
        ["", "Content-Type: text/plain\r\n", "Content-Type: application/json; charset=latin1\r\n"]
    {
        let (status, body) = ask("POST", "/", content_type, health);
        assert_eq!(status, 415, "{content_type}");
        assert!(body.starts_with("Supplied content type is not allowed."), "{body}");
    }
    for method in ["GET", "PUT", "DELETE"] {
        let (status, body) = ask(method, "/", json, health);
        assert_eq!(
            (status, body.as_str()),
            (405, "Used HTTP Method is not allowed. POST or OPTIONS is required\n")
        );
    }
    assert_eq!(ask("OPTIONS", "/", json, health), (200, String::new()));
    assert_eq!(ask("POST", "/health", json, health), (200, "ok".to_owned()));
    assert_eq!(get(server.addr, "/health").body, "ok");
    let (status, body) = ask("POST", "/", json, b"{\"\xff\"}");
    assert_eq!((status, body.as_str()), (400, "utf-8 encoding error at byte 2 in request body"));
    assert_eq!(server.totals().answered, 2);
}

#[test]
fn the_largest_body_is_taken_and_one_byte_more_is_not() {
    let server = start(&[]);
    for (length, status) in [(51_200, 200), (51_201, 413), (200_000, 413)] {
        let body = format!("{HEALTH}{}", " ".repeat(length - HEALTH.len()));
        assert_eq!(post(server.addr, &body).status, status, "{length}");
        let head =
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
        let chunked = format!("{head}\r\n{length:x}\r\n{body}\r\n0\r\n\r\n");
        assert_eq!(exchange(server.addr, chunked.as_bytes()).status, status, "{length} chunked");
    }
}

#[test]
fn a_moving_chain_is_seen() {
    let server = start(&["--slot-interval-ms", "5"]);
    let slot = || post(server.addr, BALANCE).json()["result"]["context"]["slot"].as_u64().unwrap();
    let (first, deadline) = (slot(), Instant::now() + PATIENCE);
    while slot() == first {
        assert!(Instant::now() < deadline, "the chain stands still");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(slot() > first);
}

#[test]
fn sigterm_ends_it_under_an_idle_connection() {
    for tuning in ["equal", "shipped"] {
        let server = start(&["--tuning", tuning]);
        let mut idle = Connection::open(server.addr);
        idle.post(BALANCE);
        let _never_used = Connection::open(server.addr);
        assert_eq!(server.stop_gracefully().code(), Some(0), "{tuning}");
        assert!(idle.is_closed());
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let first = start(&[]);
    let addr = first.addr.to_string();
    let message = refusal(program(), &["--listen", &addr]);
    assert!(message.contains(&addr) && message.contains("in use"), "{message}");
    let message = refusal(program(), &["--threads", "513"]);
    assert!(message.contains("--threads 513") && message.contains("512"), "{message}");
}

#[test]
fn the_minimal_server_gives_the_same_balance() {
    let minimal =
        Running::start(&example("minimal-actix"), &["--accounts", "10", "--metrics", "127.0.0.1:0"]);
    assert_eq!(minimal.ready["server"], "actix-minimal");
    let (expected, answer) = (post(start(&[]).addr, BALANCE), post(minimal.addr, BALANCE));
    assert_eq!((answer.status, &answer.content_type), (expected.status, &expected.content_type));
    assert_eq!(answer.json(), expected.json());
    assert_eq!(minimal.totals().answered, 1);
}
