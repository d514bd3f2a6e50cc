//! Clients that the kit's tests have no need for: one that checks and times its answers, one that survives refusals.

use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use server_kit::testing::{Answers, Connection, RawAnswer, request};
use socket2::SockRef;
use validator_state::SEED_ACCOUNT;

/// The body of a call.
pub fn call(id: usize, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// The body of a getBalance of the account that every ledger has.
pub fn balance_call(id: usize) -> String {
    call(id, "getBalance", &format!("[\"{SEED_ACCOUNT}\"]"))
}

/// The 99th percentile of the times of `requests` requests, one after the other, in microseconds. Every answer is checked.
pub fn p99_us(addr: SocketAddr, requests: usize) -> f64 {
    let mut connection = Connection::open(addr);
    p99_of(requests, |body| connection.post(body).body)
}

/// [`p99_us`] of any way from a call to the text of its answer.
pub fn p99_of(requests: usize, mut ask: impl FnMut(&str) -> String) -> f64 {
    let read = |answer: String| serde_json::from_str::<Value>(&answer).unwrap_or_default();
    let balance = read(ask(&balance_call(0)))["result"]["value"].clone();
    assert!(balance.is_u64(), "no balance: {balance}");
    let mut times: Vec<Duration> = (0..requests)
        .map(|id| {
            let body = balance_call(id);
            let start = Instant::now();
            let answer = ask(&body);
            let time = start.elapsed();
            let answer = read(answer);
            assert_eq!((&answer["id"], &answer["result"]["value"]), (&Value::from(id), &balance));
            time
        })
        .collect();
    times.sort_unstable();
    times[requests * 99 / 100].as_secs_f64() * 1e6
}

/// Requests the balance until `stop` is set, and counts right answers and others.
pub fn ask_until(addr: SocketAddr, stop: &AtomicBool) -> (usize, usize) {
    let mut connection = Connection::open(addr);
    let balance = connection.post(&balance_call(0)).json()["result"]["value"].clone();
    let (mut right, mut wrong) = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        let id = right + wrong;
        let answer = connection.post(&balance_call(id));
        let json = serde_json::from_str::<Value>(&answer.body).unwrap_or_default();
        if answer.status == 200 && json["id"] == id && json["result"]["value"] == balance {
            right += 1;
        } else {
            wrong += 1;
        }
        // Enough to notice, and leaves the cores to what is pressed.
        thread::sleep(Duration::from_millis(1));
    }
    (right, wrong)
}

/// Closes connections by reset, so that ten thousand of them don't wait for a minute in this system's tables and keep
/// the next ten thousand from a port.
pub fn reset(connections: impl IntoIterator<Item = TcpStream>) {
    for connection in connections {
        let _closed_already = SockRef::from(&connection).set_linger(Some(Duration::ZERO));
    }
}

/// Sends one request and reads the answer.
pub fn exchange(stream: &mut TcpStream, body: &str) -> io::Result<RawAnswer> {
    // A server may answer and close before it has read all of a body that is too large.
    let sent = stream.write_all(&request(body));
    Answers::new(stream).next(false).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => sent.err().unwrap_or(error),
        _ => error,
    })
}
