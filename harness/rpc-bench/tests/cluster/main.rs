//! Load hosts in network namespaces of their own on this machine: under a real Slurm (slurmctld, a slurmd for each of
//! three hosts, and munge), and with an sshd each, for ssh, ClusterShell and Open MPI (`hosts`).
//!
//! `cargo test --workspace --test cluster -- --ignored --test-threads=1` runs it: it needs root, these programs and minutes, so that no other test does. The server
//! listens on a bridge, so that all load crosses a virtual Ethernet. Daemons, namespaces and folders are this test's
//! own and go with it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

mod hosts;
mod network;
mod slurm;
mod ssh;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use self::slurm::{Cluster, HOSTS};
use bench_model::config::ConfigDir;

/// What is compared with several numbers of hosts: the cost of a long answer, at which no load tool is the limit.
const COMPARED: &str = "why = \"a test\"\nservers = [\"legacy\", \"actix\"]\nbaseline = \"legacy\"\nworkloads = \
    [\"getBlocks\"]\n\
    connections = [12]\ntool = \"rpc-load\"\n";

/// A closed loop against a server that answers at once, so that what hosts can send is the limit.
const LIMITED: &str = "why = \"a test\"\nservers = [\"control\"]\nworkloads = [\"getBalance\"]\nconnections = \
    [12]\ntool = \"rpc-load\"\n\
    comparisons = []\n";

const COMMON: &str = "[environment]\ntuning = \"equal\"\naccounts = 1000\nslots = 500\nledger_seed = \
    1\nmax_foreign_cpu = \"100%\"\nmax_steal = \"100%\"\n";

/// A folder with a configuration of a test's own, whose one campaign is called small.
fn configuration(campaign: &str, window_ms: u32) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let shipped = &ConfigDir::of_repository().0;
    for name in ["workloads", "tools", "servers.toml"] {
        std::os::unix::fs::symlink(shipped.join(name), dir.path().join(name)).unwrap();
    }
    fs::create_dir(dir.path().join("campaigns")).unwrap();
    let text = format!(
        "max_extra_blocks = 0\nseed = 1\nwarmup_ms = 200\nwindow_ms = {window_ms}\ntimeout_ms = \
         2000\n{campaign}{COMMON}"
    );
    fs::write(dir.path().join("campaigns/small.toml"), text).unwrap();
    dir
}

/// A folder with a configuration and results, which the cluster's hosts see.
struct Bench<'a> {
    cluster: &'a Cluster,
    dir: tempfile::TempDir,
    /// From placing hosts to their start, in milliseconds.
    lead_ms: u32,
}

impl<'a> Bench<'a> {
    fn new(cluster: &'a Cluster, campaign: &str, blocks: u32) -> Self {
        let dir = configuration(&format!("max_blocks = {blocks}\n{campaign}"), 2_000);
        Self { cluster, dir, lead_ms: 2_500 }
    }

    /// Runs the campaign on N hosts, each agent started by `wrapper` (a shell script's lines before the agent), and
    /// gives the run's folder.
    fn run(&self, hosts: u32, wrapper: &str) -> (PathBuf, Output) {
        let launch = self.dir.path().join("launch");
        fs::write(&launch, format!("#!/bin/sh\nrank=$SLURM_PROCID\n{wrapper}\nexec \"$@\"\n")).unwrap();
        fs::set_permissions(&launch, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let pool = format!(
            "[slurm]\nhosts = {hosts}\nlisten = \"{}\"\nlead_ms = {}\nlauncher = [\"srun\", \"--overlap\", \
             \"-N{{n}}\", \"--ntasks-per-node=1\", {launch:?}, \"{{agent}}\", \"agent\", \"--plan\", \"{{plan}}\", \
             \"--start-at\", \"{{start_at}}\", \"--out\", \"{{out}}\"]\n",
            self.cluster.server(),
            self.lead_ms
        );
        fs::write(self.dir.path().join("hosts.toml"), pool).unwrap();
        let results =
            self.dir.path().join(format!("results-{}", fs::read_dir(self.dir.path()).unwrap().count()));
        let mut command = self.cluster.command("salloc");
        command.arg(format!("-N{hosts}")).arg(env!("CARGO_BIN_EXE_rpc-bench"));
        command.arg("--config").arg(self.dir.path()).arg("--results").arg(&results);
        command.args(["run", "small", "--hosts", "slurm"]);
        let output =
            command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).output().unwrap();
        let run = fs::read_dir(&results).ok().and_then(|mut runs| Some(runs.next()?.ok()?.path()));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (run.unwrap_or_else(|| panic!("no run: {said}")), output)
    }

    fn measured(&self, hosts: u32) -> Value {
        let (run, output) = self.run(hosts, "");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        serde_json::from_str(&fs::read_to_string(run.join("summary.json")).unwrap()).unwrap()
    }
}

/// The verdict on CPU time per request of the one comparison.
fn verdict(summary: &Value) -> (String, f64) {
    let cpu = &summary["comparisons"][0]["cpu"];
    let ratio = cpu["ratio"]["value"].as_f64().unwrap();
    (cpu["verdict"].as_str().unwrap().to_owned(), ratio)
}

#[test]
#[ignore = "needs root, Slurm and minutes: see docs/HOSTS.md"]
fn a_campaign_under_slurm() {
    let cluster = match Cluster::start() {
        Ok(cluster) => cluster,
        Err(lacks) => {
            eprintln!("SKIPPED: {lacks}");
            return;
        }
    };
    same_verdicts(&cluster);
    faults(&cluster);
}

/// Where the load tool is not the limit, three hosts come to the verdict of one.
fn same_verdicts(cluster: &Cluster) {
    let bench = Bench::new(cluster, COMPARED, 6);
    let found = (1..=HOSTS).map(|hosts| {
        let found = verdict(&bench.measured(hosts));
        println!("CPU per request, actix over legacy, with {hosts} hosts: {found:?}");
        found
    });
    let found: Vec<(String, f64)> = found.collect();
    assert!(found.windows(2).all(|two| two[0].0 == two[1].0), "{found:?}");
}

/// Each fault is named with its host, and nothing wrong is merged.
fn faults(cluster: &Cluster) {
    let bench = Bench::new(cluster, LIMITED, 1);
    let named = |wrapper: &str, said: &[&str]| {
        let (run, output) = bench.run(HOSTS, wrapper);
        let report = fs::read_to_string(run.join("report.md")).unwrap_or_default();
        let observed = fs::read_to_string(run.join("observations.ndjson")).unwrap_or_default();
        assert_eq!(output.status.code(), Some(1), "{wrapper}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(!observed.contains("\"completed\""), "{wrapper}: {observed}");
        assert!(said.iter().any(|said| report.contains(said)), "{wrapper}: {report}");
        let line = observed.split("\"reason\":\"").nth(1).and_then(|rest| rest.split('"').next());
        println!("{}: {}", wrapper.lines().next().unwrap_or_default(), line.unwrap_or_default());
    };
    // A whole host is lost in mid-trial: its slurmd and all below it.
    std::thread::scope(|scope| {
        scope.spawn(|| cluster.lose_a_host(2));
        named("", &["lost"]);
    });
}
