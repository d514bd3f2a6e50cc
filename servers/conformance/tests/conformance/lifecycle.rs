//! How a server starts and ends.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;
use server_kit::testing::sockets::HEALTH;
use server_kit::testing::{Connection, PATIENCE, Running, post, request};
use socket2::{Domain, Socket, Type};
use validator_state::{Ledger, Method, Params, SeededSpec, State};

use crate::cases::call;
use crate::servers::Server;
use crate::verdict::Verdict;

fn assert_answers(running: &Running) {
    assert_eq!(post(running.addr, HEALTH).json()["result"], "ok");
}

/// The ready line, where a server has one, has every effective setting.
fn assert_effective(running: &Running, setting: &str, value: &Value) {
    assert!(running.ready.is_null() || running.ready[setting] == *value, "{setting}: {}", running.ready);
}

/// SIGTERM ends it with code 0 within 5 s, though clients keep their connections.
pub fn ends_with_idle_connections(server: &Server) {
    let running = server.start(&[]);
    let _never_used = TcpStream::connect(running.addr).unwrap();
    let mut used: Vec<Connection> = (0..8).map(|_| Connection::open(running.addr)).collect();
    for connection in &mut used {
        assert_eq!(connection.post(HEALTH).json()["result"], "ok");
    }
    let status = running.stop_gracefully();
    assert_eq!(status.code(), Some(0), "{}: {status}", server.name);
}

/// An answer that was begun before SIGTERM is finished, though its client reads slowly.
pub fn finishes_what_it_began(server: &Server) {
    let state = State::new(Ledger::seeded(&SeededSpec { accounts: 4, slots: 900_000, seed: 1 }));
    let expected = state.call(Method::GetBlocks, Params::Raw("[0,500000]")).unwrap();
    let running = server.start_large();
    let mut client = connect_with_small_buffer(&running);
    client.write_all(&request(&call("getBlocks", "[0,500000]"))).unwrap();
    client.peek(&mut [0]).unwrap();
    running.signal("TERM");
    let mut answer = Vec::new();
    // A connection that breaks leaves the answer short.
    let _broken = client.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).unwrap();
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let outcome = match serde_json::from_str::<Value>(body) {
        Ok(body) if body["result"] == serde_json::to_value(expected).unwrap() => Ok(()),
        Ok(_) => Err("another answer".to_owned()),
        Err(_) => Err(format!("cut after {} bytes", answer.len())),
    };
    let mut verdict = Verdict::of(server);
    verdict.take("lifecycle/finishes-a-large-answer", outcome);
    verdict.close();
    assert_eq!(running.stop_gracefully().code(), Some(0));
}

/// A client that takes so little at once that most of a large answer waits in the server.
fn connect_with_small_buffer(running: &Running) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    socket.connect(&running.addr.into()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.into()
}

/// A connection is kept, also for requests that arrive together or byte by byte, or that are answered with an error.
pub fn keeps_connections(server: &Server) {
    let running = server.start(&[]);
    let mut connection = Connection::open(running.addr);
    connection.send(&request(HEALTH).repeat(5));
    for _ in 0..5 {
        assert_eq!(connection.answer().json()["result"], "ok", "{}", server.name);
    }
    for byte in request(HEALTH) {
        connection.send(&[byte]);
    }
    assert_eq!(connection.answer().json()["result"], "ok", "{}", server.name);
    assert!(connection.post(&call("nope", "[]")).json()["error"].is_object(), "{}", server.name);
    assert_eq!(connection.post(HEALTH).json()["result"], "ok", "{}", server.name);
}

/// A port in use is refused in one line, whatever the number of threads, and the first server keeps all its connections.
pub fn refuses_a_port_in_use(server: &Server) {
    let first = server.start(&[("threads", "2")]);
    let addr = first.addr.to_string();
    for threads in ["1", "2"] {
        let line = server.refusal(&[("listen", &addr), ("threads", threads)]);
        assert!(line.contains(&addr) && line.contains("in use"), "{line}");
    }
    assert_answers(&first);
}

/// A connection is answered, whichever thread it belongs to.
pub fn answers_on_every_thread(server: &Server) {
    for threads in ["1", "2", "5"] {
        let running = server.start(&[("threads", threads)]);
        assert_effective(&running, "threads", &Value::from(threads.parse::<u64>().unwrap()));
        for _ in 0..40 {
            assert_answers(&running);
        }
    }
}

/// The framework's own defaults change no answer, and are what the ready line says.
pub fn answers_as_shipped(server: &Server) {
    let running = server.start(&[("tuning", "shipped")]);
    assert_effective(&running, "tuning", &Value::from("shipped"));
    assert_answers(&running);
    let batch = post(running.addr, &format!("[{HEALTH}]"));
    assert_eq!(batch.json()[0]["result"], "ok");
}
