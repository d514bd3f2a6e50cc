//! The complete examples of docs/ADD-A-SERVER.md: each server answers what a real node was recorded to answer, as far
//! as it claims methods, and its campaign runs with its own entry.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bench_measure::client::Connection;
use bench_measure::subject::{Subject, build_in};
use bench_model::config::{ConfigDir, Environment, Server, Tuning};
use bench_system::interrupt::Interrupt;
use bench_system::probe::host::on_path;
use serde_json::Value;
use validator_state::SeededSpec;

use crate::bench::{Bench, stderr};

/// The methods that both examples have.
const CLAIMED: [&str; 2] = ["getBalance", "getHealth"];

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

/// The entry of an example, built; `None` with a message where its tool is missing.
fn example(name: &str, tool: &str) -> Option<Server> {
    if on_path(tool).is_none() {
        eprintln!("SKIPPED: examples/{name}: there is no {tool} on the PATH");
        return None;
    }
    let entry = ConfigDir(root().join("examples").join(name)).server(name).unwrap();
    build_in(&root(), std::slice::from_ref(&entry)).unwrap();
    Some(entry)
}

/// The entry as it is started from any folder.
fn from_anywhere(entry: &Server) -> Server {
    let absolute = |text: &String| match text.contains('/') && root().join(text).exists() {
        true => root().join(text).display().to_string(),
        false => text.clone(),
    };
    Server {
        program: absolute(&entry.program),
        args: entry.args.iter().map(absolute).collect(),
        ..entry.clone()
    }
}

/// An answer without the slot in whose context it holds, which was the recording's.
fn without_slot(mut answer: Value) -> Value {
    if let Some(context) = answer.pointer_mut("/result/context") {
        context["slot"].take();
    }
    answer
}

fn answers_what_was_recorded(entry: &Server) {
    let oracle = root().join("servers/conformance/oracle");
    let args = entry.arguments_over(oracle.join("ledger").to_str().unwrap());
    let server = from_anywhere(&Server { args, ..entry.clone() });
    let said = tempfile::NamedTempFile::new().unwrap();
    let environment = Environment::plain(Tuning::Equal, SeededSpec::default());
    let interrupt = Interrupt::install().unwrap();
    let subject = Subject::start(&server, &environment, "", said.path(), &interrupt).unwrap();
    let mut connection = Connection::new(&subject.target, Duration::from_secs(30)).unwrap();
    let recorded = fs::read_to_string(oracle.join("agave-2.3.13.jsonl")).unwrap();
    let mut compared = 0;
    for row in recorded.lines().map(|row| serde_json::from_str::<Value>(row).unwrap()) {
        let Some(body) = row["body"].as_str() else { continue };
        let Ok(call) = serde_json::from_str::<Value>(body) else { continue };
        let answer: Value = serde_json::from_str(row["response"].as_str().unwrap()).unwrap_or_default();
        let is_claimed = CLAIMED.iter().any(|method| call["method"] == *method);
        if is_claimed && row["path"] == "/" && !answer["result"].is_null() {
            let own = connection.request(body).unwrap().json().unwrap();
            assert_eq!(without_slot(own), without_slot(answer), "{body}");
            compared += 1;
        }
    }
    assert!(compared > 150, "{compared} of the recordings");
    let unknown =
        connection.request(r#"{"jsonrpc":"2.0","id":7,"method":"getNothing"}"#).unwrap().json().unwrap();
    assert_eq!((&unknown["error"]["code"], &unknown["id"]), (&Value::from(-32_601), &Value::from(7)));
    drop(connection);
    subject.process.stop(&interrupt).unwrap();
}

/// Its campaign, shortened, with the configuration outside of the repository, as a user's may be.
fn runs_its_campaign(name: &str) {
    let Some(bench) = Bench::new(1) else { return };
    let example = root().join("examples").join(name);
    fs::remove_dir_all(bench.path("workloads")).unwrap();
    symlink(root().join("bench-scripts/workloads"), bench.path("workloads")).unwrap();
    fs::copy(example.join("servers.toml"), bench.path("servers.toml")).unwrap();
    let campaign = fs::read_to_string(example.join(format!("campaigns/{name}.toml"))).unwrap();
    let campaign =
        campaign.replace("max_blocks = 5", "max_blocks = 1").replace("window_ms = 1000", "window_ms = 500");
    bench.write(
        &format!("campaigns/{name}.toml"),
        &format!("{campaign}max_foreign_cpu = \"100%\"\nmax_steal = \"100%\"\n"),
    );
    let output = bench.command(&["run", name]).current_dir(root()).output().unwrap();
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    let outcomes = bench.outcomes();
    assert!(outcomes.len() >= 2 && outcomes.iter().all(|kind| kind == "completed"), "{outcomes:?}: {said}");
}

#[test]
fn each_example_answers_and_is_measured() {
    for (name, tool) in [("go-server", "go"), ("python-server", "python3")] {
        let Some(entry) = example(name, tool) else { continue };
        answers_what_was_recorded(&entry);
        runs_its_campaign(name);
    }
}

/// A server of any API: its workload states the answer, and the ceiling gives that.
#[test]
fn the_ceiling_gives_the_answer_that_a_workload_states() {
    let Some(bench) = Bench::new(1) else { return };
    bench.replace("servers.toml", "\"--answer-to\", \"{request}\"", "\"--answer-file={answer_file}\"");
    bench.write(
        "workloads/own.toml",
        "body = '{\"id\": 1, \"method\": \"getThing\"}'\nexpected = { answer = '{\"id\": 1, \"result\": \"thing\"}' \
         }\nwhy = \"a test\"\n",
    );
    bench.replace("campaigns/tiny.toml", "servers = [\"actix\", \"control\"]", "servers = [\"control\"]");
    bench.replace("campaigns/tiny.toml", "workloads = [\"getBalance\"]", "workloads = [\"own\"]");
    let output = bench.run(&["run", "tiny"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(bench.outcomes(), ["completed"]);
    // The answer of its ledger is another one.
    bench.replace("servers.toml", ", \"--answer-file={answer_file}\"", "");
    let output = bench.run(&["run", "tiny"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
}

/// Who has a workload with a mistake in it can still run campaigns that do without it.
#[test]
fn a_mistake_in_one_workload_stops_only_those_who_use_it() {
    let Some(bench) = Bench::new(1) else { return };
    bench.write("workloads/broken.toml", "body = 7");
    let output = bench.run(&["run", "tiny"]);
    assert!(output.status.success(), "{}", stderr(&output));
    bench.replace("campaigns/tiny.toml", "workloads = [\"getBalance\"]", "workloads = [\"broken\"]");
    let output = bench.run(&["run", "tiny"]);
    let said = stderr(&output);
    assert!(output.status.code() == Some(2) && said.contains("broken.toml:1: field body"), "{said}");
}
