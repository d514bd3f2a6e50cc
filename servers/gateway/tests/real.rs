//! The gateway's three paths in front of server-actix, which the test builds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use server_kit::testing::ws_client::WsConnection;
use server_kit::testing::{PATIENCE, Running, post};

const BALANCES: u64 = 50;

/// Builds server-actix in the folder and the profile of this test.
fn server_actix() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    // A test is TARGET/PROFILE/deps/NAME-HASH.
    let folder = own.ancestors().nth(2).unwrap();
    let profile = if folder.ends_with("release") { "release" } else { "dev" };
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--package", "server-actix", "--profile", profile, "--target-dir"]);
    assert!(build.arg(folder.parent().unwrap()).status().unwrap().success(), "{build:?} failed");
    folder.join("server-actix")
}

fn balance(id: &Value, number: u64) -> String {
    // An address is 32 bytes; that many ones in base 58 are as many zeros, and the last digit makes each address another one.
    let digits = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    let address = format!("{}{}", "1".repeat(31), char::from(digits[number as usize]));
    json!({"jsonrpc": "2.0", "id": id, "method": "getBalance", "params": [address]}).to_string()
}

/// Calls the gateway until it reaches the server.
fn wait_for_answers(gateway: &Running) {
    let deadline = Instant::now() + PATIENCE;
    while post(gateway.addr, &balance(&json!(1), 1)).status != 200 {
        assert!(Instant::now() < deadline, "the gateway does not reach the server");
        thread::sleep(Duration::from_millis(20));
    }
}

fn assert_answers_as(direct: &Running, gateway: &Running) {
    wait_for_answers(gateway);
    for number in 0..BALANCES {
        let id = if number.is_multiple_of(2) { json!(number) } else { json!(format!("caller {number}")) };
        let call = balance(&id, number);
        let (expected, got) = (post(direct.addr, &call), post(gateway.addr, &call));
        assert_eq!((got.status, got.json()), (expected.status, expected.json()), "{call}");
    }
    let unknown = r#"{"jsonrpc":"2.0","id":null,"method":"noSuchMethod"}"#;
    assert_eq!(post(gateway.addr, unknown).json(), post(direct.addr, unknown).json());
    let batch = format!("[{},{}]", balance(&json!("a"), 3), balance(&json!(7), 4));
    assert_eq!(post(gateway.addr, &batch).json(), post(direct.addr, &batch).json());
}

#[test]
fn each_path_gives_the_answers_of_the_server() {
    let program = server_actix();
    let server = Running::start(&program, &["--accounts", "100", "--slots", "50", "--slot-interval-ms", "0"]);
    let gateway = |upstream: &str| {
        Running::start(Path::new(env!("CARGO_BIN_EXE_server-gateway")), &["--upstream", upstream])
    };
    let http = gateway(&format!("http://{}/", server.addr));
    assert_answers_as(&server, &http);
    assert_eq!(http.ready["ws"], Value::Null);

    let shared = gateway(server.ready["ws"].as_str().unwrap());
    assert_answers_as(&server, &shared);
    assert_eq!(shared.ready["ws"], format!("ws://{}/", shared.addr));

    let (mut direct, mut through) = (WsConnection::open(&server), WsConnection::open(&shared));
    for number in 0..BALANCES {
        let call = balance(&json!(number), number);
        assert_eq!(through.ask(&call), direct.ask(&call), "{call}");
    }
    // With callers' sockets open, both kinds of connection to the server among them.
    assert!(shared.stop_gracefully().success());
    assert!(http.stop_gracefully().success());
}

#[test]
fn notifications_of_a_subscription_come_through_the_gateway() {
    let server =
        Running::start(&server_actix(), &["--accounts", "10", "--slots", "50", "--slot-interval-ms", "20"]);
    let upstream = server.ready["ws"].as_str().unwrap();
    let gateway = Running::start(Path::new(env!("CARGO_BIN_EXE_server-gateway")), &["--upstream", upstream]);
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
