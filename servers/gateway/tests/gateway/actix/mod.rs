//! server-actix, which the test builds, and calls whose answers differ.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use server_kit::testing::{PATIENCE, Running, post};
use validator_state::SeededSpec;

const LEDGER: SeededSpec = SeededSpec { accounts: 1_000, slots: 50, seed: 1 };

/// Builds server-actix in the folder and the profile of this test, as `cargo test --workspace` has built it: of its package alone cargo
/// would take fewer features, and so build most crates below it once more. The example is for the features that tests add.
fn program() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    // A test is TARGET/PROFILE/deps/NAME-HASH.
    let folder = own.ancestors().nth(2).unwrap();
    let profile = if folder.ends_with("release") { "release" } else { "dev" };
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--workspace", "--bin", "server-actix", "--example", "minimal-actix"]);
    build.args(["--profile", profile, "--target-dir"]);
    assert!(build.arg(folder.parent().unwrap()).status().unwrap().success(), "{build:?} failed");
    folder.join("server-actix")
}

/// Starts server-actix on an address, with new slots that often.
pub fn start(listen: &str, slot_interval_ms: u32) -> Running {
    let SeededSpec { accounts, slots, seed } = LEDGER;
    let [accounts, slots, seed] = [accounts as u64, slots, seed].map(|number| number.to_string());
    let interval = slot_interval_ms.to_string();
    let ledger = ["--accounts", &accounts, "--slots", &slots, "--seed", &seed];
    let args = [&ledger[..], &["--slot-interval-ms", &interval, "--listen", listen]].concat();
    Running::start(&program(), &args)
}

/// Starts a gateway in front of it.
pub fn gateway(upstream: &str, options: &[&str]) -> Running {
    let program = Path::new(env!("CARGO_BIN_EXE_server-gateway"));
    Running::start(program, &[&["--upstream", upstream], options].concat())
}

/// A call for the balance of each account of the ledger, with this id.
pub fn balances() -> impl Iterator<Item = impl Fn(&Value) -> String> {
    LEDGER.pubkeys().map(|address| {
        let params = json!([address.to_string()]);
        move |id: &Value| {
            json!({"jsonrpc": "2.0", "id": id, "method": "getBalance", "params": params}).to_string()
        }
    })
}

/// Calls the gateway until it reaches the server.
pub fn wait_for_answers(gateway: &Running) {
    let deadline = Instant::now() + PATIENCE;
    while post(gateway.addr, r#"{"jsonrpc":"2.0","id":1,"method":"getHealth"}"#).status != 200 {
        assert!(Instant::now() < deadline, "the gateway does not reach the server");
        thread::sleep(Duration::from_millis(20));
    }
}
