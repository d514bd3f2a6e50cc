//! Do clean calls pass through the framework? What is mended is answered by other code, with the same meaning but with the
//! members in another order: a server that mended everything would pass every other test, and be another server.

use std::path::Path;

use server_kit::testing::{Running, post};

/// How jsonrpsee begins an answer to a call with id 1; the common envelope puts the result before the id.
const BY_THE_FRAMEWORK: &str = r#"{"jsonrpc":"2.0","id":1,"result":"#;

const ACCOUNT: &str = validator_state::SEED_ACCOUNT;

fn start() -> Running {
    let program = Path::new(env!("CARGO_BIN_EXE_server-jsonrpsee"));
    Running::start(program, &["--accounts", "4", "--slots", "100", "--metrics", "127.0.0.1:0"])
}

#[test]
fn clean_calls_are_answered_by_the_framework() {
    let server = start();
    let balance =
        |params: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"getBalance","params":[{params}]}}"#);
    let bodies = [
        // The two requests of the original test, to the letter.
        format!(r#"{{"jsonrpc": "2.0", "id": 1, "method": "getBalance", "params": ["{ACCOUNT}"]}}"#),
        r#"{"jsonrpc": "2.0", "id": 1,"method": "getBlocks","params": [0, 1000000]}"#.to_owned(),
        balance(&format!(r#""{ACCOUNT}",{{"commitment":"confirmed","minContextSlot":5}}"#)),
        r#"{"jsonrpc":"2.0","id":1,"method":"getSlot"}"#.to_owned(),
        " \r\n{\"params\":[],\"method\":\"getHealth\",\"id\":1,\"jsonrpc\":\"2.0\"}\n".to_owned(),
    ];
    let answered = bodies.len() as u64;
    for body in bodies {
        let answer = post(server.addr, &body).body;
        assert!(answer.starts_with(BY_THE_FRAMEWORK), "{body}: {answer}");
    }
    assert_eq!((server.totals().answered, server.totals().errors), (answered, 0));
}

#[test]
fn clean_batches_are_answered_by_the_framework() {
    let call = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"getBlocks","params":[0,50]}}"#);
    let answer = post(start().addr, &format!("[{}, {}]", call("1"), call("\"b\""))).body;
    assert!(answer.starts_with(&format!("[{BY_THE_FRAMEWORK}")), "{answer}");
    assert!(answer.contains(r#"{"jsonrpc":"2.0","id":"b","result":"#), "{answer}");
}

#[test]
fn an_id_of_text_is_clean() {
    let answer = post(start().addr, r#"{"jsonrpc":"2.0","id":"abc [","method":"getHealth"}"#).body;
    assert_eq!(
        answer, r#"{"jsonrpc":"2.0","result":"ok","id":"abc ["}"#,
        "a bracket is left to the general way"
    );
    let answer = post(start().addr, r#"{"jsonrpc":"2.0","id":"abc","method":"getHealth"}"#).body;
    assert_eq!(answer, r#"{"jsonrpc":"2.0","id":"abc","result":"ok"}"#);
}
