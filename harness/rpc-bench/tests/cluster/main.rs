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

use self::slurm::{Cluster, HOSTS};
use bench_core::config::ConfigDir;

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

/// Runs the campaign on all hosts, with a configuration and results in a folder that they see, and gives the run's folder.
fn run(cluster: &Cluster, dir: &Path) -> (PathBuf, Output) {
    let pool = format!(
        "[slurm]\nhosts = {HOSTS}\nlisten = \"{}\"\nlead_ms = 2500\nlauncher = [\"srun\", \"--overlap\", \"-N{{n}}\", \
         \"--ntasks-per-node=1\", \"{{agent}}\", \"agent\", \"--plan\", \"{{plan}}\", \"--start-at\", \
         \"{{start_at}}\", \"--out\", \"{{out}}\"]\n",
        cluster.server()
    );
    fs::write(dir.join("hosts.toml"), pool).unwrap();
    let results = dir.join("results");
    let mut command = cluster.command("salloc");
    command.arg(format!("-N{HOSTS}")).arg(env!("CARGO_BIN_EXE_rpc-bench"));
    command.arg("--config").arg(dir).arg("--results").arg(&results);
    command.args(["run", "small", "--hosts", "slurm"]);
    let output = command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).output().unwrap();
    let run = fs::read_dir(&results).ok().and_then(|mut runs| Some(runs.next()?.ok()?.path()));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (run.unwrap_or_else(|| panic!("no run: {said}")), output)
}

/// The host's slurmd goes, and all below it: the trial is void, and nothing of the other hosts is shown as if it were whole.
#[test]
#[ignore = "needs root and Slurm: see docs/HOSTS.md"]
fn a_host_that_slurm_loses_in_mid_trial_voids_it() {
    let cluster = match Cluster::start() {
        Ok(cluster) => cluster,
        Err(lacks) => return eprintln!("SKIPPED: {lacks}"),
    };
    let dir = configuration(&format!("max_blocks = 1\n{LIMITED}"), 2_000);
    let (run, output) = std::thread::scope(|scope| {
        scope.spawn(|| cluster.lose_a_host(2));
        run(&cluster, dir.path())
    });
    let report = fs::read_to_string(run.join("report.md")).unwrap_or_default();
    let observed = fs::read_to_string(run.join("observations.ndjson")).unwrap_or_default();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!observed.contains("\"completed\"") && report.contains("lost"), "{observed}{report}");
}
