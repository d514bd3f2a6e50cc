//! A campaign on block stores in small, on real processes: memory and redb, two chains, and a light request with a
//! heavy one.

use std::fs;

use serde_json::Value;

use crate::bench::{Bench, stderr};
use bench_model::config::ConfigDir;

fn small() -> Option<Bench> {
    let bench = Bench::new(1)?;
    if !bench.link_vegeta() {
        return None;
    }
    let shipped = &ConfigDir::of_repository().0;
    for name in ["workloads/getBlocks10.toml", "workloads/getBlocks1400.toml"] {
        fs::copy(shipped.join(name), bench.path(name)).unwrap();
    }
    let program = bench.path("server-actix");
    let servers = fs::read_to_string(bench.path("servers.toml")).unwrap();
    bench.write(
        "servers.toml",
        &servers.replacen("ready", &format!("stores = {{ program = {program:?} }}\nready"), 1),
    );
    let (ledgers, ledger) = (bench.path("ledgers"), bench.link("ledger"));
    bench.write(
        "campaigns/small.toml",
        &format!(
            "why = \"a test\"\nservers = [\"actix\"]\nworkloads = [\"getBlocks10\", \"getBlocks1400\"]\nconnections = \
             []\nmax_blocks = 1\n\
             max_extra_blocks = 0\nseed = 1\nwarmup_ms = 100\nwindow_ms = 500\ntimeout_ms = 2000\n\
             [environment]\ntuning = \"equal\"\naccounts = 5\nslots = 2000\nledger_seed = 1\nmax_foreign_cpu \
             = \"100%\"\nmax_steal = \"100%\"\n\
             [stores]\nblocks = [\"memory\", \"redb\"]\nslots = [500, 2000]\nconnections = 2\nledgers = {ledgers:?}\n\
             ledger = {{ program = {ledger:?} }}\n\
             [stores.neighbour]\nworkload = \"getBalance\"\nrate = 50\nconnections = 8\nbeside \
             = \"getBlocks10\"\nbeside_connections = 2\nblocks_on = [\"worker\", \"one-thread\"]\n"
        ),
    );
    Some(bench)
}

/// The observations of a folder inside the run's.
const FOLDERS: [(&str, usize); 4] =
    [("stores-500", 2), ("stores-500-neighbour", 4), ("stores-2000", 4), ("stores-2000-neighbour", 4)];

#[test]
fn each_store_is_measured_over_each_chain_and_resumed() {
    let Some(bench) = small() else { return };
    let output = bench.run(&["run", "small"]);
    assert!(output.status.success(), "{}", stderr(&output));
    bench.nothing_is_left_running();
    for (folder, trials) in FOLDERS {
        let observations = bench.observations_in(folder);
        assert_eq!(observations.len(), trials, "{folder}");
        for observation in observations {
            assert_eq!(observation["outcome"]["kind"], "completed", "{observation}");
            assert_eq!(observation["outcome"]["background"].is_object(), folder.contains("neighbour"));
        }
    }
    let ready = fs::read_to_string(bench.folder().join("stores-2000/environment.json")).unwrap();
    let ready: Value = serde_json::from_str(&ready).unwrap();
    for blocks in ["memory", "redb"] {
        assert_eq!(ready["servers"][format!("actix-{blocks}")]["blocks"], blocks, "{ready}");
    }
    let ready = fs::read_to_string(bench.folder().join("stores-2000-neighbour/environment.json")).unwrap();
    assert!(ready.contains("\"blocks_on\": \"one-thread\""), "{ready}");
    let report = bench.report();
    for part in [
        "## Block stores",
        "### CPU time per request",
        "### What reading a root costs",
        "### getBalance meanwhile",
    ] {
        assert!(report.contains(part), "{report}");
    }
    assert!(report.contains("getBlocks1400") && !report.contains("not measured"), "{report}");
    assert!(bench.run(&["check"]).status.success());

    bench.resume_without_the_last_in("stores-2000-neighbour", |_| ());
    assert_eq!(bench.observations_in("stores-2000-neighbour").len(), 4);
    bench.packs();
}

#[test]
fn what_stands_in_the_way_is_one_line() {
    let Some(bench) = small() else { return };
    let failure = |from: &str, to: &str, expected: &str| {
        let campaign = fs::read_to_string(bench.path("campaigns/small.toml")).unwrap();
        assert!(campaign.contains(from), "{from}");
        bench.write("campaigns/bad.toml", &campaign.replacen(from, to, 1));
        let output = bench.run(&["run", "bad"]);
        let said = stderr(&output);
        assert!(!output.status.success() && said.contains(expected), "{said}");
    };
    failure("servers = [\"actix\"]", "servers = [\"control\"]", "server control: has no build");
    failure("beside = \"getBlocks10\"", "beside = \"getBlocks1400\"", "needs 1500 slots");
    let occupied = bench.path("ledgers");
    bench.write("ledgers", "a file where the folders would be");
    failure("seed = 1", "seed = 2", occupied.to_str().unwrap());
}
