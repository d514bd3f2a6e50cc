//! The fast way of reading parameters against the node's own: text that is handed over as it came has to be answered as
//! the values that it holds. The first byte chooses the method; the rest is the text.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use validator_state::{Answer, Ledger, Method, Params, RpcError, SeededSpec, State};

fn state() -> &'static State {
    static STATE: OnceLock<State> = OnceLock::new();
    STATE.get_or_init(|| State::new(Ledger::seeded(&SeededSpec { accounts: 16, slots: 600, seed: 1 })))
}

fn as_json(answer: Result<Answer, RpcError>) -> Result<Value, Value> {
    let json = |value: Result<Value, _>| value.expect("answers and errors are JSON");
    answer.map(|answer| json(serde_json::to_value(answer))).map_err(|error| json(serde_json::to_value(error)))
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let method = Method::ALL[usize::from(*choice) % Method::ALL.len()];
    let raw = as_json(state().call(method, Params::Raw(text)));
    let parsed = match serde_json::from_str::<Value>(text) {
        Ok(Value::Null) => as_json(state().call(method, Params::None)),
        Ok(Value::Array(values)) => as_json(state().call(method, Params::Array(values))),
        Ok(Value::Object(map)) => as_json(state().call(method, Params::Map(map))),
        // A framework hands over neither.
        Ok(_) | Err(_) => return assert!(raw.is_err(), "{method} took {text}"),
    };
    assert_eq!(raw, parsed, "{method} {text}");
});
