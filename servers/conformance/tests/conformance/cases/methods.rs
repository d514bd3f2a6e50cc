//! The methods: valid calls, and every parameter error.

use serde_json::{Value, json};
use validator_state::{Ledger, Method, Params, SEED_ACCOUNT, SeededSpec, State};

use super::{Case, Want, call, error, result};

const ABSENT: &str = "9B5XszUGdMaxCZ7uSQhPzdks5ZQSmWxrmzCSvtJ6Ns6g";

/// The newest slots of the recordings' ledger.
const FINALIZED: u64 = 424;
const CONFIRMED: u64 = 454;
const PROCESSED: u64 = 455;

pub fn cases() -> Vec<Case> {
    [valid(), balance_errors(), blocks(), blocks_errors(), others()].into_iter().flatten().collect()
}

fn balance(slot: u64, lamports: u64) -> Want {
    result(json!({"context": {"apiVersion": "2.3.13", "slot": slot}, "value": lamports}))
}

fn slots(slots: impl IntoIterator<Item = u64>) -> Want {
    result(slots.into_iter().collect())
}

fn valid() -> Vec<Case> {
    let ask = |name: &str, params: &str, want| {
        let params = params.replace("KEY", SEED_ACCOUNT);
        Case::post(format!("balance/{name}"), call("getBalance", &params), want)
    };
    vec![
        // The two requests of the original test, to the letter.
        Case::post(
            "balance/original",
            format!(r#"{{"jsonrpc": "2.0", "id": 1, "method": "getBalance", "params": ["{SEED_ACCOUNT}"]}}"#),
            balance(FINALIZED, 1),
        ),
        Case::post(
            "blocks/original",
            r#"{"jsonrpc": "2.0", "id": 1,"method": "getBlocks","params": [0, 1000000]}"#,
            slots(0..=FINALIZED),
        ),
        ask("no-config", r#"["KEY"]"#, balance(FINALIZED, 1)),
        ask("null-config", r#"["KEY",null]"#, balance(FINALIZED, 1)),
        ask("empty-config", r#"["KEY",{}]"#, balance(FINALIZED, 1)),
        ask("finalized", r#"["KEY",{"commitment":"finalized"}]"#, balance(FINALIZED, 1)),
        ask("confirmed", r#"["KEY",{"commitment":"confirmed"}]"#, balance(CONFIRMED, 1)),
        ask("processed", r#"["KEY",{"commitment":"processed"}]"#, balance(PROCESSED, 1)),
        ask("unknown-commitment", r#"["KEY",{"commitment":7}]"#, balance(FINALIZED, 1)),
        ask("unknown-key", r#"["KEY",{"encoding":"base58"}]"#, balance(FINALIZED, 1)),
        ask(
            "last-duplicate",
            r#"["KEY",{"commitment":"processed","commitment":"confirmed"}]"#,
            balance(CONFIRMED, 1),
        ),
        ask(
            "min-context-slot",
            r#"["KEY",{"commitment":"confirmed","minContextSlot":454}]"#,
            balance(CONFIRMED, 1),
        ),
        ask("absent", &format!(r#"["{ABSENT}"]"#), balance(FINALIZED, 0)),
    ]
}

fn balance_errors() -> Vec<Case> {
    let not_a_string = |what: &str| format!("Invalid params: invalid type: {what}, expected a string.");
    let bad = |name: &str, params: &str, message: &str| {
        Case::post(
            format!("balance/{name}"),
            call("getBalance", &params.replace("KEY", SEED_ACCOUNT)),
            error(-32602, message),
        )
    };
    vec![
        bad("key/short", r#"["abc"]"#, "Invalid param: WrongSize"),
        bad("key/empty", r#"[""]"#, "Invalid param: WrongSize"),
        bad("key/long", r#"["KEY1"]"#, "Invalid param: WrongSize"),
        bad(
            "key/not-base58",
            r#"["4EVAJ81v9fLjz2wp44SZmxgTbvYB8dBRZ6s1SAqP99e0"]"#,
            "Invalid param: Invalid",
        ),
        bad("key/integer", "[5]", &not_a_string("integer `5`")),
        bad("key/null", "[null]", &not_a_string("null")),
        bad("key/array", "[[]]", &not_a_string("sequence")),
        bad("key/object", "[{}]", &not_a_string("map")),
        bad("none", "[]", "`params` should have at least 1 argument(s)"),
        bad("object", r#"{"pubkey":"KEY"}"#, "`params` should be an array"),
        bad(
            "config/integer",
            r#"["KEY",1]"#,
            "Invalid params: invalid type: integer `1`, expected struct RpcContextConfig.",
        ),
        bad(
            "config/array",
            r#"["KEY",[]]"#,
            "Invalid params: invalid type: sequence, expected struct RpcContextConfig.",
        ),
        bad(
            "min-context-slot/text",
            r#"["KEY",{"minContextSlot":"1"}]"#,
            r#"Invalid params: invalid type: string "1", expected u64."#,
        ),
        Case::post(
            "balance/absent-params",
            r#"{"jsonrpc":"2.0","id":1,"method":"getBalance"}"#,
            error(-32602, "`params` should have at least 1 argument(s)"),
        ),
        Case::post(
            "balance/three",
            call("getBalance", &format!(r#"["{SEED_ACCOUNT}",{{}},{{}}]"#)),
            error_with(-32602, "Invalid parameters: Expected from 1 to 2 parameters.", json!("\"Got: 3\"")),
        ),
        Case::post(
            "balance/min-context-slot/above",
            call("getBalance", &format!(r#"["{SEED_ACCOUNT}",{{"minContextSlot":425}}]"#)),
            min_context_slot(FINALIZED),
        ),
    ]
}

fn blocks() -> Vec<Case> {
    let ask = |name: &str, params: &str, want| {
        Case::post(format!("blocks/{name}"), call("getBlocks", params), want)
    };
    vec![
        ask("some", "[7,12]", slots(7..=12)),
        ask("one", "[7,7]", slots([7])),
        ask("reversed", "[12,7]", slots([])),
        ask("open-end", "[420]", slots(420..=FINALIZED)),
        ask("null-end", "[420,null]", slots(420..=FINALIZED)),
        ask("config-second", r#"[450,{"commitment":"confirmed"}]"#, slots(450..=CONFIRMED)),
        ask("config-third", r#"[420,1000,{"commitment":"finalized"}]"#, slots(420..=FINALIZED)),
        ask("confirmed", r#"[420,1000,{"commitment":"confirmed"}]"#, slots(420..=CONFIRMED)),
        ask("beyond", "[425,1000]", slots([])),
        ask("last-number", "[18446744073709551615,18446744073709551615]", slots([])),
        Case::post("blocks-with-limit/some", call("getBlocksWithLimit", "[7,3]"), slots([7, 8, 9])),
        Case::post("blocks-with-limit/zero", call("getBlocksWithLimit", "[7,0]"), slots([])),
        Case::post("blocks-with-limit/tip", call("getBlocksWithLimit", "[423,500000]"), slots([423, 424])),
    ]
}

fn blocks_errors() -> Vec<Case> {
    let bad = |name: &str, method: &str, params: &str, message: &str| {
        Case::post(format!("{method}/{name}"), call(method, params), error(-32602, message))
    };
    let below_confirmed = "Method does not support commitment below `confirmed`";
    let wrapper = "Invalid params: data did not match any variant of untagged enum RpcBlocksConfigWrapper.";
    vec![
        bad("processed", "getBlocks", r#"[0,5,{"commitment":"processed"}]"#, below_confirmed),
        bad("none", "getBlocks", "[]", "`params` should have at least 1 argument(s)"),
        bad("object", "getBlocks", "{}", "`params` should be an array"),
        bad(
            "start/text",
            "getBlocks",
            r#"["0"]"#,
            r#"Invalid params: invalid type: string "0", expected u64."#,
        ),
        bad(
            "start/negative",
            "getBlocks",
            "[-1]",
            "Invalid params: invalid value: integer `-1`, expected u64.",
        ),
        bad(
            "start/float",
            "getBlocks",
            "[1.5]",
            "Invalid params: invalid type: floating point `1.5`, expected u64.",
        ),
        bad("end/float", "getBlocks", "[0,5.5]", wrapper),
        bad("end/array", "getBlocks", "[0,[]]", wrapper),
        bad("processed", "getBlocksWithLimit", r#"[0,5,{"commitment":"processed"}]"#, below_confirmed),
        bad("too-large", "getBlocksWithLimit", "[0,500001]", "Limit too large; max 500000"),
        bad("one-param", "getBlocksWithLimit", "[0]", "`params` should have at least 2 argument(s)"),
        bad(
            "limit/negative",
            "getBlocksWithLimit",
            "[0,-1]",
            "Invalid params: invalid value: integer `-1`, expected usize.",
        ),
        Case::post(
            "getBlocks/four",
            call("getBlocks", "[0,1,{},{}]"),
            error_with(-32602, "Invalid parameters: Expected from 1 to 3 parameters.", json!("\"Got: 4\"")),
        ),
        Case::post(
            "getBlocks/min-context-slot",
            call("getBlocks", r#"[0,1,{"commitment":"confirmed","minContextSlot":425}]"#),
            min_context_slot(FINALIZED),
        ),
    ]
}

fn others() -> Vec<Case> {
    let none_expected = "Invalid parameters: No parameters were expected";
    vec![
        Case::post("slot/finalized", call("getSlot", "[]"), result(json!(FINALIZED))),
        Case::post(
            "slot/processed",
            call("getSlot", r#"[{"commitment":"processed"}]"#),
            result(json!(PROCESSED)),
        ),
        Case::post(
            "slot/min-context-slot",
            call("getSlot", r#"[{"minContextSlot":425}]"#),
            min_context_slot(FINALIZED),
        ),
        Case::post("height", call("getBlockHeight", "[]"), result(json!(FINALIZED))),
        Case::post("health", call("getHealth", "[]"), result(json!("ok"))),
        Case::post(
            "health/absent-params",
            r#"{"jsonrpc":"2.0","id":1,"method":"getHealth"}"#,
            result(json!("ok")),
        ),
        Case::post(
            "health/one-param",
            call("getHealth", "[1]"),
            error_with(-32602, none_expected, json!("Array([Number(1)])")),
        ),
        Case::post(
            "health/object",
            call("getHealth", "{}"),
            error_with(-32602, none_expected, json!("Map({})")),
        ),
        Case::post(
            "version",
            call("getVersion", "[]"),
            result(json!({"feature-set": 2_142_755_730_u32, "solana-core": "2.3.13"})),
        ),
        Case::post("unknown", call("getBalances", "[]"), error(-32601, "Method not found")),
        Case::post("unknown/case-counts", call("getbalance", "[]"), error(-32601, "Method not found")),
        Case::post("unknown/empty", call("", "[]"), error(-32601, "Method not found")),
    ]
}

/// Over a chain longer than one answer may be.
pub fn large_cases() -> Vec<Case> {
    let state = State::new(Ledger::seeded(&SeededSpec { accounts: 4, slots: 900_000, seed: 1 }));
    let expected = |params: &str| {
        let answer = state.call(Method::GetBlocks, Params::Raw(params)).expect("is a valid call");
        result(serde_json::to_value(answer).expect("slots are JSON"))
    };
    let too_large = || error(-32602, "Slot range too large; max 500000");
    vec![
        Case::post("blocks/most", call("getBlocks", "[0,500000]"), expected("[0,500000]")),
        Case::post("blocks/most-by-open-end", call("getBlocks", "[7]"), expected("[7,500007]")),
        Case::post("blocks/too-many", call("getBlocks", "[0,500001]"), too_large()),
        Case::post("blocks/too-many-original", call("getBlocks", "[0,1000000]"), too_large()),
        Case::post("blocks/skipped", call("getBlocks", "[100,200]"), expected("[100,200]")),
    ]
}

fn min_context_slot(slot: u64) -> Want {
    error_with(-32016, "Minimum context slot has not been reached", json!({"contextSlot": slot}))
}

fn error_with(code: i64, message: &str, data: Value) -> Want {
    Want::Json(json!({
        "jsonrpc": "2.0",
        "error": {"code": code, "message": message, "data": data},
        "id": 1,
    }))
}
