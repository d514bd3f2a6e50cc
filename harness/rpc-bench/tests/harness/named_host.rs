//! One call by `try` to a service that has its name in a header: with a long method, long parameters, and proxies in the
//! environment that nobody may use.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::bench::{Bench, stderr};

/// The hosts that were named, and how long the longest body was.
type Seen = Arc<Mutex<(Vec<String>, usize)>>;

/// A service that answers whoever names this host, and refuses others.
fn service(host: impl Fn(u16) -> String) -> (u16, String, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (host, seen) = (host(port), Seen::default());
    let (own, all) = (host.clone(), Arc::clone(&seen));
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (own, all) = (own.clone(), Arc::clone(&all));
            std::thread::spawn(move || serve(&client.unwrap(), &own, &all));
        }
    });
    (port, host, seen)
}

fn serve(mut client: &TcpStream, own: &str, seen: &Seen) -> Option<()> {
    client.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(client);
    loop {
        let (mut length, mut line, mut host) = (0, String::new(), String::new());
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let (name, value) = line.split_once(':').unwrap_or_default();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().unwrap(),
                "host" => host = value.trim().to_owned(),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let is_own = host == own;
        let mut seen = seen.lock().unwrap();
        seen.0.push(host);
        seen.1 = seen.1.max(length);
        drop(seen);
        let call: Value = serde_json::from_slice(&body).unwrap();
        let answer = json!({ "jsonrpc": "2.0", "id": call["id"], "result": is_own }).to_string();
        let status = if is_own { "200 OK" } else { "403 Forbidden" };
        write!(client, "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{answer}", answer.len()).ok()?;
    }
}

#[test]
fn each_request_names_its_host_goes_through_no_proxy_and_has_any_length() {
    let Some(bench) = Bench::new(1) else { return };
    let long_method = "m".repeat(400);
    // With the method it is longer than an argument may be.
    let long_params = format!("[\"{}\"]", "a".repeat(130_900));
    let own = ["--header", "Host: node.example"];
    for (method, params, headers) in [("m", "[]", &own[..]), (&*long_method, &*long_params, &own[..0])] {
        let by_name = |port: u16| format!("localhost:{port}");
        let (port, host, seen) = match headers.is_empty() {
            true => service(by_name),
            false => service(|_| "node.example".to_owned()),
        };
        let url = format!("http://localhost:{port}/");
        let fixed = ["try", &url, "--method", method, "--params", params, "--rate", "20", "--seconds", "5"];
        let mut command = bench.command(&[&fixed[..], headers, &["--max-foreign-cpu", "100%"]].concat());
        for variable in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"] {
            // Nobody listens on port 1.
            command.env(variable, "http://127.0.0.1:1");
        }
        command.env_remove("NO_PROXY").env_remove("no_proxy");
        let output = command.output().unwrap();
        let said = stderr(&output);
        assert!(output.status.success(), "{}", said.chars().take(2_000).collect::<String>());
        let seen = seen.lock().unwrap();
        assert!(seen.0.len() > 50 && seen.0.iter().all(|named| *named == host), "{:?}", seen.0.first());
        assert!(seen.1 > params.len(), "{}", seen.1);
    }
}
