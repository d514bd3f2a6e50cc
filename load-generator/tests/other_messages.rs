//! What a server sends besides answers, and answers that are unusual or can't be read; and the host that requests name.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex};

use common::{BODY, answer, command, failures, http_with_heads, load, number, parsed, response, ws};
use serde_json::{Value, json};

/// What comes before an answer that is not the answer: with the id of the request, another, a text, and none.
fn others(request: &Value) -> Vec<Value> {
    let id = &request["id"];
    vec![
        json!({ "jsonrpc": "2.0", "method": "news", "params": [{ "id": id, "result": 1 }] }),
        json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }),
        json!({ "jsonrpc": "2.0", "id": "call-1", "method": "ping", "params": {} }),
        json!({ "jsonrpc": "2.0", "id": null, "method": "ping" }),
        json!([{ "jsonrpc": "2.0", "id": id, "method": "ping" }]),
    ]
}

fn all_are_answered(url: &str, args: &str) {
    let report = load(url, &format!("--connections 2 --duration 300 --expect 7 {args}"));
    assert_eq!(failures(&report), 0, "{report}");
    assert!(number(&report, "/succeeded") > 0, "{report}");
    assert!(number(&report, "/notifications") >= 5 * number(&report, "/succeeded"), "{report}");
}

#[test]
fn over_websocket_only_the_answer_with_the_id_and_no_method_counts() {
    let url = ws(|mut socket, _| async move {
        socket.send(&json!({ "jsonrpc": "2.0", "method": "hello" })).await;
        while let Some(request) = socket.next().await {
            let first = if request.is_array() { &request[0] } else { &request };
            for other in others(first) {
                socket.send(&other).await;
            }
            socket.send(&answer(&request, &json!(7))).await;
            socket.send(&json!({ "jsonrpc": "2.0", "method": "bye" })).await;
        }
    });
    all_are_answered(&url, "");
    all_are_answered(&url, "--in-flight 3");
    all_are_answered(&url, "--batch 3");
}

#[test]
fn on_a_unix_socket_line_breaks_are_anywhere_between_and_in_messages() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a node.ipc");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            std::thread::spawn(move || {
                let lines = BufReader::new(client.try_clone().unwrap()).lines();
                for request in lines.map_while(Result::ok) {
                    let request: Value = serde_json::from_str(&request).unwrap();
                    let mut text = "\r\nwelcome\n\n".to_owned();
                    for other in others(&request) {
                        text += &format!("{other}\n\r\n");
                    }
                    let answer = serde_json::to_string_pretty(&answer(&request, &json!(7))).unwrap();
                    text += &format!("{answer}{{\"method\":\"on the same line\"}}\n");
                    if client.write_all(text.replace('\n', "\r\n").as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    all_are_answered(&format!("unix:{}", path.display()), "");
}

#[test]
fn an_answer_that_cant_be_read_is_named_by_its_reason() {
    let bad = |head: &'static str| {
        let url = http_with_heads(move |_, request| {
            let body = answer(request, &json!(1)).to_string();
            Some(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}"))
        });
        let report = load(&url, "--duration 200");
        assert_eq!(number(&report, "/succeeded"), 0, "{report}");
        report["failed"].as_object().unwrap().keys().next().unwrap().clone()
    };
    for (head, why) in [
        ("Content-Length: 4 kB", "its content-length is no number"),
        ("Content-Length: 4\r\nContent-Length: 5", "it has two content-lengths"),
        ("Content Length: 4", "a header's name has a sign that no name may have"),
    ] {
        assert_eq!(bad(head), format!("answer that can't be read: {why}"));
    }
}

#[test]
fn requests_name_the_host_of_the_url_or_the_one_that_was_given() {
    let hosts = Arc::new(Mutex::new(Vec::new()));
    let all = hosts.clone();
    let url = http_with_heads(move |head, request| {
        all.lock().unwrap().push(head.to_owned());
        Some(response("200 OK", &answer(request, &json!(1))))
    });
    let port = url.split(':').nth(2).unwrap().trim_end_matches("/rpc").to_owned();
    let sent = |host: &str, headers: &[&str]| {
        hosts.lock().unwrap().clear();
        let mut command = command(&format!("http://{host}:{port}/rpc"), "--duration 100 --rate 50");
        command.args(["--body", BODY]).args(headers.iter().flat_map(|header| ["--header", header]));
        let report = parsed(&command.output().unwrap());
        assert_eq!((number(&report, "/succeeded"), failures(&report)), (5, 0), "{report}");
        hosts.lock().unwrap().clone()
    };
    let all_have =
        |heads: &[String], line: &str| heads.iter().all(|head| head.lines().any(|own| own == line));
    assert!(all_have(&sent("localhost", &[]), &format!("host: localhost:{port}")));
    let heads = sent("127.0.0.1", &["Host: node.example", "X-Way: a", "x-way: b"]);
    assert!(all_have(&heads, "host: node.example") && !heads[0].contains("127.0.0.1"), "{heads:?}");
    assert!(all_have(&heads, "x-way: a") && all_have(&heads, "x-way: b"), "both are sent: {heads:?}");
}

#[test]
fn an_error_has_no_password() {
    for (url, args) in [
        ("http://me:hunter2@127.0.0.1:1/", ""),
        ("http://me:hunter/2#@127.0.0.1:1/", ""),
        ("ftp://me:hunter2@127.0.0.1:1/", ""),
        ("http://127.0.0.1:1/", "--header Bearer-hunter2"),
    ] {
        let args = format!("--duration 100 {args}");
        let output = command(url, &args).args(["--body", BODY]).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && !stderr.contains("hunter"), "{stderr}");
        assert!(stderr.contains("--header"), "{stderr}");
    }
}
