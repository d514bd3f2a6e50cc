//! Campaigns on block stores in small, on real processes: memory and redb as values of an axis, chains that a server's
//! command prepares, and a light request with a heavy one.

use std::fs;

use serde_json::Value;

use crate::bench::{Bench, ended, stderr};
use bench_model::config::ConfigDir;

const FIELDS: &str = "why = \"a test\"\nmax_blocks = 1\nmax_extra_blocks = 0\nseed = 1\nwarmup_ms = 100\n\
    window_ms = 500\ntimeout_ms = 2000\n";

const ENVIRONMENT: &str = "[environment]\ntuning = \"equal\"\naccounts = 5\nslots = 2000\nledger_seed = 1\n\
    max_foreign_cpu = \"100%\"\nmax_steal = \"100%\"\n";

/// A campaign of these axes over actix, whose store on disk notes in the file `prepared` each time that it is prepared.
fn small(axes: &str) -> Option<Bench> {
    let bench = Bench::new(1)?;
    let shipped = &ConfigDir::of_repository().0;
    for name in ["workloads/getBlocks10.toml", "workloads/getBlocks1400.toml"] {
        fs::copy(shipped.join(name), bench.path(name)).unwrap();
    }
    let (prepared, ledger) = (bench.path("prepared"), bench.link("ledger"));
    let script = format!("echo \"$3\" >> {} && exec {} \"$@\"", prepared.display(), ledger.display());
    let variants = format!(
        "[[variant]]\naxis = \"store\"\nusual = \"memory\"\nvalue = \"redb\"\nof = [\"actix\"]\nwords = \"redb\"\n\
         args = [\"--listen\", \"{{listen}}\", \"--metrics\", \"127.0.0.1:0\", \"--ledger\", \"{{ledger_dir}}\", \
         \"--blocks\", \"redb\"]\n\
         prepare = [\"sh\", \"-c\", {script:?}, \"prepare\", \"{{ledger_dir}}\", \"--slots\", \"{{slots}}\", \
         \"--accounts\", \"{{accounts}}\", \"--seed\", \"{{seed}}\"]\n\
         [[variant]]\naxis = \"blocks_on\"\nusual = \"worker\"\nvalue = \"one-thread\"\nof = [\"actix\"]\nwords \
         = \"one thread\"\nmore_args = [\"--blocks-on\", \"one-thread\"]\n"
    );
    let servers = fs::read_to_string(bench.path("servers.toml")).unwrap();
    bench.write("servers.toml", &(servers + &variants));
    bench.write("campaigns/small.toml", &format!("{FIELDS}{axes}{ENVIRONMENT}"));
    Some(bench)
}

/// Runs the campaign in the test's own folder: what is prepared lies there.
fn run(bench: &Bench) -> std::process::Output {
    let mut command = bench.command(&["run", "small"]);
    ended(command.current_dir(bench.dir.path()))
}

/// What the servers said of themselves when they were ready.
fn ready(bench: &Bench) -> Value {
    let text = fs::read_to_string(bench.folder().join("environment.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["servers"].take()
}

const STORES: &str = "[axes]\nserver = [\"actix\"]\nworkload = [\"getBlocks10\", \"getBlocks1400\"]\n\
    connections = [2]\nstore = [\"memory\", \"redb\"]\nslots = [500, 2000]\n[[except]]\nworkload \
    = \"getBlocks1400\"\nslots = 500\n\
    [[view]]\ntitle = \"What each store costs\"\nfigure = \"cpu_us_per_request\"\nx = \"slots\"\nseries = \"store\"\n\
    over = { store = \"memory\" }\n";

#[test]
fn each_store_is_measured_over_each_chain_and_resumed() {
    let Some(bench) = small(STORES) else { return };
    let output = run(&bench);
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

const NEIGHBOUR: &str = "connections = []\n[axes]\nserver = [\"actix\"]\nworkload = [\"getBalance\"]\nrate = [50]\n\
    store = [\"memory\", \"redb\"]\nblocks_on = [\"worker\", \"one-thread\"]\n[open]\nconnections = 8\ntools \
    = [\"rpc-load\"]\n[open.background]\nworkload = \"getBlocks1400\"\nconnections = 2\nalways = true\n";

#[test]
fn a_light_request_is_measured_with_a_heavy_one_on_each_store_and_thread() {
    let Some(bench) = small(NEIGHBOUR) else { return };
    let output = run(&bench);
    assert!(output.status.success(), "{}", stderr(&output));
    let observations = bench.observations();
    assert_eq!(observations.len(), 4);
    for observation in observations {
        assert_eq!(observation["outcome"]["kind"], "completed", "{observation}");
        assert!(observation["outcome"]["background"].is_object(), "{observation}");
    }
    let ready = ready(&bench);
    assert_eq!(ready["actix-blocks-on-one-thread-store-redb"]["blocks_on"], "one-thread", "{ready}");
}

#[test]
fn what_stands_in_the_way_is_one_line() {
    let Some(bench) = small(STORES) else { return };
    let refused = |expected: &str| {
        let output = run(&bench);
        let said = stderr(&output);
        assert!(!output.status.success() && said.contains(expected), "{said}");
        assert!(!bench.path("results").exists(), "nothing was begun");
    };
    bench.replace("campaigns/small.toml", "server = [\"actix\"]", "server = [\"control\"]");
    refused("server \"control\" has no variant on this axis");
    bench.replace("campaigns/small.toml", "server = [\"control\"]", "server = [\"actix\"]");
    bench.replace("servers.toml", "&& exec", "&& false");
    refused("server actix-slots-500-store-redb: its preparation failed (");
    bench.replace("servers.toml", "\"{seed}\"]", "\"{sed}\"]");
    refused("field prepare: unknown placeholder {sed}");
}
