//! Over WebSocket: calls, and a subscription to slots, by clients that know nothing of these servers.

use std::process::Command;

use conformance::servers::{Server, all};
use jsonrpsee_core::client::{ClientT, SubscriptionClientT};
use jsonrpsee_core::rpc_params;
use jsonrpsee_ws_client::WsClientBuilder;
use serde_json::{Value, json};

use super::install::{Runtime, SCRIPT_LIMIT, output, skip};

/// Slots that each client waits for.
const SLOTS: usize = 5;

/// How often the chain advances meanwhile, in milliseconds.
const SLOT_INTERVAL_MS: u64 = 20;

#[test]
fn websockets_for_python_calls_and_subscribes() {
    subscribe_to_every_server("subscribe_websockets.py", Runtime::Python);
}

#[test]
fn web3_js_calls_and_subscribes() {
    subscribe_to_every_server("subscribe-web3.mjs", Runtime::Node);
}

#[test]
fn kit_subscribes() {
    subscribe_to_every_server("subscribe-kit.mjs", Runtime::Node);
}

#[test]
fn jsonrpsees_client_calls_and_subscribes() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for server in all() {
        let running = server.start_advancing(SLOT_INTERVAL_MS);
        let seen = runtime.block_on(async {
            let client = WsClientBuilder::default().build(running.ws_url()).await.unwrap();
            let mut slots = client
                .subscribe::<Value, _>("slotSubscribe", rpc_params![], "slotUnsubscribe")
                .await
                .unwrap();
            let mut seen = Vec::new();
            while seen.len() < SLOTS {
                seen.push(slots.next().await.unwrap().unwrap());
            }
            slots.unsubscribe().await.unwrap();
            let health: Value = client.request("getHealth", rpc_params![]).await.unwrap();
            let blocks: Value = client.request("getBlocks", rpc_params![5, 10]).await.unwrap();
            json!({"health": health, "blocks": blocks, "slots": seen, "ended": true})
        });
        assert_seen(server, "jsonrpsee", &seen);
    }
}

fn subscribe_to_every_server(script: &str, runtime: Runtime) {
    let program = match runtime.installed() {
        Ok(program) => program,
        Err(missing) => return skip(script, missing),
    };
    for server in all() {
        let running = server.start_advancing(SLOT_INTERVAL_MS);
        let mut subscribe = Command::new(program);
        subscribe.arg(runtime.dir().join(script));
        subscribe.args([&format!("http://{}", running.addr), running.ws_url()]);
        let seen = serde_json::from_str(&output(subscribe, SCRIPT_LIMIT)).expect("the script prints JSON");
        assert_seen(server, script, &seen);
    }
}

/// What a client has to have seen: the answers of the recordings' ledger, and slots each of which follows the one before.
fn assert_seen(server: &Server, client: &str, seen: &Value) {
    let name = &server.name;
    assert_eq!((&seen["health"], &seen["ended"]), (&json!("ok"), &json!(true)), "{client} from {name}");
    assert_eq!(seen["blocks"], json!([5, 6, 7, 8, 9, 10]), "{client} from {name}");
    let slots = seen["slots"].as_array().unwrap();
    assert_eq!(slots.len(), SLOTS, "{client} from {name}");
    for pair in slots.windows(2) {
        assert_eq!(pair[1]["parent"], pair[0]["slot"], "{client} from {name}: {slots:?}");
        assert!(pair[1]["root"].as_u64() < pair[1]["slot"].as_u64(), "{client} from {name}: {slots:?}");
    }
}
