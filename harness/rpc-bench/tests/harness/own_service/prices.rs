//! The service that is no Solana node, and the process that it is reached through.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Value, json};

/// What the service wants as a bearer token.
pub(crate) const TOKEN: &str = "s3cret-of-a-test";

/// More requests than come before a window at the rate of these tests: what is wrong from then on shows under load.
pub(crate) const LATE: u64 = 90;

/// The service, in threads of this process: prices that never change but for their time, a height that rises, and an
/// error for all else. Whoever has no token, as a header or in the path, gets 401 and the path that was requested.
pub(crate) struct Service {
    pub(crate) url: String,
    /// Whether prices are wrong once it has answered a while.
    pub(crate) lies: Arc<AtomicBool>,
    /// Whether its height is then below what it was.
    pub(crate) falls: Arc<AtomicBool>,
    /// Requests that it has answered.
    pub(crate) answered: Arc<AtomicU64>,
    /// The process that it is reached through.
    relay: Child,
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.relay.kill();
        let _ = self.relay.wait();
    }
}

/// Where its relay sends what it gets.
const UPSTREAM: &str = "RELAY_TO";

/// A process that passes bytes on to a service in another one, so that the harness finds a process whose open files are
/// the service's alone; those of the tests' own change with every other test.
#[test]
#[ignore = "a process that other tests start"]
fn relay() {
    let Ok(upstream) = std::env::var(UPSTREAM) else { return };
    let listener = TcpListener::bind("[::1]:0").unwrap();
    eprintln!("relay at {}", listener.local_addr().unwrap());
    for client in listener.incoming() {
        let (client, server) = (client.unwrap(), TcpStream::connect(&upstream).unwrap());
        for stream in [&client, &server] {
            stream.set_nodelay(true).unwrap();
        }
        let pairs = [(client.try_clone(), server.try_clone()), (Ok(server), Ok(client))];
        for (from, to) in pairs.map(|(from, to)| (from.unwrap(), to.unwrap())) {
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut &from, &mut &to);
                let _ = to.shutdown(Shutdown::Both);
            });
        }
    }
}

fn start_relay(upstream: &str) -> (Child, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "own_service::prices::relay", "--ignored", "--nocapture"])
        .env(UPSTREAM, upstream);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let addr = said.find_map(|line| line.split("relay at ").nth(1).map(str::to_owned)).unwrap();
    (child, addr)
}

impl Service {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (relay, addr) = start_relay(&listener.local_addr().unwrap().to_string());
        let url = format!("http://{addr}/rpc");
        let (lies, falls) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let answered = Arc::<AtomicU64>::default();
        let service =
            Self { url, lies: lies.clone(), falls: falls.clone(), answered: answered.clone(), relay };
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (answered, lies, falls) = (answered.clone(), lies.clone(), falls.clone());
                std::thread::spawn(move || serve(client.unwrap(), &answered, &lies, &falls));
            }
        });
        service
    }
}

fn serve(client: TcpStream, answered: &AtomicU64, lies: &AtomicBool, falls: &AtomicBool) -> Option<()> {
    client.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let mut client = client;
    loop {
        let (mut length, mut line, mut is_known, mut path) = (0, String::new(), false, String::new());
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if path.is_empty() {
                path = line.clone();
            }
            let lower = line.to_ascii_lowercase();
            if let Some(text) = lower.strip_prefix("content-length:") {
                length = text.trim().parse().unwrap();
            }
            is_known |= line.trim_end().ends_with(&format!("Bearer {TOKEN}"));
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let has_key = path.starts_with(&format!("POST /rpc/{TOKEN} "));
        let (status, answer) = if has_key || is_known && path.starts_with("POST /rpc ") {
            let count = answered.fetch_add(1, Ordering::SeqCst);
            ("200 OK", answer(&body, count, lies, falls).to_string())
        } else {
            ("401 Unauthorized", format!("no token: {}", path.trim()))
        };
        let length = answer.len();
        write!(client, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{answer}").ok()?;
    }
}

fn answer(body: &[u8], count: u64, lies: &AtomicBool, falls: &AtomicBool) -> Value {
    let call: Value = serde_json::from_slice(body).unwrap();
    let result = match call["method"].as_str().unwrap() {
        "price.get" => {
            let params = &call["params"];
            let name = params["name"].as_str().or(params[0].as_str()).unwrap();
            let is_wrong = lies.load(Ordering::SeqCst) && count > LATE;
            json!({ "price": if is_wrong { 0 } else { name.len() }, "at": count })
        }
        "height" => {
            let fell = falls.load(Ordering::SeqCst) && count > LATE;
            json!(format!("{:#x}", if fell { 1 } else { count + 100 }))
        }
        // One of the last thousand, up to its height.
        "block"
            if (count.saturating_sub(900)..=count + 100).contains(&call["params"][0].as_u64().unwrap()) =>
        {
            json!("a block")
        }
        other => {
            return json!({ "jsonrpc": "2.0", "id": call["id"], "error": { "code": -1, "message": other } });
        }
    };
    json!({ "jsonrpc": "2.0", "id": call["id"], "result": result })
}
