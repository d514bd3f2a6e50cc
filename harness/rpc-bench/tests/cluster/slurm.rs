//! A Slurm cluster of this test's own on one machine.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bench_core::machine::on_path;

use super::network::{Network, command_line, kill, until};

/// Load hosts.
pub const HOSTS: u32 = 3;

const PROGRAMS: [&str; 7] = ["ip", "munged", "mungekey", "slurmctld", "slurmd", "salloc", "srun"];

/// Daemons and their hosts; all of them go when it is dropped.
pub struct Cluster {
    dir: tempfile::TempDir,
    munged: Option<Child>,
    slurmctld: Option<Child>,
    slurmds: Vec<Child>,
    network: Network,
}

impl Cluster {
    /// Starts all of it, or says what is missing. What is there has to work.
    pub fn start() -> Result<Self, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("namespaces and Slurm's daemons need root".to_owned());
        }
        if let Some(lacks) = PROGRAMS.iter().find(|program| on_path(program).is_none()) {
            return Err(format!("there is no {lacks}: apt-get install slurm-wlm munge iproute2"));
        }
        let dir = tempfile::Builder::new().prefix("rpc-bench-slurm-").tempdir().unwrap();
        let network = Network::new(7, HOSTS).unwrap();
        let mut cluster = Self { dir, munged: None, slurmctld: None, slurmds: Vec::new(), network };
        let started = cluster.daemons();
        assert!(started.is_ok(), "{}: {}", started.unwrap_err(), cluster.logs());
        Ok(cluster)
    }

    /// The last lines of every daemon's log.
    fn logs(&self) -> String {
        let names = ["munged", "slurmctld", "load1", "load2", "load3"].map(|name| format!("{name}.log"));
        let tail = |name: &String| {
            let text = fs::read_to_string(self.path(name)).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            format!("\n{name}:\n{}", lines[lines.len().saturating_sub(8)..].join("\n"))
        };
        names.iter().map(tail).collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Where the server's machine is.
    pub fn server(&self) -> String {
        self.network.server()
    }

    fn daemons(&mut self) -> Result<(), String> {
        for folder in ["state", "munge"] {
            fs::create_dir(self.path(folder)).unwrap();
        }
        for host in 1..=HOSTS {
            fs::create_dir(self.path(&format!("spool-load{host}"))).unwrap();
        }
        // munged refuses folders that others may write.
        fs::set_permissions(self.dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let (key, socket) = (self.path("munge/key"), self.path("munge/socket"));
        let made = Command::new("mungekey").arg("--create").arg("--keyfile").arg(&key).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let option = |name: &str, path: &Path| format!("--{name}={}", path.display());
        let mut munged = Command::new("munged");
        munged.args(["--foreground", "--force", &option("key-file", &key), &option("socket", &socket)]);
        munged.args(
            ["pid-file", "log-file", "seed-file"]
                .map(|name| option(name, &self.path(&format!("munge/{name}")))),
        );
        self.munged = Some(self.daemon(&mut munged, "munged")?);
        until("munged listens", || socket.exists().then_some(()))?;
        self.write_configuration(&socket);
        self.slurmctld = Some(self.daemon(Command::new("slurmctld").args(["-D", "-i"]), "slurmctld")?);
        for host in 1..=HOSTS {
            let started = self.slurmd(host)?;
            self.slurmds.push(started);
        }
        self.wait_for_hosts()
    }

    fn slurmd(&self, host: u32) -> Result<Child, String> {
        let name = format!("load{host}");
        let mut slurmd = self.network.command(host, "slurmd");
        slurmd.args(["-D", "-N", &name, "-f"]).arg(self.path("slurm.conf"));
        self.daemon(&mut slurmd, &name)
    }

    fn wait_for_hosts(&self) -> Result<(), String> {
        until("all hosts are idle", || {
            let output = self.command("sinfo").args(["--noheader", "--format=%D %t"]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            said.lines().any(|line| line.trim() == format!("{HOSTS} idle")).then_some(())
        })
    }

    fn write_configuration(&self, munge: &Path) {
        let (dir, server, host) = (self.dir.path().display(), self.server(), rustix::system::uname());
        let host = host.nodename().to_string_lossy();
        let ports = 20_000 + std::process::id() % 10_000;
        let mut text = format!(
            "ClusterName=bench\nSlurmctldHost={host}({server})\nSlurmctldPort={ports}\nSlurmUser=root\nSlurmdUser=root\n\
             AuthType=auth/munge\nAuthInfo=socket={}\nCredType=cred/munge\nStateSaveLocation={dir}/state\nSlurmdSpoolDir={dir}/spool-%n\n\
             SlurmctldPidFile={dir}/slurmctld.pid\nSlurmdPidFile={dir}/%n.pid\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             SwitchType=switch/none\nMpiDefault=none\nSelectType=select/cons_tres\nReturnToService=2\nSlurmdTimeout=10\n\
             LaunchParameters=use_interactive_step\nKillOnBadExit=0\n",
            munge.display()
        );
        for of in 1..=HOSTS {
            let port = ports + of;
            text.push_str(&format!(
                "NodeName=load{of} NodeHostname={host} NodeAddr={} Port={port} CPUs=2 State=UNKNOWN\n",
                self.network.address(of)
            ));
        }
        text.push_str(
            "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4\n",
        );
        fs::write(self.path("slurm.conf"), text).unwrap();
        fs::write(self.path("cgroup.conf"), "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n").unwrap();
    }

    /// A program of this cluster.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.path("slurm.conf")).stdin(Stdio::null());
        command
    }

    fn daemon(&self, command: &mut Command, name: &str) -> Result<Child, String> {
        let log = File::create(self.path(&format!("{name}.log"))).unwrap();
        command.env("SLURM_CONF", self.path("slurm.conf")).stdin(Stdio::null()).process_group(0);
        command.stdout(log.try_clone().unwrap()).stderr(log);
        command.spawn().map_err(|error| format!("{name} can't be started: {error}"))
    }

    /// Kills a host, its slurmd and everything below it, as soon as an agent runs on it for its second load: the
    /// window.
    pub fn lose_a_host(&self, host: u32) {
        let found = until("an agent's load tool runs", || {
            let below = self.network.processes(host);
            below.iter().any(|pid| command_line(*pid).contains("--duration 2000")).then_some(below)
        });
        found.unwrap().into_iter().for_each(kill);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for host in 1..=HOSTS {
            self.network.processes(host).into_iter().rev().for_each(kill);
        }
        for child in self.slurmds.iter_mut().chain(&mut self.slurmctld).chain(&mut self.munged) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
