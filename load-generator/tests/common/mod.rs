//! Small servers on free ports, and the program under test.

#![allow(clippy::unwrap_used, clippy::panic, dead_code, reason = "each test program uses a part")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

/// A server's side of a WebSocket.
pub struct Socket(WebSocketStream<tokio::net::TcpStream>);

impl Socket {
    /// The next request; `None` where the client is gone.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            match self.0.next().await? {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// The next request, where it comes within that time.
    pub async fn next_within(
        &mut self,
        limit: Duration,
    ) -> Result<Option<Value>, tokio::time::error::Elapsed> {
        tokio::time::timeout(limit, self.next()).await
    }

    /// Sends a message; a client that is gone is no error.
    pub async fn send(&mut self, message: &Value) {
        let _ = self.0.send(Message::text(message.to_string())).await;
    }
}

/// An answer to a call, or to each of a batch.
pub fn answer(request: &Value, result: &Value) -> Value {
    match request {
        Value::Array(calls) => calls.iter().map(|call| answer(call, result)).collect(),
        call => json!({ "jsonrpc": "2.0", "result": result, "id": call["id"] }),
    }
}

/// Serves WebSockets until the test's process ends: `serve` is called with each connection and its number. `before` delays a
/// handshake, and closes the connection instead where it returns false.
pub fn ws_server<S: Future<Output = ()> + 'static, B: Future<Output = bool> + 'static>(
    serve: impl Fn(Socket, u32) -> S + Send + 'static,
    before: impl Fn(u32) -> B + Send + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (serve, before) = (Rc::new(serve), Rc::new(before));
        tokio::task::LocalSet::new().block_on(&runtime, async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            for number in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                let (serve, before) = (serve.clone(), before.clone());
                tokio::task::spawn_local(async move {
                    if before(number).await
                        && let Ok(socket) = tokio_tungstenite::accept_async(stream).await
                    {
                        serve(Socket(socket), number).await;
                    }
                });
            }
        });
    });
    format!("ws://{addr}/")
}

/// Serves WebSockets that are all taken at once.
pub fn ws<S: Future<Output = ()> + 'static>(serve: impl Fn(Socket, u32) -> S + Send + 'static) -> String {
    ws_server(serve, |_| async { true })
}

/// Serves HTTP/1.1 until the test's process ends: `answer` gets each body and gives the whole response, or `None` for the end of the
/// connection.
pub fn http(answer: impl Fn(&Value) -> Option<String> + Send + Sync + 'static) -> String {
    http_with_heads(move |_, body| answer(body))
}

/// The same, where `answer` gets each head, too, in small letters.
pub fn http_with_heads(answer: impl Fn(&str, &Value) -> Option<String> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr: SocketAddr = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = answer.clone();
            std::thread::spawn(move || serve_http(&stream.unwrap(), &*answer));
        }
    });
    format!("http://{addr}/rpc")
}

fn serve_http(mut stream: &TcpStream, answer: &dyn Fn(&str, &Value) -> Option<String>) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream);
    loop {
        let (mut length, mut head) = (0, String::new());
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
            head += &format!("{line}\n");
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let Some(response) = answer(&head, &serde_json::from_slice(&body).unwrap()) else { return };
        if stream.write_all(response.as_bytes()).is_err() || response.contains("Connection: close") {
            return;
        }
    }
}

/// A response with a length.
pub fn response(status: &str, body: &Value) -> String {
    let body = body.to_string();
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// The call that most tests send.
pub const BODY: &str = r#"{"jsonrpc":"2.0","method":"test","params":[]}"#;

/// The program with these arguments, separated by spaces.
pub fn command(url: &str, args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rpc-load"));
    command.args(["--json", "--url", url]).args(args.split_whitespace());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What it prints.
pub fn parsed(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs it with the usual body.
pub fn load(url: &str, args: &str) -> Value {
    parsed(&command(url, args).args(["--body", BODY]).output().unwrap())
}

/// A number in what it prints.
pub fn number(report: &Value, pointer: &str) -> u64 {
    let value = report.pointer(pointer).unwrap_or(&Value::Null);
    value.as_u64().unwrap_or_else(|| panic!("{pointer} is {value} in {report}"))
}

/// Requests that failed, in all.
pub fn failures(report: &Value) -> u64 {
    report["failed"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum()
}
