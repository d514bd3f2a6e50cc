//! control over real sockets: one fixed answer, counted, however requests arrive and connections end.
#![allow(clippy::unwrap_used, reason = "a test's helpers may fail loudly")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;

use serde_json::json;
use server_kit::testing::sockets::BALANCE;
use server_kit::testing::{Connection, Running, exchange, get, post, refusal, request};

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_server-control"))
}

fn start(args: &[&str]) -> Running {
    Running::start(program(), &[&["--accounts", "10", "--metrics", "127.0.0.1:0"], args].concat())
}

#[test]
fn every_post_has_the_one_true_answer() {
    let server = start(&[]);
    let answer = post(server.addr, BALANCE);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.content_type.as_deref(), Some("application/json; charset=utf-8"));
    let body = answer.json();
    assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &json!(1)));
    assert_eq!(body["result"]["context"]["slot"], 1_499);
    assert!(body["result"]["value"].as_u64().is_some_and(|lamports| lamports > 0), "{body}");
    assert_eq!(post(server.addr, "anything"), answer);
    assert_eq!((server.totals().answered, server.totals().errors), (2, 0));
}

#[test]
fn the_answer_can_be_that_of_another_request() {
    let blocks = r#"{"jsonrpc":"2.0","id":7,"method":"getBlocks","params":[0,3]}"#;
    let server = start(&["--answer-to", blocks]);
    assert_eq!(post(server.addr, BALANCE).json()["id"], 7);
    let server = start(&["--answer-to", r#"{"jsonrpc":"2.0","id":7,"method":"getBalance"}"#]);
    assert_eq!(post(server.addr, BALANCE).json()["error"]["code"], -32_602);
    assert_eq!((server.totals().answered, server.totals().errors), (1, 1));
}

#[test]
fn the_answer_can_be_one_of_another_api() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("answer.json");
    let flags = ["--answer-file", path.to_str().unwrap()];
    std::fs::write(&path, r#"{"jsonrpc":"2.0","id":1,"result":"own"}"#).unwrap();
    let server = start(&flags);
    assert_eq!(post(server.addr, BALANCE).json()["result"], "own");
    assert_eq!((server.totals().answered, server.totals().errors), (1, 0));
    std::fs::write(&path, r#"[{"id":1,"result":0},{"id":2,"error":{}}]"#).unwrap();
    let server = start(&flags);
    assert_eq!(post(server.addr, BALANCE).json()[1]["id"], 2);
    assert_eq!((server.totals().answered, server.totals().errors), (2, 1), "a batch is its calls");
    std::fs::write(&path, "no JSON").unwrap();
    assert!(refusal(program(), &flags).contains("answer.json: is not JSON"));
}

#[test]
fn what_a_fixed_answer_cannot_do_is_refused() {
    let message = refusal(program(), &["--slot-interval-ms", "400"]);
    assert!(message.contains("--slot-interval-ms 400") && message.contains("one answer"), "{message}");
    let message = refusal(program(), &["--walk-ns-per-slot", "129"]);
    assert!(
        message.contains("--walk-ns-per-slot 129") && message.contains("leave the flag out"),
        "{message}"
    );
}

#[test]
fn requests_may_arrive_in_any_pieces() {
    let server = start(&["--threads", "1"]);
    let mut connection = Connection::open(server.addr);
    connection.send(&request(BALANCE).repeat(50));
    let first = connection.answer();
    for _ in 1..50 {
        assert_eq!(connection.answer(), first);
    }
    for byte in request(BALANCE) {
        connection.send(&[byte]);
    }
    assert_eq!(connection.answer(), first);
    assert_eq!(server.totals().answered, 51);
}

/// More answers than the socket's buffers hold, and nobody who reads them until all is sent.
#[test]
fn a_client_that_reads_late_gets_every_answer() {
    let server = start(&["--threads", "1"]);
    let many = 100_000;
    let mut stream = TcpStream::connect(server.addr).unwrap();
    let mut writing = stream.try_clone().unwrap();
    let writer = std::thread::spawn(move || {
        let some = request("").repeat(1_000);
        for _ in 0..many / 1_000 {
            writing.write_all(&some).unwrap();
        }
        writing.shutdown(Shutdown::Write).unwrap();
    });
    // The server is held up until the first byte is read; a second client is not.
    assert_eq!(post(server.addr, "").status, 200);
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    writer.join().unwrap();
    assert_eq!(text.matches("HTTP/1.1 200 OK").count(), many);
}

#[test]
fn a_connection_ends_when_either_side_says_so() {
    let server = start(&[]);
    let mut connection = Connection::open(server.addr);
    connection.send(b"POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}");
    assert_eq!(connection.answer().status, 200);
    assert!(connection.is_closed());

    let mut connection = Connection::open(server.addr);
    connection.send(b"POST / HTTP/1.1\r\nContent-Length: 51201\r\n\r\n");
    assert_eq!(connection.answer().status, 413);
    connection.send(&[b' '; 51_201]);
    assert!(connection.is_closed());

    let mut half = TcpStream::connect(server.addr).unwrap();
    half.write_all(&request(BALANCE)).unwrap();
    half.shutdown(Shutdown::Write).unwrap();
    let mut text = String::new();
    half.read_to_string(&mut text).unwrap();
    assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 1);
}

#[test]
fn what_is_no_post_is_answered_as_elsewhere() {
    let server = start(&[]);
    assert_eq!((get(server.addr, "/health").status, get(server.addr, "/health").body.as_str()), (200, "ok"));
    assert_eq!(get(server.addr, "/").status, 405);
    assert_eq!(exchange(server.addr, b"OPTIONS / HTTP/1.1\r\n\r\n").body, "");
    assert_eq!(server.totals().answered, 0);
}

#[test]
fn many_connections_are_shared_out_and_all_counted() {
    let server = start(&["--threads", "4"]);
    let mut connections: Vec<_> = (0..100).map(|_| Connection::open(server.addr)).collect();
    for _ in 0..5 {
        connections.iter_mut().for_each(|connection| connection.send(&request(BALANCE)));
        connections.iter_mut().for_each(|connection| assert_eq!(connection.answer().status, 200));
    }
    assert_eq!(server.totals().answered, 500);
}

#[test]
fn sigterm_ends_it_under_an_idle_connection() {
    let server = start(&[]);
    let mut idle = Connection::open(server.addr);
    idle.post(BALANCE);
    assert_eq!(server.stop_gracefully().code(), Some(0));
    assert!(idle.is_closed());
}

#[test]
fn a_port_in_use_is_refused() {
    let first = start(&[]);
    let addr = first.addr.to_string();
    let message = refusal(program(), &["--listen", &addr]);
    assert!(message.contains(&addr) && message.contains("in use"), "{message}");
}
