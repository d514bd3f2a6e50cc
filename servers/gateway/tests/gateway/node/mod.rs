//! A node that answers as its callers wish: `echo` gives back the parameter; `held` waits until another `held` comes and is answered after
//! it; `twice` answers twice; `stray` sends an answer to nobody first; `garbled` answers with neither result nor error; `sleep` makes the node
//! read nothing for that many milliseconds, `pause` until it resumes; `count` is counted; `getError`, `never` and `cut` do what they say.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::{Error, Message, WebSocket};

pub struct Node {
    pub url: String,
    connections: Arc<AtomicU64>,
}

/// Calls of `count`, of all nodes of this process.
static COUNTED: AtomicU64 = AtomicU64::new(0);

/// Whether the node that was told to pause may go on.
static RESUMED: AtomicBool = AtomicBool::new(false);

/// An address that nobody listens on.
pub fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn anywhere() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

impl Node {
    pub fn http() -> Self {
        Self::http_at(anywhere())
    }

    pub fn http_at(addr: SocketAddr) -> Self {
        Self::start("http", addr, |stream| {
            // The client may end a connection at any time.
            let _ended = serve_http(stream);
        })
    }

    pub fn websocket() -> Self {
        Self::websocket_at(anywhere())
    }

    pub fn websocket_at(addr: SocketAddr) -> Self {
        Self::start("ws", addr, |stream| {
            if let Ok(socket) = tungstenite::accept(stream) {
                let _ended = serve_websocket(socket);
            }
        })
    }

    fn start(scheme: &str, addr: SocketAddr, serve: fn(TcpStream)) -> Self {
        let listener = TcpListener::bind(addr).unwrap();
        let url = format!("{scheme}://{}/", listener.local_addr().unwrap());
        let connections = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&connections);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::Relaxed);
                thread::spawn(move || serve(stream));
            }
        });
        Self { url, connections }
    }

    pub fn counted(&self) -> u64 {
        COUNTED.load(Ordering::Relaxed)
    }

    /// Lets the node read again after `pause`. One node of this process may pause, once.
    pub fn resume(&self) {
        RESUMED.store(true, Ordering::Relaxed);
    }

    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }
}

fn answer(call: &Value) -> Value {
    let id = &call["id"];
    match call["method"].as_str() {
        Some("garbled") => json!({"jsonrpc": "2.0", "id": id}),
        Some("getError") => json!({"jsonrpc": "2.0", "error": {"code": -1, "message": "no"}, "id": id}),
        _ => json!({"jsonrpc": "2.0", "result": call["params"][0], "id": id}),
    }
}

fn serve_websocket(mut socket: WebSocket<TcpStream>) -> Result<(), Error> {
    let mut held: Option<Value> = None;
    // So that the last one that is held is answered too.
    socket.get_mut().set_read_timeout(Some(Duration::from_millis(100)))?;
    loop {
        let text = match socket.read() {
            Ok(Message::Text(text)) => text,
            Ok(_) => continue,
            Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => {
                if let Some(call) = held.take() {
                    socket.send(Message::text(answer(&call).to_string()))?;
                }
                continue;
            }
            Err(error) => return Err(error),
        };
        let call: Value = serde_json::from_str(&text).unwrap();
        if call.get("id").is_none() {
            continue;
        }
        let mut answers = vec![answer(&call)];
        match call["method"].as_str() {
            Some("held") => match held.take() {
                Some(earlier) => answers.push(answer(&earlier)),
                None => {
                    held = Some(call);
                    continue;
                }
            },
            Some("twice") => answers.push(answer(&call)),
            Some("stray") => {
                answers.insert(0, json!({"jsonrpc": "2.0", "result": "nobody's", "id": 999_999}))
            }
            Some("sleep") => thread::sleep(Duration::from_millis(call["params"][0].as_u64().unwrap())),
            Some("pause") => {
                while !RESUMED.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(10));
                }
            }
            Some("count") => drop(COUNTED.fetch_add(1, Ordering::Relaxed)),
            Some("never") => continue,
            Some("cut") => return Ok(()),
            _ => {}
        }
        for answer in answers {
            socket.send(Message::text(answer.to_string()))?;
        }
    }
}

fn serve_http(stream: TcpStream) -> std::io::Result<()> {
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let calls: Value = serde_json::from_slice(&body).unwrap_or_default();
        let answer = match calls.as_array() {
            Some(calls) => Value::from(calls.iter().map(answer).collect::<Vec<_>>()),
            None => answer(&calls),
        }
        .to_string();
        let length = answer.len();
        write!(
            writer,
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{answer}"
        )?;
    }
}

/// A request over a connection of its own, and the answer as it came.
pub fn raw(addr: SocketAddr, body: &str) -> String {
    let mut stream = TcpStream::connect(addr).unwrap();
    let length = body.len();
    let head = "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json";
    write!(stream, "{head}\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
