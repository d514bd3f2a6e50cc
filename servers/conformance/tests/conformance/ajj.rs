//! axum-ajj, which is measured and not held to the contract: it differs where docs/CONTRACT.md says so, and nowhere else.

use std::path::Path;
use std::process::Command;

use conformance::judge::Node;
use conformance::servers::Server;
use serde_json::Value;
use server_kit::testing::exchange;

use crate::oracle::{bounded, compare, is_well_formed, request, rows};

/// What docs/CONTRACT.md lists beyond the order of a batch's answers.
const DIFFERENT: [&str; 2] = ["id null", "an id of more than 80 bytes"];

#[test]
#[ignore = "builds a server of a workspace of its own, which takes minutes: just test-ajj"]
fn ajj_differs_where_the_contract_says_so() {
    let running = built().start(&[]);
    let node = Node::load();
    let mut different = Vec::new();
    for mut row in rows() {
        let mut answer = exchange(running.addr, &request(&row));
        let name = row["name"].as_str().unwrap().to_owned();
        if !is_well_formed(&row) {
            assert_eq!(bounded(&node, &row, &answer), Ok(()), "{name}");
            continue;
        }
        row["response"] = by_id(row["response"].as_str().unwrap_or_default()).into();
        answer.body = by_id(&answer.body);
        if let Err(problem) = compare(&row, &answer) {
            let known = match row["body"].as_str().map(serde_json::from_str::<Value>) {
                Some(Ok(call)) if call["id"].is_null() => DIFFERENT[0],
                Some(Ok(call)) if call["id"].to_string().len() > 80 => DIFFERENT[1],
                _ => panic!("{name}: {problem}"),
            };
            different.push(known);
        }
    }
    different.sort_unstable();
    different.dedup();
    assert_eq!(different, [DIFFERENT[1], DIFFERENT[0]], "what the page lists is not so any more");
    let page = include_str!("../../../../docs/CONTRACT.md");
    for case in DIFFERENT {
        assert!(page.contains(&format!("| {case} | ")), "the page lacks {case:?}");
    }
}

/// The answers of a batch in the order of their ids; anything else as it is.
fn by_id(body: &str) -> String {
    let Ok(Value::Array(mut answers)) = serde_json::from_str(body) else { return body.to_owned() };
    answers.sort_by_key(|answer| answer["id"].to_string());
    Value::Array(answers).to_string()
}

/// The server in the profile of the tests, since its own build is another workspace's.
fn built() -> Server {
    let mut server = Server::named("axum-ajj");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = root.join("target/axum-ajj");
    let mut cargo = Command::new("cargo");
    cargo.args([
        "build",
        "--quiet",
        "--locked",
        "--manifest-path",
        "servers/axum-ajj/Cargo.toml",
        "--target-dir",
    ]);
    assert!(cargo.arg(&target).current_dir(&root).status().unwrap().success(), "the build failed");
    server.program = target.join("debug").join(server.program.file_name().unwrap());
    server
}
