//! Nodes as subjects: a program on the PATH with a chain of its own, a server of another version, and one that runs
//! already. Our actix server, started by a script with a node's arguments, stands for the node.

use std::fs;
use std::process::Output;

use serde_json::Value;
use validator_state::{Ledger, SeededSpec};

use crate::bench::{self, Bench, program, stderr};
use crate::started::Started;

/// The ledger of the tests' campaign.
const LEDGER: SeededSpec = SeededSpec { accounts: 50, slots: 50, seed: 1 };

/// The tests' bench, measuring `node` and control, with this entry for `node`.
fn bench(entry: &str) -> Option<Bench> {
    let bench = Bench::of("node", &[])?;
    let servers = fs::read_to_string(bench.path("servers.toml")).unwrap();
    let node = format!("[[server]]\nname = \"node\"\ntitle = \"a node of a test\"\n{entry}\n");
    bench.write("servers.toml", &(servers + &node));
    bench.replace("campaigns/tiny.toml", "servers = [\"actix\"", "servers = [\"node\"");
    fs::create_dir(bench.path("tmp")).unwrap();
    Some(bench)
}

/// The harness with the test's programs on its PATH, and a folder for temporary files of its own.
fn run(bench: &Bench, args: &[&str]) -> Output {
    let path = format!("{}:{}", bench.path("bin").display(), std::env::var("PATH").unwrap());
    bench.command(args).env("PATH", path).env("TMPDIR", bench.path("tmp")).output().unwrap()
}

/// How the trials of a server came out, by kind.
fn outcomes(bench: &Bench, server: &str) -> Vec<Value> {
    let of = |observation: &Value| observation["server"] == server;
    bench.observations().into_iter().filter(of).map(|observation| observation["outcome"].clone()).collect()
}

/// One line on standard error that holds these, exit code 2, and nothing begun.
fn refused(bench: &Bench, output: &Output, holds: &[&str]) {
    assert_eq!(bench::refused(output, holds).lines().count(), 1);
    assert!(!bench.path("results").exists(), "nothing was begun");
}

const ON_PATH: &str = r#"program = "test-node"
args = ["--rpc-port", "{port}", "--ledger", "{folder}", "--account-dir", "{accounts_dir}"]
ready = { call = { request = '{"jsonrpc": "2.0", "id": 1, "method": "getHealth"}', equals = "ok" } }
holds = ["getHealth", "getBalance"]"#;

#[test]
fn a_node_on_the_path_has_our_accounts_and_a_chain_of_its_own() {
    let Some(bench) = bench(ON_PATH) else { return };
    let output = run(&bench, &["run", "tiny"]);
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    let outcomes = outcomes(&bench, "node");
    assert_eq!(outcomes.len(), 1);
    assert_eq!(outcomes[0]["kind"], "completed", "{outcomes:?}");
    assert!(
        said.contains("server node: has no metrics") && !said.contains("server control: has no"),
        "{said}"
    );
    bench.nothing_is_left_running();
    assert_eq!(fs::read_dir(bench.path("tmp")).unwrap().count(), 0, "its files are gone");
}

#[test]
fn what_a_node_lacks_is_said_before_anything_is_begun() {
    let Some(bench) = bench(ON_PATH) else { return };
    let absent = bench.command(&["run", "tiny"]).output().unwrap();
    refused(&bench, &absent, &["server node: there is no test-node on the PATH"]);
    let holds = ["server node: does not answer getBlocks (", "workload getBlocks10", "leave one of them out"];
    bench.add_workload("getBlocks10");
    bench.replace("campaigns/tiny.toml", "[\"getBalance\"]", "[\"getBalance\", \"getBlocks10\"]");
    refused(&bench, &run(&bench, &["run", "tiny"]), &holds);
}

#[test]
fn a_node_of_another_version_is_held_to_that_version() {
    let version = r#"version = { api = "9.9.9", feature_set = 7 }"#;
    for (version, kind) in [(version, "completed"), ("", "wrong_answer")] {
        let ledger = tempfile::tempdir().unwrap();
        Ledger::seeded(&LEDGER).of_version("9.9.9", 7).write(ledger.path()).unwrap();
        let entry = |bench: &Bench| {
            let (program, ledger) = (bench.path("server-actix"), ledger.path());
            format!(
                "program = {program:?}\nargs = [\"--listen\", \"{{listen}}\", \"--ledger\", {ledger:?}]\nready = {{ \
                 line = {{ addr = \"/addr\" }} }}\n{version}"
            )
        };
        let Some(bench) = bench("@entry@") else { return };
        bench.replace("servers.toml", "@entry@", &entry(&bench));
        let output = run(&bench, &["run", "tiny"]);
        assert_eq!(outcomes(&bench, "node")[0]["kind"], kind, "{}", stderr(&output));
    }
}

/// Actix that runs already, with this ledger.
fn started(listen: &str, slots: &str, seed: &str) -> Started {
    let args = ["--listen", listen, "--accounts", "50", "--slots", slots, "--seed", seed];
    Started::new(program("server-actix"), &args)
}

#[test]
fn a_node_that_runs_already_is_measured_and_left_running() {
    let Some(bench) = bench("@entry@") else { return };
    let mut started = started("127.0.0.1:0", "90", "1");
    let url = started.url.clone();
    let entry = format!("ready = {{ running = {{ url = {url:?} }} }}\nholds = [\"getBalance\"]");
    bench.replace("servers.toml", "@entry@", &entry);

    let output = run(&bench, &["run", "tiny"]);
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("server node: runs already; it is not started afresh"), "{said}");
    let completed = outcomes(&bench, "node").remove(0);
    assert_eq!(completed["kind"], "completed");
    assert!(completed["server_cpu"]["user_s"].as_f64().unwrap() > 0.0, "{completed}");
    assert!(started.child.try_wait().unwrap().is_none(), "it was not ended");

    drop(started);
    fs::remove_dir_all(bench.path("results")).unwrap();
    refused(
        &bench,
        &run(&bench, &["run", "tiny"]),
        &["server node: ", "no connection; start the service first"],
    );
    refused(&bench, &run(&bench, &["serve", "node"]), &["server node: runs already, at"]);
}
