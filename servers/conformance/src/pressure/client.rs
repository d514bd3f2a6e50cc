//! Clients that the kit's tests have no need for: one that checks and times its answers, one that survives refusals.
//! Not for: reading HTTP in general.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use server_kit::testing::{Connection, PATIENCE, request};
use socket2::SockRef;
use validator_state::SEED_ACCOUNT;

/// The body of a call.
pub fn call(id: usize, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// The body of a getBalance of the account that every ledger holds.
pub fn balance_call(id: usize) -> String {
    call(id, "getBalance", &format!("[\"{SEED_ACCOUNT}\"]"))
}

/// The 99th percentile of the times of so many requests, one after the other, in microseconds. Every answer is checked.
pub fn p99_us(addr: SocketAddr, requests: usize) -> f64 {
    let mut connection = Connection::open(addr);
    let balance = connection.post(&balance_call(0)).json()["result"]["value"].clone();
    assert!(balance.is_u64(), "no balance: {balance}");
    let mut times: Vec<Duration> = (0..requests)
        .map(|id| {
            let body = balance_call(id);
            let start = Instant::now();
            let answer = connection.post(&body);
            let time = start.elapsed();
            let answer = answer.json();
            assert_eq!((&answer["id"], &answer["result"]["value"]), (&Value::from(id), &balance));
            time
        })
        .collect();
    times.sort_unstable();
    times[requests * 99 / 100].as_secs_f64() * 1e6
}

/// Asks for the balance until told to stop, and counts right answers and others.
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

/// Connects, with the timeouts of a test.
pub fn connect(addr: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&addr, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Closes connections by reset, so that ten thousand of them don't wait for a minute in this system's tables and keep
/// the next ten thousand from a port.
pub fn reset(connections: impl IntoIterator<Item = TcpStream>) {
    for connection in connections {
        let _closed_already = SockRef::from(&connection).set_linger(Some(Duration::ZERO));
    }
}

/// Sends one request and reads the answer, as far as it comes; whole or not.
pub fn exchange(stream: &mut TcpStream, body: &str) -> io::Result<Answer> {
    // A server may answer and close before it has read all of a body that is too large.
    let sent = stream.write_all(&request(body));
    let mut answer = Answer::default();
    match answer.read(stream) {
        Ok(()) if answer.is_whole() => Ok(answer),
        Ok(()) => Err(sent.err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into())),
        Err(error) => Err(error),
    }
}

/// An answer as it comes.
#[derive(Debug, Default)]
pub struct Answer {
    bytes: Vec<u8>,
    /// Length of the head and the body, once known.
    lengths: Option<(usize, usize)>,
}

impl Answer {
    /// Reads until it is whole or the connection ends.
    pub fn read(&mut self, stream: &mut TcpStream) -> io::Result<()> {
        let mut part = vec![0; 65_536];
        while !self.is_whole() {
            match stream.read(&mut part)? {
                0 => return Ok(()),
                length => self.take(&part[..length]),
            }
        }
        Ok(())
    }

    /// Takes what came.
    pub fn take(&mut self, part: &[u8]) {
        // The blank line may have begun in the part before.
        let from = self.bytes.len().saturating_sub(3);
        self.bytes.extend_from_slice(part);
        if self.lengths.is_none()
            && let Some(end) = self.bytes[from..].windows(4).position(|bytes| bytes == b"\r\n\r\n")
        {
            let end = from + end;
            let head = String::from_utf8_lossy(&self.bytes[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length = length.and_then(|length| length.trim().parse().ok());
            self.lengths = Some((end + 4, length.expect("answers say their length")));
        }
    }

    /// Whether any of it came.
    pub fn has_begun(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Whether all of it came, and no more.
    pub fn is_whole(&self) -> bool {
        self.lengths.is_some_and(|(head, body)| self.bytes.len() == head + body)
    }

    /// The status code.
    pub fn status(&self) -> u16 {
        let code = self.bytes.get(9..12).and_then(|code| std::str::from_utf8(code).ok());
        code.and_then(|code| code.parse().ok()).unwrap_or(0)
    }

    /// The body.
    pub fn body(&self) -> &[u8] {
        &self.bytes[self.lengths.map_or(self.bytes.len(), |(head, _)| head)..]
    }

    /// Whether the server said that it closes the connection.
    pub fn closes(&self) -> bool {
        let head = &self.bytes[..self.lengths.map_or(0, |(head, _)| head)];
        String::from_utf8_lossy(head).to_ascii_lowercase().contains("\r\nconnection: close\r\n")
    }
}
