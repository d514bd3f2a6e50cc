//! The complete examples of docs/ADD-A-SERVER.md: each campaign runs with its own entry. And entries and workloads of a
//! user's own.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use bench_core::machine::on_path;

use crate::bench::{Bench, stderr};

/// Its campaign, shortened, with the configuration outside of the repository, as a user's may be.
#[test]
fn each_example_is_built_and_measured() {
    let root = fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
    for (name, tool) in [("go-server", "go"), ("python-server", "python3")] {
        if on_path(tool).is_none() {
            eprintln!("SKIPPED: examples/{name}: there is no {tool} on the PATH");
            continue;
        }
        let Some(bench) = Bench::new(1) else { return };
        let example = root.join("examples").join(name);
        fs::remove_dir_all(bench.path("workloads")).unwrap();
        symlink(root.join("bench-scripts/workloads"), bench.path("workloads")).unwrap();
        fs::copy(example.join("servers.toml"), bench.path("servers.toml")).unwrap();
        let file = format!("campaigns/{name}.toml");
        let campaign = fs::read_to_string(example.join(&file)).unwrap();
        let campaign =
            campaign.replace("max_blocks = 5", "max_blocks = 1").replace("_ms = 1000", "_ms = 500");
        bench.write(&file, &format!("{campaign}max_foreign_cpu = \"100%\"\nmax_steal = \"100%\"\n"));
        let output = bench.command(&["run", name]).current_dir(&root).output().unwrap();
        let said = stderr(&output);
        assert!(output.status.success(), "{said}");
        let outcomes = bench.outcomes();
        assert!(
            outcomes.len() >= 2 && outcomes.iter().all(|kind| kind == "completed"),
            "{outcomes:?}: {said}"
        );
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
    bench.succeeds(&["run", "tiny"]);
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
    bench.succeeds(&["run", "tiny"]);
    bench.replace("campaigns/tiny.toml", "workloads = [\"getBalance\"]", "workloads = [\"broken\"]");
    let output = bench.run(&["run", "tiny"]);
    let said = stderr(&output);
    assert!(output.status.code() == Some(2) && said.contains("broken.toml:1: field body"), "{said}");
}
