//! The gateway's three paths in front of server-actix.

use std::collections::HashSet;

use serde_json::{Value, json};
use server_kit::testing::ws_client::WsConnection;
use server_kit::testing::{Running, post};

use crate::actix::{self, balances, gateway, wait_for_answers};

const BALANCES: usize = 50;

const ANYWHERE: &str = "127.0.0.1:0";

fn assert_answers_as(direct: &Running, gateway: &Running) {
    wait_for_answers(gateway);
    let mut seen = HashSet::new();
    for (number, balance) in balances().take(BALANCES).enumerate() {
        let id = if number.is_multiple_of(2) { json!(number) } else { json!(format!("caller {number}")) };
        let call = balance(&id);
        let (expected, got) = (post(direct.addr, &call), post(gateway.addr, &call));
        assert_eq!((got.status, got.json()), (expected.status, expected.json()), "{call}");
        assert!(seen.insert(got.json()["result"]["value"].as_u64().unwrap()), "{call}");
    }
    let unknown = r#"{"jsonrpc":"2.0","id":null,"method":"noSuchMethod"}"#;
    assert_eq!(post(gateway.addr, unknown).json(), post(direct.addr, unknown).json());
    let calls: Vec<String> = balances().take(2).map(|balance| balance(&json!("a"))).collect();
    let batch = format!("[{}]", calls.join(","));
    assert_eq!(post(gateway.addr, &batch).json(), post(direct.addr, &batch).json());
}

#[test]
fn each_path_gives_the_answers_of_the_server() {
    let server = actix::start(ANYWHERE, 0);
    let http = gateway(&format!("http://{}/", server.addr), &[]);
    assert_answers_as(&server, &http);
    assert_eq!(http.ready["ws"], Value::Null);

    let shared = gateway(server.ws_url(), &[]);
    assert_answers_as(&server, &shared);
    assert_eq!(shared.ready["ws"], format!("ws://{}/", shared.addr));

    let (mut direct, mut through) = (WsConnection::open(&server), WsConnection::open(&shared));
    for (number, balance) in balances().take(BALANCES).enumerate() {
        let call = balance(&json!(number));
        assert_eq!(through.ask(&call), direct.ask(&call), "{call}");
    }
    // With callers' sockets open, both kinds of connection to the server among them.
    assert!(shared.stop_gracefully().success());
    assert!(http.stop_gracefully().success());
}

#[test]
fn notifications_of_a_subscription_come_through_the_gateway() {
    let server = actix::start(ANYWHERE, 20);
    let gateway = gateway(server.ws_url(), &[]);
    let mut caller = WsConnection::open(&gateway);
    let subscribed = caller.ask(r#"{"jsonrpc":"2.0","id":"s","method":"slotSubscribe"}"#);
    let subscription = &subscribed["result"];
    assert!(subscription.is_u64(), "{subscribed}");
    let mut last = 0;
    for _ in 0..3 {
        let notification = caller.answer();
        assert_eq!(notification["method"], "slotNotification");
        assert_eq!(&notification["params"]["subscription"], subscription);
        let slot = notification["params"]["result"]["slot"].as_u64().unwrap();
        assert!(slot > last, "{notification}");
        last = slot;
    }
}
