//! A service with one planted fault, for tests: it answers each call with three times `"right"`, but for what its first argument says.
//! `--listen ADDR` is where; it prints a line with its address once it listens.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::exit;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Requests so far.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// What is left of a limit on the rate, and when that was.
static LEFT: Mutex<Option<(f64, Instant)>> = Mutex::new(None);

/// The limit, in requests a second.
const LIMIT: f64 = 200.0;

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let fault = args.first().cloned().unwrap_or_default();
    let listen = args.iter().skip_while(|arg| *arg != "--listen").nth(1);
    let listener = TcpListener::bind(listen.map_or("127.0.0.1:0", String::as_str))?;
    println!("{}", json!({ "ready": true, "addr": listener.local_addr()?.to_string() }));
    for client in listener.incoming() {
        let (client, fault) = (client?, fault.clone());
        std::thread::spawn(move || serve(client, &fault));
    }
    Ok(())
}

fn serve(mut client: TcpStream, fault: &str) -> Option<()> {
    client.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(client.try_clone().ok()?);
    loop {
        let (mut length, mut line) = (0, String::new());
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = text.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let call: Value = serde_json::from_slice(&body).ok()?;
        let (status, answer) = answer(fault, &call["id"], COUNT.fetch_add(1, Ordering::SeqCst));
        let length = answer.len();
        write!(client, "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n\r\n{answer}").ok()?;
    }
}

/// The status and the answer to a call; a load comes after the first requests, which are sent one by one.
fn answer(fault: &str, id: &Value, count: u64) -> (u16, String) {
    let every = |one_in: u64| count > 40 && count.is_multiple_of(one_in);
    let right = json!({ "jsonrpc": "2.0", "id": id, "result": ["right", "right", "right"] });
    let answer = match fault {
        "errors" if every(100) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32005, "message": "too many" } })
        }
        "wrong" if every(200) => json!({ "jsonrpc": "2.0", "id": id, "result": "wrong" }),
        "item" if every(200) => json!({ "jsonrpc": "2.0", "id": id, "result": ["right", "wrong", "right"] }),
        "slow" if every(50) => {
            std::thread::sleep(Duration::from_millis(200));
            right
        }
        "other" if every(50) => json!({ "jsonrpc": "2.0", "id": 999_999_999, "result": "right" }),
        "html" if every(50) => return (200, "<html>wait</html>".to_owned()),
        "limit" if !is_let_through() => return (429, "slower".to_owned()),
        "null" => json!({ "jsonrpc": "2.0", "id": id, "result": 7, "error": null }),
        "death" if count == 100 => exit(3),
        _ => right,
    };
    (200, answer.to_string())
}

fn is_let_through() -> bool {
    let Ok(mut left) = LEFT.lock() else { return false };
    let now = Instant::now();
    let (tokens, then) = left.unwrap_or((LIMIT / 10.0, now - Duration::from_millis(1)));
    let tokens = (tokens + now.duration_since(then).as_secs_f64() * LIMIT).min(LIMIT / 10.0);
    *left = Some((if tokens >= 1.0 { tokens - 1.0 } else { tokens }, now));
    tokens >= 1.0
}
