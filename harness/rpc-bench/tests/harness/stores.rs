//! Campaigns on block stores in small, on real processes: memory and redb as values of an axis, chains that a server's
//! command prepares, and a light request with a heavy one.

use std::fs;

use bench_core::load::Load;
use bench_core::load::records::{self, kept};
use serde_json::Value;

use crate::bench::{Bench, ended, stderr};

/// Campaigns over actix, whose store on disk notes in the file `prepared` each time that it is prepared.
fn small() -> Option<Bench> {
    let bench = Bench::of("stores", &[])?;
    ["getBlocks10", "getBlocks1400"].iter().for_each(|name| bench.add_workload(name));
    bench.link("ledger");
    let [servers, variants] =
        ["servers.toml", "variants.toml"].map(|file| fs::read_to_string(bench.path(file)).unwrap());
    bench.write("servers.toml", &(servers + &variants));
    Some(bench)
}

/// Runs a campaign in the test's own folder: what is prepared lies there.
fn run(bench: &Bench, campaign: &str) -> std::process::Output {
    let mut command = bench.command(&["run", campaign]);
    ended(command.current_dir(bench.dir.path()))
}

/// What the servers said of themselves when they were ready.
fn ready(bench: &Bench) -> Value {
    let text = fs::read_to_string(bench.folder().join("environment.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["servers"].take()
}

#[test]
fn each_store_is_measured_over_each_chain_and_resumed() {
    let Some(bench) = small() else { return };
    let output = run(&bench, "stores");
    assert!(output.status.success(), "{}", stderr(&output));
    bench.nothing_is_left_running();
    let observations = bench.observations();
    // The shorter chain has no 1,400 slots.
    assert_eq!(observations.len(), 6);
    assert!(observations.iter().all(|one| one["outcome"]["kind"] == "completed"), "{observations:?}");
    let prepared = || fs::read_to_string(bench.path("prepared")).unwrap();
    assert_eq!(prepared(), "500\n2000\n", "each chain once");
    let ready = ready(&bench);
    for store in ["memory", "redb"] {
        assert_eq!(ready[format!("actix-slots-2000-store-{store}")]["blocks"], store, "{ready}");
    }
    let report = bench.report();
    let row = report.lines().find(|line| line.starts_with("| getBlocks1400") && line.contains("| redb "));
    let row = row.unwrap_or_else(|| panic!("{report}"));
    assert!(row.contains("chain of 2,000 slots") && !row.contains("| - "), "{row}");
    bench.succeeds(&["check"]);

    bench.resume_without_the_last_in("", |command| {
        command.current_dir(bench.dir.path());
    });
    assert_eq!(bench.observations().len(), 6);
    bench.packs();
}

#[test]
fn a_light_request_is_measured_with_a_heavy_one_on_each_store_and_thread() {
    let Some(bench) = small() else { return };
    let output = run(&bench, "neighbour");
    assert!(output.status.success(), "{}", stderr(&output));
    let observations = bench.observations();
    assert_eq!(observations.len(), 4);
    for observation in observations {
        assert_eq!(observation["outcome"]["kind"], "completed", "{observation}");
        assert!(observation["outcome"]["background"].is_object(), "{observation}");
        is_kept(&bench, &observation);
    }
    let ready = ready(&bench);
    assert_eq!(ready["actix-blocks-on-one-thread-store-redb"]["blocks_on"], "one-thread", "{ready}");
}

/// Each request of the window is kept, and gives the window's figures again.
fn is_kept(bench: &Bench, observation: &Value) {
    let number = format!("{:04}-", observation["number"].as_u64().unwrap());
    let is_it = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with(&number) && name.ends_with(".rpc-load.records.csv.gz")
    };
    let files = fs::read_dir(bench.folder().join("tool-output")).unwrap();
    let records = files.map(|entry| entry.unwrap().path()).find(is_it).unwrap();
    let load =
        Load { rate: Some(50), connections: 8, duration_ms: 500, timeout_ms: 2_000, ..Load::default() };
    let sample = records::sample(&kept::read(&records).unwrap(), &load).unwrap();
    let found = &observation["outcome"]["load"];
    assert_eq!(serde_json::to_value(sample.latency_us).unwrap(), found["latency_us"]);
    let open = serde_json::to_value(sample.open).unwrap();
    for field in ["sent", "send_lag_us", "own_lag_us", "from_send_us"] {
        assert_eq!(open[field], found["open"][field], "{field}");
    }
}

#[test]
fn what_stands_in_the_way_is_one_line() {
    let Some(bench) = small() else { return };
    let refused = |expected: &str| {
        let output = run(&bench, "stores");
        let said = stderr(&output);
        assert!(!output.status.success() && said.contains(expected), "{said}");
        assert!(!bench.path("results").exists(), "nothing was begun");
    };
    bench.replace("campaigns/stores.toml", "server = [\"actix\"]", "server = [\"control\"]");
    refused("server \"control\" has no variant on this axis");
    bench.replace("campaigns/stores.toml", "server = [\"control\"]", "server = [\"actix\"]");
    bench.replace("servers.toml", "&& exec", "&& false");
    refused("server actix-slots-500-store-redb: its preparation failed (");
    bench.replace("servers.toml", "\"{seed}\"]", "\"{sed}\"]");
    refused("field prepare: unknown placeholder {sed}");
}
