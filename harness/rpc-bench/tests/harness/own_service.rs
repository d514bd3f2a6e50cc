//! A service that is no Solana node: names, a token and answers of its own. It is measured with its mix, its recorded
//! calls and its truth, by files alone; and one call of it with no file at all.

mod prices;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::Ordering;

use serde_json::json;

use crate::bench::{ANY_LOAD, Bench, refused, stderr};
pub(super) use prices::{LATE, Service, TOKEN};

/// A bench whose `tiny` measures the service with this workload: at a rate, or over connections.
pub(super) fn bench(service: &Service, workload: &str, load: &str) -> Option<Bench> {
    let bench = Bench::of("prices", &[("URL", &service.url), ("LOAD", load)])?;
    bench.write("workloads/own.toml", workload);
    Some(bench)
}

pub(super) const AT_A_RATE: &str =
    "connections = []\nopen = { rates = [100], connections = 4, tools = [\"rpc-load\"] }";
const CLOSED: &str = "connections = [4]";

/// A mix whose parameters are drawn, and whose answers move.
const MIX: &str = include_str!("setups/workloads/mix.toml");

pub(super) fn run(bench: &Bench, args: &[&str]) -> Output {
    let mut command = bench.command(args);
    command.env("OWN_TOKEN", TOKEN).output().unwrap()
}

pub(super) fn succeeds(bench: &Bench, args: &[&str]) {
    let output = run(bench, args);
    assert!(output.status.success(), "{}", stderr(&output));
}

/// That no file below a folder holds one of these texts, and how many files there are.
pub(super) fn holds_none_of(folder: &Path, secrets: &[&str]) -> usize {
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files += holds_none_of(&path, secrets);
            continue;
        }
        let text = fs::read(&path).unwrap();
        for secret in secrets {
            let found = text.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert!(!found, "{} holds {secret}", path.display());
        }
        files += 1;
    }
    files
}

/// Calls as they were recorded, and as a person adds to them.
const RECORDED: &str = include_str!("setups/prices/workloads/calls.jsonl");

pub(super) fn corpus(order: &str) -> String {
    format!(
        "why = \"a test\"\nrequests = \"calls.jsonl\"\norder = \"{order}\"\nexpected = {{ rises = \"/result\" }}\n"
    )
}

#[test]
fn a_mix_and_recorded_calls_are_measured_at_a_rate_and_in_a_closed_loop() {
    for (workload, load) in
        [(MIX.to_owned(), CLOSED), (corpus("drawn"), AT_A_RATE), (corpus("file"), AT_A_RATE)]
    {
        let service = Service::start();
        let Some(bench) = bench(&service, &workload, load) else { return };
        succeeds(&bench, &["run", "tiny"]);
        assert_eq!(bench.outcomes(), ["completed"]);
        let sample = &bench.observations()[0]["outcome"];
        assert!(sample["load"]["succeeded"].as_u64().unwrap() >= 50, "{sample}");
        assert!(sample["answer_bytes"].as_u64().unwrap() > 20, "{sample}");
        assert!(holds_none_of(&bench.path("results"), &[TOKEN]) > 5);
        let plan = fs::read_to_string(bench.folder().join("plan.json")).unwrap();
        assert!(plan.contains("Bearer ${OWN_TOKEN}"), "{plan}");
    }
}

#[test]
fn a_key_in_the_url_is_filled_in_and_never_kept() {
    let service = Service::start();
    for (path, code) in [("/rpc/${OWN_TOKEN}", 0), ("/no-rpc/${OWN_TOKEN}", 1)] {
        let Some(bench) = bench(&service, MIX, AT_A_RATE) else { return };
        let entry = fs::read_to_string(bench.path("servers.toml")).unwrap();
        let (entry, _) = entry.split_once("headers").unwrap();
        bench.write("servers.toml", &entry.replace("/rpc", path));
        let output = run(&bench, &["run", "tiny"]);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(!stderr(&output).contains(TOKEN), "{}", stderr(&output));
        if code == 0 {
            assert_eq!(bench.outcomes(), ["completed"]);
            assert!(fs::read_to_string(bench.folder().join("plan.json")).unwrap().contains(path));
        }
        if bench.path("results").exists() {
            holds_none_of(&bench.path("results"), &[TOKEN]);
        }
    }
    let Some(bench) = bench(&service, MIX, AT_A_RATE) else { return };
    bench.replace("servers.toml", "/rpc", "/rpc/${OWN_TOKEN}");
    let without = bench.command(&["run", "tiny"]).env_remove("OWN_TOKEN").output().unwrap();
    refused(&without, &["the environment has no OWN_TOKEN; set it"]);
}

#[test]
fn a_wrong_answer_and_one_that_falls_are_found_though_the_first_answers_are_right() {
    for (lies, named) in [(true, "instead of"), (false, "must not fall")] {
        let service = Service::start();
        let Some(bench) = bench(&service, &corpus("drawn"), AT_A_RATE) else { return };
        let planted = if lies { &service.lies } else { &service.falls };
        planted.store(true, Ordering::SeqCst);
        let output = run(&bench, &["run", "tiny"]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let outcome = bench.observations()[0]["outcome"].to_string();
        assert!(outcome.contains("wrong") && outcome.contains(named), "{outcome}");
    }
}

/// What a price is, where numbers are of this type.
fn schema(of: &str) -> String {
    json!({ "type": "object", "required": ["price"], "properties": { "price": { "type": of } } }).to_string()
}

#[test]
fn results_fit_a_json_schema_that_the_run_keeps() {
    let mix = MIX.replace(
        "{ result = { price = 3, at = 0 }, ignore = [\"/result/at\"] }",
        "{ schema = \"price.json\" }",
    );
    let recorded = corpus("file").replace("{ rises = \"/result\" }", "{ schema = \"price.json\" }");
    let service = Service::start();
    for (workload, of, code) in [(&mix, "integer", 0), (&recorded, "integer", 0), (&mix, "string", 1)] {
        let Some(bench) = bench(&service, workload, AT_A_RATE) else { return };
        bench.write("workloads/calls.jsonl", r#"{"method":"price.get","params":["a"]}"#);
        bench.write("workloads/price.json", &schema(of));
        let output = run(&bench, &["run", "tiny"]);
        assert_eq!(output.status.code(), Some(code), "{workload}: {}", stderr(&output));
        let plan = fs::read_to_string(bench.folder().join("plan.json")).unwrap();
        assert!(plan.contains("\"required\""), "{plan}");
        if code == 1 {
            let outcome = bench.observations()[0]["outcome"].to_string();
            assert!(outcome.contains("at /result/price: want string, but got number"), "{outcome}");
        }
        // The report needs no file but those of the run.
        fs::remove_file(bench.path("workloads/price.json")).unwrap();
        succeeds(&bench, &["report", bench.folder().to_str().unwrap()]);
    }
}

#[test]
fn a_run_is_not_resumed_with_a_changed_schema_and_a_malformed_one_begins_nothing() {
    let service = Service::start();
    let mix = MIX.replace("{ rises = \"/result\" }", "{ schema = \"height.json\" }");
    let Some(bench) = bench(&service, &mix, CLOSED) else { return };
    bench.write("workloads/height.json", r#"{ "type": 7 }"#);
    let output = run(&bench, &["run", "tiny"]);
    let said = refused(&output, &["field expected", "height.json: no JSON Schema: at /type"]);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(!bench.path("results").exists(), "nothing was begun");
    bench.write("workloads/height.json", r#"{ "type": "string" }"#);
    succeeds(&bench, &["run", "tiny"]);
    let folder = bench.folder();
    fs::write(folder.join("observations.ndjson"), "").unwrap();
    bench.write("workloads/height.json", "{}");
    let said = stderr(&run(&bench, &["run", "--resume", folder.to_str().unwrap()]));
    assert!(said.contains("height.json: has changed since the run was planned"), "{said}");
}

#[test]
fn the_example_folder_needs_a_url_and_a_method() {
    let service = Service::start();
    let Some(bench) = Bench::new(1) else { return };
    let example = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/any-service"));
    for name in ["servers.toml", "workloads/calls.toml", "campaigns/first.toml"] {
        let text = fs::read_to_string(example.join(name)).unwrap();
        let text = text.replace("http://127.0.0.1:8545/", &service.url).replace("eth_blockNumber", "height");
        let text = text.replace("# headers = ", "headers = ").replace("TOKEN", "OWN_TOKEN");
        let text = text.replace("\nmax_blocks = 6\n", "\nmax_blocks = 1\n");
        let limits = if name.starts_with("campaigns") { ANY_LOAD } else { "" };
        fs::create_dir_all(bench.path("mine").join(name).parent().unwrap()).unwrap();
        bench.write(&format!("mine/{name}"), &format!("{text}\n{limits}"));
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_rpc-bench"));
    let [mine, results] = ["mine", "results"].map(|name| bench.path(name));
    command.arg("--config").arg(mine).arg("--results").arg(results).args(["run", "first"]);
    let output = command.env("OWN_TOKEN", TOKEN).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(bench.outcomes().len(), 3, "one of each rate");
}

#[test]
fn a_missing_token_a_refused_one_and_a_malformed_line_are_named_before_anything_is_begun() {
    let service = Service::start();
    let Some(bench) = bench(&service, &corpus("drawn"), AT_A_RATE) else { return };
    let without = bench.command(&["run", "tiny"]).env_remove("OWN_TOKEN").output().unwrap();
    refused(&without, &["server prices", "header Authorization", "the environment has no OWN_TOKEN"]);
    bench.write("workloads/calls.jsonl", &format!("{RECORDED}{{\"method\":7}}\n"));
    refused(&run(&bench, &["run", "tiny"]), &["own.toml", "field requests", "calls.jsonl:5", "invalid type"]);
    for (bytes, named) in [
        (&b"[{\"id\":1,\"method\":\"height\"}]\n"[..], "not an array of calls (a batch)"),
        (b"{\n \"log\": {}\n}\n", "a JSON object that does not end on its line"),
        (b"GET /\n", "no JSON object"),
        (b"\xff\xfe{\0}\0\n\0", "write it as UTF-8"),
    ] {
        fs::write(bench.path("workloads/calls.jsonl"), bytes).unwrap();
        refused(&run(&bench, &["run", "tiny"]), &["calls.jsonl:1", named]);
    }
    bench.write("workloads/own.toml", MIX);
    bench.replace("workloads/own.toml", "method = \"price.get\"", "method = \"price get\"");
    refused(&run(&bench, &["run", "tiny"]), &["[[request]] 1", "field method"]);
    assert!(!bench.path("results").exists(), "nothing was begun");
    // Whoever is refused answers, and not as it should.
    let mut call = bench.command(&["try", &service.url, "--method", "height", "--seconds", "5"]);
    let output = call.output().unwrap();
    refused(&output, &["does not answer", "HTTP 401"]);
}

#[test]
fn one_call_is_tried_with_no_file_at_all() {
    let service = Service::start();
    let Some(bench) = Bench::new(1) else { return };
    let header = "Authorization: Bearer ${OWN_TOKEN}";
    let call = |more: &[&str]| {
        let fixed = ["try", &service.url, "--method", "height", "--seconds", "5", "--header", header];
        run(&bench, &[&fixed[..], &["--max-foreign-cpu", "100%", "--max-steal", "100%"], more].concat())
    };
    let output = call(&[]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", stderr(&output));
    assert!(said.contains("| height") && said.contains("requests/s"), "{said}");
    assert!(holds_none_of(&bench.path("results"), &[TOKEN]) > 5);
    fs::remove_dir_all(bench.path("results")).unwrap();
    let output = call(&["--rate", "50"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let sample = &bench.observations()[0]["outcome"];
    assert!(sample["load"]["succeeded"].as_u64().unwrap() > 0, "{sample}");
    fs::remove_dir_all(bench.path("results")).unwrap();
    assert_eq!(refused(&call(&["--result", "5"]), &["instead of"]).lines().count(), 1);
    refused(&call(&["--params", "7"]), &["--params"]);
}
