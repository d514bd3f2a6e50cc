//! Over HTTP: what each client reads from each server is what the ledger says. The contract's corners are not tested, which no
//! client requests.

use std::process::Command;

use conformance::servers::{all, oracle_dir};
use serde_json::{Map, Value, json};
use validator_state::{Ledger, Method, Params, SEED_ACCOUNT, State};

use super::install::{Runtime, SCRIPT_LIMIT, output, skip};

/// An account that is not in the ledger: 32 bytes of 7.
const ABSENT: &str = "US517G5965aydkZ46HS38QLi7UQiSojurfbQfKCELFx";

/// A client library, and how its script is run.
struct Client {
    script: &'static str,
    runtime: Runtime,
    /// The commitment that it requests where its caller names none; `None` leaves that to the server.
    default_commitment: Option<&'static str>,
    /// Reads that it can't make, each with the reason in its script.
    without: &'static [&'static str],
}

const WEB3: Client = Client {
    script: "read-web3.mjs",
    runtime: Runtime::Node,
    default_commitment: None,
    without: &["connected", "error_bad_commitment"],
};
const KIT: Client = Client {
    script: "read-kit.mjs",
    runtime: Runtime::Node,
    default_commitment: Some("confirmed"),
    without: &["connected"],
};
const SOLANA_PY: Client = Client {
    script: "read_solana.py",
    runtime: Runtime::Python,
    default_commitment: None,
    without: &["blocks_confirmed"],
};

#[test]
fn web3_js_reads_the_ledger() {
    read_from_every_server(&WEB3);
}

#[test]
fn kit_reads_the_ledger() {
    read_from_every_server(&KIT);
}

#[test]
fn solana_for_python_reads_the_ledger() {
    read_from_every_server(&SOLANA_PY);
}

fn read_from_every_server(client: &Client) {
    let program = match client.runtime.installed() {
        Ok(program) => program,
        Err(missing) => return skip(client.script, missing),
    };
    let expected = expected(client);
    for server in all() {
        let running = server.start(&[]);
        let mut read = Command::new(program);
        read.arg(client.runtime.dir().join(client.script)).arg(format!("http://{}", running.addr));
        let seen: Value = serde_json::from_str(&output(read, SCRIPT_LIMIT)).expect("the script prints JSON");
        for (name, value) in &expected {
            assert_eq!(seen[name], *value, "{} from {}: {name}", client.script, server.name);
        }
        assert_eq!(seen.as_object().map(Map::len), Some(expected.len()), "{}", client.script);
    }
}

/// What a client has to see: the ledger's own answers, without a server.
fn expected(client: &Client) -> Map<String, Value> {
    let state = State::new(Ledger::load(&oracle_dir().join("ledger")).expect("the ledger loads"));
    let ask = |method: Method, params: &Value| {
        state
            .call(method, Params::Raw(&params.to_string()))
            .map(|answer| serde_json::to_value(answer).unwrap())
    };
    let mut expected = Map::new();
    for (name, method, mut params) in reads() {
        let names_one = params.as_array().unwrap().last().is_some_and(Value::is_object);
        let takes_one = !matches!(method, Method::GetHealth | Method::GetVersion);
        if let (Some(commitment), false, true) = (client.default_commitment, names_one, takes_one) {
            params.as_array_mut().unwrap().push(json!({"commitment": commitment}));
        }
        let value = match ask(method, &params) {
            Ok(answer) => answer,
            Err(error) => serde_json::to_value(error).unwrap()["code"].clone(),
        };
        expected.insert(name.to_owned(), value);
    }
    expected.insert("connected".to_owned(), json!(true));
    expected.retain(|name, _| !client.without.contains(&name.as_str()));
    expected
}

/// Every read of the scripts, under its name there.
fn reads() -> Vec<(&'static str, Method, Value)> {
    let commitment = |name: &str| json!({"commitment": name});
    vec![
        ("balance", Method::GetBalance, json!([SEED_ACCOUNT])),
        ("balance_processed", Method::GetBalance, json!([SEED_ACCOUNT, commitment("processed")])),
        ("balance_confirmed", Method::GetBalance, json!([SEED_ACCOUNT, commitment("confirmed")])),
        ("balance_finalized", Method::GetBalance, json!([SEED_ACCOUNT, commitment("finalized")])),
        ("balance_absent", Method::GetBalance, json!([ABSENT])),
        ("blocks_from", Method::GetBlocks, json!([400])),
        ("blocks_range", Method::GetBlocks, json!([5, 10])),
        ("blocks_confirmed", Method::GetBlocks, json!([400, 450, commitment("confirmed")])),
        ("blocks_with_limit", Method::GetBlocksWithLimit, json!([5, 3])),
        ("slot", Method::GetSlot, json!([])),
        ("slot_processed", Method::GetSlot, json!([commitment("processed")])),
        ("slot_confirmed", Method::GetSlot, json!([commitment("confirmed")])),
        ("height", Method::GetBlockHeight, json!([])),
        ("height_confirmed", Method::GetBlockHeight, json!([commitment("confirmed")])),
        ("health", Method::GetHealth, json!([])),
        ("version", Method::GetVersion, json!([])),
        ("error_too_early", Method::GetSlot, json!([{"minContextSlot": 1_000_000}])),
        ("error_bad_commitment", Method::GetBlocks, json!([5, 10, commitment("processed")])),
    ]
}
