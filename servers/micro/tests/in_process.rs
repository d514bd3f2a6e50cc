//! The program `in-process` as the harness calls it.
#![allow(clippy::unwrap_used, reason = "a test's helpers may fail loudly")]

use std::process::{Command, Output};

use serde_json::Value;

const BALANCE: &str = r#"{"jsonrpc": "2.0", "id": 1, "method": "getBalance", "params": ["4EVAJ81v9fLjz2wp44SZmxgTbvYB8dBRZ6s1SAqP99eZ"]}"#;
const BLOCKS: &str = r#"{"jsonrpc": "2.0", "id": 1,"method": "getBlocks","params": [0, 1000000]}"#;

fn run(args: &[&str]) -> Output {
    let small = ["--accounts", "100", "--slots", "1500", "--seed", "3", "--requests", "300"];
    Command::new(env!("CARGO_BIN_EXE_in-process")).args(small).args(args).output().unwrap()
}

#[test]
fn every_server_has_every_rung_of_both_requests() {
    for server in ["legacy", "jsonrpsee", "actix", "axum", "actix-jsonrpc-core", "axum-jsonrpc-core"] {
        for rung in ["state", "serialise", "dispatch"] {
            for request in [BALANCE, BLOCKS] {
                let args = ["--server", server, "--rung", rung, "--request", request, "--repeats", "2"];
                let output = run(&args);
                let said = String::from_utf8_lossy(&output.stdout).into_owned();
                assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
                let lines: Vec<Value> =
                    said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
                assert_eq!(lines.len(), 2, "{said}");
                for line in lines {
                    assert_eq!((&line["server"], &line["rung"]), (&server.into(), &rung.into()));
                    assert_eq!(line["requests"], 300);
                    let figure = |name: &str| line[name].as_f64().unwrap();
                    assert!(
                        figure("cpu_ns_per_request") > 0.0 && figure("wall_ns_per_request") > 0.0,
                        "{said}"
                    );
                    // Allocations are counted in a build of their own alone.
                    let counted = line.get("allocations_per_request").is_some();
                    assert_eq!(counted, cfg!(feature = "count-allocations"), "{said}");
                }
            }
        }
    }
}

#[test]
fn the_request_may_stand_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("body.json");
    std::fs::write(&path, BALANCE).unwrap();
    let output = run(&["--server", "actix", "--rung", "dispatch", "--request", path.to_str().unwrap()]);
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 5, "{output:?}");
}

#[test]
fn what_cannot_be_measured_is_refused_in_one_line() {
    let error = r#"{"jsonrpc":"2.0","id":1,"method":"getBalance","params":["x"]}"#;
    let cases = [
        (vec!["--rung", "state", "--request", BALANCE], "--server"),
        (vec!["--server", "nginx", "--rung", "state", "--request", BALANCE], "nginx"),
        (vec!["--server", "actix", "--rung", "roof", "--request", BALANCE], "roof"),
        (vec!["--server", "actix", "--rung", "state", "--request", "no-such-file"], "no-such-file"),
        (vec!["--server", "actix", "--rung", "state", "--request", "[]"], "not one JSON-RPC call"),
        (vec!["--server", "actix", "--rung", "state", "--request", error], "-32602"),
        (vec!["--server", "actix", "--rung", "dispatch", "--request", error], "-32602"),
        (vec!["--server", "actix", "--rung", "state", "--request", BALANCE, "--repeats", "0"], "--repeats"),
    ];
    for (args, expected) in cases {
        let output = run(&args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(
            output.stdout.is_empty() && said.lines().count() == 1 && said.contains(expected),
            "{args:?}: {said}"
        );
    }
}
