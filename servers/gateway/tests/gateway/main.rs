//! The gateway as a process, in front of nodes that misbehave on purpose.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

mod actix;
mod ending;
mod killed;
mod node;
mod real;

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use node::Node;
use serde_json::{Value, json};
use server_kit::testing::ws_client::{CloseCode, Message, WsConnection, WsEnd};
use server_kit::testing::{PATIENCE, Running, get, post, refusal};

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_server-gateway"))
}

fn gateway(upstream: &str, options: &[&str]) -> Running {
    let args = [&["--upstream", upstream, "--metrics", "127.0.0.1:0"], options].concat();
    Running::start(program(), &args)
}

fn call(id: impl Into<Value>, method: &str, params: impl Into<Value>) -> String {
    let (id, params) = (id.into(), params.into());
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": [params]}).to_string()
}

fn counted(gateway: &Running, name: &str) -> u64 {
    let text = get(gateway.metrics.unwrap(), "/metrics").body;
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("gateway_{name}_total ")));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
}

/// Waits until a call is answered with a result.
fn wait_for_answers(gateway: &Running) {
    let deadline = Instant::now() + PATIENCE;
    while post(gateway.addr, &call(1, "echo", 1)).status != 200 {
        assert!(Instant::now() < deadline, "the gateway does not reach the node");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn http_passes_on_what_the_node_says() {
    let node = Node::http();
    let gateway = gateway(&node.url, &[]);
    for id in [json!(7), json!("seven"), json!(null)] {
        let answer = post(gateway.addr, &call(id.clone(), "echo", "x"));
        assert_eq!((answer.status, answer.json()), (200, json!({"jsonrpc": "2.0", "result": "x", "id": id})));
    }
    let batch = format!("[{},{}]", call(1, "echo", 10), call("b", "echo", 20));
    let answers = post(gateway.addr, &batch).json();
    assert_eq!((&answers[0]["result"], &answers[1]["id"]), (&json!(10), &json!("b")));
    assert_eq!(post(gateway.addr, &"x".repeat(60_000)).status, 413);
    assert_eq!((counted(&gateway, "requests"), counted(&gateway, "upstream_calls")), (4, 4));
    assert!(gateway.stop_gracefully().success());
}

#[test]
fn callers_of_the_shared_websocket_get_their_own_answers() {
    let node = Node::websocket();
    let gateway = gateway(&node.url, &[]);
    wait_for_answers(&gateway);
    let callers: Vec<_> = (0..500)
        .map(|number: u64| {
            let addr = gateway.addr;
            // Out of order, twice, and with ids that nobody sent.
            let method = ["echo", "held", "twice", "stray"][number as usize % 4];
            let id = if number.is_multiple_of(2) { json!(1) } else { json!(format!("caller {number}")) };
            thread::spawn(move || (number, id.clone(), post(addr, &call(id, method, number)).json()))
        })
        .collect();
    for caller in callers {
        let (number, id, answer) = caller.join().unwrap();
        assert_eq!(answer, json!({"jsonrpc": "2.0", "result": number, "id": id}));
    }
    assert_eq!(node.connections(), 1);
    assert_eq!((counted(&gateway, "reconnects"), counted(&gateway, "timeouts")), (0, 0));
}

#[test]
fn each_entry_of_a_batch_is_answered_over_the_shared_websocket() {
    let node = Node::websocket();
    let gateway = gateway(&node.url, &[]);
    wait_for_answers(&gateway);
    let notification = r#"{"jsonrpc":"2.0","method":"echo","params":[1]}"#;
    let batch = format!("[{},{notification},{},3]", call("a", "echo", 1), call(2, "twice", 2));
    let answers = post(gateway.addr, &batch).json();
    assert_eq!(answers.as_array().unwrap().len(), 3, "{answers}");
    assert_eq!((&answers[0]["id"], &answers[1]["result"]), (&json!("a"), &json!(2)));
    assert_eq!(answers[2]["error"]["code"], -32_600);
    assert_eq!(post(gateway.addr, notification).body, "");
    let without_version = r#"{"id":1,"method":"echo"}"#;
    assert_eq!(post(gateway.addr, without_version).json()["error"]["code"], -32_600);
    assert_eq!(post(gateway.addr, &call(4, "garbled", 1)).status, 502);
    assert_eq!(post(gateway.addr, "{").json()["error"]["code"], -32_700);
    assert_eq!(post(gateway.addr, "[]").json()["error"]["code"], -32_600);
}

#[test]
fn a_node_that_is_silent_or_cuts_the_socket_fails_nobody_for_ever() {
    let node = Node::websocket();
    let gateway = gateway(&node.url, &["--timeout-ms", "1500", "--max-in-flight", "3"]);
    wait_for_answers(&gateway);
    let late = post(gateway.addr, &call("z", "never", 1));
    assert_eq!((late.status, &late.json()["id"]), (504, &json!("z")));
    assert_eq!(counted(&gateway, "timeouts"), 1);

    let before = counted(&gateway, "upstream_calls");
    let waiting: Vec<_> = (0..3)
        .map(|number| {
            let addr = gateway.addr;
            thread::spawn(move || post(addr, &call(number, "never", number)))
        })
        .collect();
    let deadline = Instant::now() + PATIENCE;
    while counted(&gateway, "upstream_calls") < before + 3 {
        assert!(Instant::now() < deadline, "the calls do not reach the node");
    }
    assert_eq!(post(gateway.addr, &call(9, "echo", 9)).status, 503, "all places are taken");
    assert!(waiting.into_iter().all(|caller| caller.join().unwrap().status == 504));

    let lost = post(gateway.addr, &call(5, "cut", 5));
    assert_eq!((lost.status, lost.json()["error"]["code"].clone()), (502, json!(-32_006)));
    wait_for_answers(&gateway);
    assert!(counted(&gateway, "reconnects") >= 1 && node.connections() >= 2);
}

#[test]
fn all_calls_on_a_lost_connection_fail_at_once_and_later_ones_are_answered() {
    let node = Node::websocket();
    let gateway = gateway(&node.url, &["--timeout-ms", "60000"]);
    wait_for_answers(&gateway);
    let before = counted(&gateway, "upstream_calls");
    let waiting: Vec<_> = (0..200)
        .map(|number| {
            let addr = gateway.addr;
            thread::spawn(move || (number, post(addr, &call(number, "never", number))))
        })
        .collect();
    let deadline = Instant::now() + PATIENCE;
    while counted(&gateway, "upstream_calls") < before + 200 {
        assert!(Instant::now() < deadline, "the calls do not reach the node");
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(post(gateway.addr, &call(1, "cut", 1)).status, 502);
    for caller in waiting {
        let (number, answer) = caller.join().unwrap();
        assert_eq!((answer.status, &answer.json()["id"]), (502, &json!(number)));
    }
    assert_eq!(counted(&gateway, "timeouts"), 0);
    wait_for_answers(&gateway);
    assert!(gateway.stop_gracefully().success());
}

#[test]
fn a_refused_notification_is_not_answered() {
    let node = Node::websocket();
    let gateway = gateway(&node.url, &["--rate-limit", "1"]);
    let mut caller = WsConnection::open(&gateway);
    assert_eq!(caller.ask(&call(1, "echo", 1))["result"], 1);
    let notification = r#"{"jsonrpc":"2.0","method":"echo","params":[1]}"#;
    for _ in 0..3 {
        caller.send(Message::text(notification));
    }
    loop {
        let answer = caller.ask(&call("after", "echo", 1));
        assert_eq!(answer["id"], "after", "an answer to a notification");
        if answer["error"]["code"] == -32_005 {
            break;
        }
    }
    assert!(counted(&gateway, "limited") >= 1);
}

#[test]
fn a_call_that_was_given_up_is_not_sent_later() {
    let node = Node::websocket();
    let gateway = gateway(&node.url, &["--timeout-ms", "300"]);
    wait_for_answers(&gateway);
    // The node reads nothing until every call has timed out; what was not yet sent then does not reach it afterwards.
    assert_eq!(post(gateway.addr, &call(1, "pause", 1)).status, 504);
    let large = "x".repeat(50_000);
    let callers: Vec<_> = (0..400)
        .map(|id| {
            let (addr, large) = (gateway.addr, large.clone());
            thread::spawn(move || post(addr, &call(id, "count", large)).status)
        })
        .collect();
    let given_up = callers.into_iter().map(|caller| caller.join().unwrap());
    let given_up = given_up.filter(|status| *status == 504).count() as u64;
    assert!(given_up > 0, "the node paused");
    node.resume();
    wait_for_answers(&gateway);
    assert!(node.counted() < 400, "{} of 400 were sent, {given_up} given up", node.counted());
}

#[test]
fn an_unreachable_node_is_said_at_once_and_found_again() {
    for scheme in ["http", "ws"] {
        let addr = node::free_address();
        let gateway = gateway(&format!("{scheme}://{addr}/"), &[]);
        let answer = post(gateway.addr, &call(3, "echo", 3));
        assert_eq!((answer.status, &answer.json()["id"]), (502, &json!(3)), "{scheme}");
        let _node = if scheme == "ws" { Node::websocket_at(addr) } else { Node::http_at(addr) };
        wait_for_answers(&gateway);
    }
}

#[test]
fn too_many_requests_get_the_time_to_come_back() {
    let node = Node::http();
    let gateway = gateway(&node.url, &["--rate-limit", "1", "--rate-burst", "2"]);
    let statuses: Vec<u16> = (0..4).map(|id| post(gateway.addr, &call(id, "echo", id)).status).collect();
    assert_eq!(statuses[..2], [200, 200]);
    assert!(statuses[2..].contains(&429), "{statuses:?}");
    let head = node::raw(gateway.addr, &call(1, "echo", 1));
    assert!(head.starts_with("HTTP/1.1 429") && head.to_lowercase().contains("retry-after: 1"), "{head}");
    let batch = format!("[{}]", vec![call(1, "echo", 1); 3].join(","));
    assert_eq!(post(gateway.addr, &batch).status, 429, "each entry is a call");
    assert!(counted(&gateway, "limited") >= 3);
}

#[test]
fn a_kept_answer_goes_to_each_caller_with_its_own_id_until_it_expires() {
    let node = Node::http();
    let gateway = gateway(&node.url, &["--cache-ms", "2000"]);
    for id in [json!(1), json!("two"), json!(3)] {
        assert_eq!(post(gateway.addr, &call(id.clone(), "getEcho", "x")).json()["id"], id);
    }
    assert_eq!((counted(&gateway, "upstream_calls"), counted(&gateway, "cache_hits")), (1, 2));
    assert_eq!(post(gateway.addr, &call(1, "getEcho", "y")).json()["result"], "y");
    for _ in 0..2 {
        assert_eq!(post(gateway.addr, &call(1, "getError", "x")).json()["error"]["code"], -1);
        post(gateway.addr, &call(1, "sendEcho", "x"));
    }
    assert_eq!(
        counted(&gateway, "upstream_calls"),
        6,
        "neither an error nor a call that does something is kept"
    );
    thread::sleep(Duration::from_millis(2_100));
    post(gateway.addr, &call(1, "getEcho", "x"));
    assert_eq!(counted(&gateway, "upstream_calls"), 7);
}

#[test]
fn a_websocket_of_a_caller_is_passed_on_whole() {
    let node = Node::websocket();
    let gateway = gateway(&node.url, &[]);
    let mut caller = WsConnection::open(&gateway);
    assert_eq!(caller.ask(&call(1, "echo", "x"))["result"], "x");
    caller.send(Message::text(call(2, "stray", 2)));
    assert_eq!(caller.answer()["id"], 999_999, "what the node sends by itself arrives too");
    assert_eq!(caller.answer()["id"], 2);
    caller.close();
    assert_eq!(caller.receive(), Err(WsEnd::Frame(Some(CloseCode::Normal))));

    let mut other = WsConnection::open(&gateway);
    other.send(Message::text(call(1, "cut", 1)));
    assert!(other.receive().is_err(), "the node cut it");
}

#[test]
fn an_answer_beyond_the_limit_fails_its_caller_and_nobody_later() {
    for node in [Node::http(), Node::websocket()] {
        let gateway = gateway(&node.url, &["--max-answer-bytes", "2000"]);
        wait_for_answers(&gateway);
        assert_eq!(post(gateway.addr, &call(1, "echo", "x".repeat(1_000))).status, 200);
        assert_eq!(post(gateway.addr, &call(2, "echo", "x".repeat(3_000))).status, 502, "{}", node.url);
        wait_for_answers(&gateway);
    }
}

#[test]
fn a_websocket_to_nobody_is_closed() {
    let gateway = gateway(&format!("ws://{}/", node::free_address()), &[]);
    let mut caller = WsConnection::open(&gateway);
    assert_eq!(caller.receive(), Err(WsEnd::Frame(Some(CloseCode::Again))));
}

#[test]
fn wrong_options_are_refused_in_one_line() {
    for (args, says) in [
        (vec![], "--upstream"),
        (vec!["--upstream", "https://a:1/"], "TLS"),
        (vec!["--upstream", "127.0.0.1:8899"], "http://HOST:PORT/"),
        (vec!["--upstream", "http://a/"], "http://HOST:PORT/"),
        (vec!["--upstream", "http://a:1/", "--rate-limit", "0"], "--rate-limit"),
        (vec!["--upstream", "http://a:1/", "--rate-burst", "5"], "--rate-limit"),
        (vec!["--upstream", "http://a:1/", "--max-answer-bytes", "0"], "--max-answer-bytes"),
    ] {
        let said = refusal(program(), &args);
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn calls_are_timed_by_method_and_outcome_where_wished() {
    let node = Node::http();
    let gateway = gateway(&node.url, &["--metrics-calls"]);
    for _ in 0..3 {
        post(gateway.addr, &call(1, "echo", "x"));
    }
    let batch = format!("[{},{},3]", call(1, "echo", 10), call("b", "echo", 20));
    assert_eq!(post(gateway.addr, &batch).json().as_array().map(Vec::len), Some(3));
    assert!(post(gateway.addr, &call(1, "getError", 1)).json()["error"].is_object());
    let text = get(gateway.metrics.unwrap(), "/metrics").body;
    let count = |method: &str, outcome: &str| {
        let labels = format!(
            "rpc_system_name=\"jsonrpc\",rpc_method=\"{method}\",network_protocol_name=\"http\",outcome=\"{outcome}\""
        );
        let start = format!("rpc_server_call_duration_seconds_count{{{labels}}} ");
        text.lines().find_map(|line| line.strip_prefix(&start)?.parse::<u64>().ok())
    };
    assert_eq!((count("_OTHER", "ok"), count("_OTHER", "error")), (Some(5), Some(1)), "{text}");
    assert!(text.contains("\nrpc_server_calls_in_flight 0\n") && text.contains("\ntokio_workers "), "{text}");
    assert!(text.contains("\nrpc_server_connections_accepted_total 5\n"), "{text}");
    server_kit::testing::metrics_tests::assert_promtool_accepts(&text);
}
