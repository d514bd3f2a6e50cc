//! The shipped pools `ssh`, `clush` and `mpirun` on machines that ssh reaches.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use bench_core::machine::on_path;
use serde_json::Value;

use super::configuration;
use super::network::until;
use super::ssh::{HOSTS, Machines};

/// One trial.
const CAMPAIGN: &str = "why = \"a test\"\nservers = [\"control\"]\nworkloads = [\"getBalance\"]\nconnections = [4]\n\
    tool = \"rpc-load\"\ncomparisons = []\nmax_blocks = 1\n";

const WINDOW_MS: u32 = 1_500;

/// A folder with a pool, and results in a folder whose name a shell would split.
struct Bench {
    machines: Machines,
    dir: tempfile::TempDir,
    pool: &'static str,
}

impl Bench {
    /// The shipped pool with this test's ssh, names and address; none where the launcher or what it needs is missing.
    fn new(id: u8, pool: &'static str, package: &str, arguments: fn(&mut Vec<String>, &str)) -> Option<Self> {
        let machines = match Machines::start(id) {
            Err(lacks) => Err(lacks),
            Ok(_) if on_path(pool).is_none() => Err(format!("there is no {pool}: apt-get install {package}")),
            Ok(machines) => Ok(machines),
        };
        let machines = machines.map_err(|lacks| eprintln!("SKIPPED: pool {pool}: {lacks}")).ok()?;
        let dir = configuration(CAMPAIGN, WINDOW_MS);
        let bench = Self { machines, dir, pool };
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-scripts/hosts.toml");
        let mut pools: toml::Table = fs::read_to_string(shipped).unwrap().parse().unwrap();
        let own = pools[pool].as_table_mut().unwrap();
        assert_eq!(own["names"].as_array().unwrap().len(), HOSTS as usize);
        own.insert("listen".to_owned(), bench.machines.network.server().into());
        // The shipped one is for a network and a scheduler; here all is near.
        own.insert("lead_ms".to_owned(), 2_500.into());
        let mut launcher: Vec<String> = own["launcher"].clone().try_into().unwrap();
        arguments(&mut launcher, &bench.machines.configuration());
        own.insert("launcher".to_owned(), launcher.into());
        fs::write(bench.dir.path().join("hosts.toml"), pools.to_string()).unwrap();
        Some(bench)
    }

    fn with_ssh(id: u8) -> Option<Self> {
        Self::new(id, "ssh", "openssh-client", |launcher, file| {
            launcher.splice(1..1, ["-F".to_owned(), file.to_owned()]);
        })
    }

    fn change(&self, file: &str, from: &str, to: &str) {
        let path = self.dir.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replace(from, to)).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rpc-bench"));
        command.arg("--config").arg(self.dir.path());
        command.arg("--results").arg(self.dir.path().join("it's $HOME")).arg("run").args(args);
        command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).stdin(Stdio::null());
        command
    }

    fn run(&self) -> Output {
        self.command(&["small", "--hosts", self.pool]).output().unwrap()
    }

    /// The folder of the one run.
    fn folder(&self) -> PathBuf {
        let mut runs = fs::read_dir(self.dir.path().join("it's $HOME")).unwrap();
        runs.next().unwrap().unwrap().path()
    }

    fn report(&self) -> String {
        fs::read_to_string(self.folder().join("report.md")).unwrap()
    }

    fn outcomes(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder().join("observations.ndjson")).unwrap();
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["outcome"].clone()).collect()
    }

    /// Every trial was measured by both hosts, and is what both sent.
    fn is_whole(&self, output: &Output) {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let outcomes = self.outcomes();
        assert_eq!(outcomes.len(), 1, "{outcomes:?}");
        for outcome in outcomes {
            assert_eq!(outcome["kind"], "completed", "{outcome}");
            let hosts = outcome["load"]["details"]["hosts"].as_array().unwrap();
            let names: Vec<&str> = hosts.iter().map(|host| host["name"].as_str().unwrap()).collect();
            assert_eq!(names, ["load1", "load2"], "{outcome}");
            let sent: Vec<u64> = hosts.iter().map(|host| host["succeeded"].as_u64().unwrap()).collect();
            assert!(sent.iter().all(|sent| *sent > 0), "{sent:?}");
            assert_eq!(outcome["load"]["succeeded"].as_u64().unwrap(), sent.iter().sum::<u64>());
        }
        let report = self.report();
        let said = format!("2 hosts of the pool {}", self.pool);
        assert!(report.contains(&said), "{report}");
        self.is_over();
    }

    /// No host has an agent or a load tool any more.
    fn is_over(&self) {
        let agents = self.machines.agents();
        assert!(agents.is_empty(), "{agents:?}");
    }
}

#[test]
#[ignore = "needs root and sshd: see docs/HOSTS.md"]
fn ssh_places_agents() {
    let Some(bench) = Bench::with_ssh(8) else { return };
    bench.is_whole(&bench.run());
}

#[test]
#[ignore = "needs root, sshd and ClusterShell: see docs/HOSTS.md"]
fn clush_places_agents() {
    let add = |launcher: &mut Vec<String>, file: &str| {
        let options = launcher.iter_mut().find(|arg| arg.starts_with("-o ")).unwrap();
        options.push_str(&format!(" -F {file}"));
    };
    let Some(bench) = Bench::new(9, "clush", "clustershell", add) else { return };
    bench.is_whole(&bench.run());
}

#[test]
#[ignore = "needs root, sshd and Open MPI: see docs/HOSTS.md"]
fn mpirun_places_agents() {
    let add = |launcher: &mut Vec<String>, file: &str| {
        let ssh = format!("ssh -F {file}");
        let own = ["--allow-run-as-root", "--mca", "plm_rsh_agent", &ssh].map(str::to_owned);
        launcher.splice(1..1, own);
    };
    let Some(bench) = Bench::new(10, "mpirun", "openmpi-bin", add) else { return };
    bench.is_whole(&bench.run());
}

/// A host is lost in mid-trial: that trial alone is void, it is named, and its agent does not stay.
#[test]
#[ignore = "needs root and sshd: see docs/HOSTS.md"]
fn a_connection_that_is_cut_voids_its_trial() {
    let Some(bench) = Bench::with_ssh(11) else { return };
    bench.change("campaigns/small.toml", "[\"getBalance\"]", "[\"getBalance\", \"getBlocks\"]");
    let output = std::thread::scope(|scope| {
        scope.spawn(|| bench.machines.cut_off(2, WINDOW_MS));
        bench.run()
    });
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let kinds: Vec<Value> = bench.outcomes().iter().map(|outcome| outcome["kind"].clone()).collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "tool_failed").count(), 1, "{kinds:?}");
    assert_eq!(kinds.iter().filter(|kind| *kind == "completed").count(), 1, "{kinds:?}");
    let report = bench.report();
    assert!(report.contains("host 1 (load2): lost: its launcher ended with exit code 255"), "{report}");
    bench.is_over();
}

/// Waits until agents send a window.
fn in_mid_window(bench: &Bench, window_ms: u32) {
    let sends = format!("--duration {window_ms}");
    let runs = || bench.machines.agents().iter().any(|line| line.contains(&sends)).then_some(());
    until("a window", runs).unwrap();
}

fn started(bench: &Bench) -> Child {
    let mut command = bench.command(&["small", "--hosts", bench.pool]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// After Ctrl-C no agent stays, and after a harness that was killed none stays beyond its window; either run is
/// resumed.
#[test]
#[ignore = "needs root and sshd: see docs/HOSTS.md"]
fn a_run_that_was_stopped_leaves_no_agent_and_is_resumed() {
    let Some(bench) = Bench::with_ssh(12) else { return };
    // Longer than a harness takes to end, so that agents which outlived it would be seen.
    let window_ms = 4_000;
    bench.change("campaigns/small.toml", &WINDOW_MS.to_string(), &window_ms.to_string());
    for signal in [libc::SIGINT, libc::SIGKILL] {
        let mut harness = started(&bench);
        in_mid_window(&bench, window_ms);
        let pid = harness.id() as i32;
        // SAFETY: kill only sends a signal; the child has not been waited for.
        unsafe { libc::kill(pid, signal) };
        let status = harness.wait().unwrap();
        if signal == libc::SIGINT {
            assert_eq!(status.code(), Some(130));
            bench.is_over();
        }
        let folder = bench.folder();
        let output = bench.command(&["--resume", folder.to_str().unwrap()]).output().unwrap();
        bench.is_whole(&output);
        fs::remove_dir_all(folder).unwrap();
    }
}
