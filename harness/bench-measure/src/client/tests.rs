use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::time::Instant;

use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use serde_json::json;
use tungstenite::{Message, WebSocket};

use super::*;

/// The next text, which is no answer to a ping.
fn next(socket: &mut WebSocket<TcpStream>) -> Option<Message> {
    std::iter::from_fn(|| socket.read().ok()).find(Message::is_text)
}

/// The number of parameters of a call, as its answer.
fn counted(call: &str) -> Value {
    let call: Value = serde_json::from_str(call).unwrap();
    json!({ "id": call["id"], "result": call["params"].as_array().map_or(0, Vec::len) })
}

/// A WebSocket server that takes connections one after the other, answers each call with a ping and the number of its
/// parameters, and ends each connection after `messages`.
fn server(messages: usize) -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = Target::parse(&format!("ws://{}", listener.local_addr().unwrap())).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut socket = tungstenite::accept(stream.unwrap()).unwrap();
            for _ in 0..messages {
                let Some(message) = next(&mut socket) else { break };
                socket.send(Message::Ping(vec![1].into())).unwrap();
                let answer = counted(message.to_text().unwrap()).to_string();
                socket.send(Message::text(answer)).unwrap();
            }
        }
    });
    target
}

/// A server that greets each client and sends what `says` gives for each message of it: messages over WebSocket, bytes
/// over a Unix socket.
fn talker(greeting: &'static str, says: fn(&str) -> Vec<String>) -> [(Target, tempfile::TempDir); 2] {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let over_websocket = format!("ws://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || {
                let mut socket = tungstenite::accept(stream.unwrap()).unwrap();
                let _ = socket.send(Message::text(greeting));
                while let Some(message) = next(&mut socket) {
                    for said in says(message.to_text().unwrap()) {
                        let _ = socket.send(Message::text(said));
                    }
                }
            });
        }
    });
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a node.ipc");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let _ = writeln!(stream, "{greeting}\r");
                let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                for line in lines.map_while(Result::ok) {
                    for said in says(&line) {
                        let _ = write!(stream, "{said}\r\n\n");
                    }
                }
            });
        }
    });
    let over_ipc = format!("unix:{}", path.display());
    [(over_websocket, tempfile::tempdir().unwrap()), (over_ipc, dir)]
        .map(|(url, dir)| (Target::parse(&url).unwrap(), dir))
}

#[test]
fn other_messages_are_passed_over_however_many_come() {
    let says = |call: &str| {
        let answer = counted(call);
        let id = &answer["id"];
        let mut said: Vec<String> = [
            json!({ "method": "news", "params": { "id": id } }),
            json!({ "id": id, "method": "ping" }),
            json!({ "id": "their-1", "method": "ping" }),
            json!({ "id": 999, "result": "of another" }),
            json!("a text"),
        ]
        .iter()
        .map(Value::to_string)
        .collect();
        said.extend([String::new(), "no JSON".to_owned()]);
        said.push(serde_json::to_string_pretty(&answer).unwrap());
        said.push(json!({ "method": "bye" }).to_string());
        said
    };
    for (target, _dir) in talker("hello, client", says) {
        let mut connection = Connection::new(&target, TIMEOUT).unwrap();
        for length in 0..20 {
            let call = json!({ "id": format!("call {length}"), "method": "a", "params": vec![0; length] });
            let answer = connection.request(&call.to_string()).unwrap().json().unwrap();
            assert_eq!(answer, counted(&call.to_string()), "{target}");
        }
        let batch = r#"[{"id":5,"method":"a"}]"#;
        let early = Connection::new(&target, Duration::from_millis(300)).unwrap().request(batch);
        assert!(early.is_err(), "it answers no batch");
    }
}

#[test]
fn other_messages_alone_are_a_wrong_answer_that_says_so() {
    let says = |_: &str| vec![json!({ "id": "of another", "result": 1 }).to_string()];
    for (target, _dir) in talker("{\"method\":\"hello\"}", says) {
        let mut connection = Connection::new(&target, Duration::from_millis(300)).unwrap();
        let error = connection.request(r#"{"id":1,"method":"a"}"#).unwrap_err();
        let words = error.downcast_ref::<NoAnswer>().unwrap().to_string();
        assert!(
            words.contains("within 0.3 s, but 2 other messages") && words.contains("of another"),
            "{words}"
        );
    }
}

#[test]
fn a_message_without_an_id_has_no_answer_and_takes_no_time() {
    // What it says of a notification is not the next call's answer.
    let says = |message: &str| {
        let is_call = message.contains("\"id\"");
        vec![if is_call {
            counted(message).to_string()
        } else {
            json!({ "error": { "code": 1 } }).to_string()
        }]
    };
    for (target, _dir) in talker("", says) {
        let mut connection = Connection::new(&target, Duration::from_secs(60)).unwrap();
        let began = Instant::now();
        for message in [r#"{"method":"a"}"#, r#"[{"method":"a"},{"method":"b"}]"#] {
            assert_eq!(connection.request(message).unwrap().text, "");
        }
        let answer = connection.request(r#"{"id":1,"method":"a","params":[0]}"#).unwrap();
        assert_eq!(answer.json().unwrap()["result"], 1);
        assert!(began.elapsed() < Duration::from_secs(30), "it waited");
    }
}

#[test]
fn a_failure_to_connect_has_the_systems_reason() {
    let said =
        |target: &Target| format!("{:#}", connect_tcp(target, Duration::from_millis(100)).unwrap_err());
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_eq!(
        said(&Target::http(&closed.to_string())),
        format!("{closed}: Connection refused (os error 111)")
    );
    // Its queue has room for one, and nobody takes it.
    let full = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    net::bind(&full, &std::net::SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    net::listen(&full, 0).unwrap();
    let addr = TcpListener::from(full);
    let target = Target::http(&addr.local_addr().unwrap().to_string());
    let held: Vec<_> = (0..3).map(|_| connect_tcp(&target, Duration::from_millis(100))).collect();
    assert!(held.iter().any(Result::is_err));
    assert!(said(&target).ends_with("no connection within 0.1 s"));
}

#[test]
fn a_full_listen_queue_of_a_unix_socket_ends_the_wait() {
    let dir = tempfile::tempdir().unwrap();
    let target = Target::parse(&format!("unix:{}", dir.path().join("node.ipc").display())).unwrap();
    let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    net::bind(&listener, &SocketAddrUnix::new(target.addr()).unwrap()).unwrap();
    net::listen(&listener, 0).unwrap();
    let connect = || connect(&target, Duration::from_millis(100));
    let _held = connect().unwrap();
    assert_eq!(connect().unwrap_err().to_string(), "its listen queue was full for 100ms");
}

#[test]
fn a_long_answer_is_shown_in_part_with_how_much_is_missing() {
    let answer = |text: &str| Answer { status: Some(200), text: text.to_owned() }.shown();
    assert_eq!(answer(" short\n"), "HTTP 200: short");
    assert_eq!(answer("\u{feff}{}\0"), "HTTP 200: \\u{feff}{}\\0");
    let shown = answer(&"ü".repeat(1_000_000));
    assert_eq!(shown, format!("HTTP 200: {}… [999,800 more characters cut]", "ü".repeat(SHOWN)));
}

#[test]
fn questions_over_a_websocket_share_a_connection_until_it_is_lost() {
    let mut connection = Connection::new(&server(2), TIMEOUT).unwrap();
    let mut result =
        |call: &str| connection.request(call).map(|answer| answer.json().unwrap()["result"].clone());
    for _ in 0..2 {
        assert_eq!(result(r#"{"id":1,"method":"a","params":[1,2,3]}"#).unwrap(), 3);
    }
    assert!(result(r#"{"id":1,"method":"a"}"#).is_err(), "the server has ended the connection");
    assert_eq!(result(r#"{"id":1,"method":"a","params":[0]}"#).unwrap(), 1, "on a new one");
}

#[test]
fn an_answer_over_a_websocket_is_compared_as_one_over_http() {
    let target = server(1);
    let call = r#"{"id":1,"method":"a","params":[1]}"#;
    let answer = |number: u64| json!({ "id": 1, "result": number });
    let verified = |number: u64| verify(&target, call, &answer(number).into()).unwrap();
    let bytes = answer(1).to_string().len();
    assert_eq!(verified(1), Ok(Right { bytes, number: None, both: None }));
    assert_eq!(verified(4), Err(format!("message: {}", answer(1))));
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = Target::parse(&format!("ws://{nobody}")).unwrap();
    assert!(format!("{:#}", request(&nobody, call).unwrap_err()).starts_with("no WebSocket to ws://"));
}
