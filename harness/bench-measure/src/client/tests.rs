use std::net::TcpListener;

use super::*;

/// The next text, which is no answer to a ping.
fn next(socket: &mut WebSocket<TcpStream>) -> Option<Message> {
    std::iter::from_fn(|| socket.read().ok()).find(Message::is_text)
}

/// A WebSocket server that takes connections one after the other, answers each message with a ping and the
/// message's length, and ends each connection after `messages`.
fn server(messages: usize) -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = Target::parse(&format!("ws://{}", listener.local_addr().unwrap())).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut socket = tungstenite::accept(stream.unwrap()).unwrap();
            for _ in 0..messages {
                let Some(message) = next(&mut socket) else { break };
                socket.send(Message::Ping(vec![1].into())).unwrap();
                socket.send(Message::text(message.len().to_string())).unwrap();
            }
        }
    });
    target
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
    let shown = answer(&"ü".repeat(1_000_000));
    assert_eq!(shown, format!("HTTP 200: {}… [999,800 more characters cut]", "ü".repeat(SHOWN)));
}

#[test]
fn questions_over_a_websocket_share_a_connection_until_it_is_lost() {
    let mut connection = Connection::new(&server(2), TIMEOUT).unwrap();
    for _ in 0..2 {
        let answer = connection.request("12345").unwrap();
        assert_eq!((answer.status, answer.text.as_str()), (None, "5"));
    }
    assert!(connection.request("1").is_err(), "the server has ended the connection");
    assert_eq!(connection.request("12").unwrap().text, "2", "on a new one");
}

#[test]
fn an_answer_over_a_websocket_is_compared_as_one_over_http() {
    let target = server(1);
    let verified = |number: u64| verify(&target, "123", &Value::from(number).into()).unwrap();
    assert_eq!(verified(3), Ok(Right { bytes: 1, number: None, both: None }));
    assert_eq!(verified(4), Err("message: 3".to_owned()));
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = Target::parse(&format!("ws://{nobody}")).unwrap();
    assert!(format!("{:#}", request(&nobody, "1").unwrap_err()).starts_with("no WebSocket to ws://"));
}
