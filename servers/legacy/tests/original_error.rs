//! How getBalance failed in the test that this project answers: its optional second parameter was left out, came to be null, and was read
//! into a type that is not optional.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use jsonrpc_core::{ErrorCode, Params};
use serde::Deserialize;
use serde_json::{Value, json};

const ACCOUNT: &str = "4EVAJ81v9fLjz2wp44SZmxgTbvYB8dBRZ6s1SAqP99eZ";

/// As validators name it. `Option<RpcContextConfig>` is what they read; the failing branch must have read this.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RpcContextConfig {
    commitment: Option<String>,
    min_context_slot: Option<u64>,
}

/// What `params: [ACCOUNT]` is to code that fills up what was left out with null.
fn filled_up() -> Params {
    Params::Array(vec![json!(ACCOUNT), Value::Null])
}

#[test]
fn a_missing_required_config_gives_the_original_message() {
    let error = filled_up().parse::<(String, RpcContextConfig)>().unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidParams);
    assert_eq!(error.code.code(), -32602);
    // jsonrpc-core ends it with a full stop; the original answer, of a server that was not built on it, had none.
    assert_eq!(error.message, "Invalid params: invalid type: null, expected struct RpcContextConfig.");
    let own = serde_json::from_value::<RpcContextConfig>(Value::Null).unwrap_err();
    assert_eq!(
        format!("Invalid params: {own}"),
        "Invalid params: invalid type: null, expected struct RpcContextConfig"
    );
}

#[test]
fn an_optional_config_reads_the_same_call() {
    let (account, config) = filled_up().parse::<(String, Option<RpcContextConfig>)>().unwrap();
    assert_eq!((account.as_str(), config), (ACCOUNT, None));
}
