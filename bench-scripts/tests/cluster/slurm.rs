//! A Slurm cluster of this test's own on one machine.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rpc_bench::probe::host::on_path;

/// Load hosts.
pub const HOSTS: u32 = 3;

/// Where the server's machine is on the bridge.
pub const SERVER: &str = "10.83.7.1";

const PROGRAMS: [&str; 7] = ["ip", "munged", "mungekey", "slurmctld", "slurmd", "salloc", "srun"];

/// How long daemons may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Daemons, namespaces and a bridge; all of them go when it is dropped.
pub struct Cluster {
    dir: tempfile::TempDir,
    munged: Option<Child>,
    slurmctld: Option<Child>,
    slurmds: Vec<Child>,
}

fn bridge() -> String {
    format!("rb{}", std::process::id() % 100_000)
}

fn namespace(host: u32) -> String {
    format!("{}h{host}", bridge())
}

fn ip(args: &str) -> Result<(), String> {
    let output = Command::new("ip").args(args.split(' ')).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(format!("ip {args}: {said}")) }
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
        let mut cluster = Self { dir, munged: None, slurmctld: None, slurmds: Vec::new() };
        cluster.network().unwrap();
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

    fn network(&self) -> Result<(), String> {
        let bridge = bridge();
        ip(&format!("link add {bridge} type bridge"))?;
        ip(&format!("addr add {SERVER}/24 dev {bridge}"))?;
        ip(&format!("link set {bridge} up"))?;
        for host in 1..=HOSTS {
            let (namespace, near) = (namespace(host), format!("{bridge}v{host}"));
            ip(&format!("netns add {namespace}"))?;
            ip(&format!("link add {near} type veth peer name eth0 netns {namespace}"))?;
            ip(&format!("link set {near} master {bridge} up"))?;
            ip(&format!("-n {namespace} addr add {}/24 dev eth0", address(host)))?;
            ip(&format!("-n {namespace} link set eth0 up"))?;
            ip(&format!("-n {namespace} link set lo up"))?;
        }
        Ok(())
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
        let mut slurmd = Command::new("ip");
        slurmd
            .args(["netns", "exec", &namespace(host), "slurmd", "-D", "-N", &name, "-f"])
            .arg(self.path("slurm.conf"));
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
        let (dir, host) = (self.dir.path().display(), rustix::system::uname());
        let host = host.nodename().to_string_lossy();
        let ports = 20_000 + std::process::id() % 10_000;
        let mut text = format!(
            "ClusterName=bench\nSlurmctldHost={host}({SERVER})\nSlurmctldPort={ports}\nSlurmUser=root\nSlurmdUser=root\n\
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
                address(of)
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

    /// Gives each host a part of a processor, in microseconds of each period of microseconds, by cgroups of version 1; -1 for no limit.
    pub fn limit_hosts(&self, quota: &str) -> Result<(), String> {
        let (quota_us, period_us) = quota.split_once(' ').unwrap();
        for (host, slurmd) in (1..).zip(&self.slurmds) {
            let group = PathBuf::from(format!("/sys/fs/cgroup/cpu/{}", namespace(host)));
            let write = |name: &str, text: &str| {
                fs::write(group.join(name), text)
                    .map_err(|error| format!("{}: {error}", group.join(name).display()))
            };
            fs::create_dir_all(&group).map_err(|error| format!("{}: {error}", group.display()))?;
            write("cpu.cfs_period_us", period_us)?;
            write("cpu.cfs_quota_us", quota_us)?;
            for pid in descendants(slurmd.id()) {
                write("cgroup.procs", &pid.to_string())?;
            }
        }
        Ok(())
    }

    /// Kills a host, its slurmd and everything below it, as soon as an agent runs on it for its second load: the window.
    pub fn kill_host_when_an_agent_runs(&self, host: u32) -> JoinHandle<()> {
        let slurmd = self.slurmds[host as usize - 1].id();
        std::thread::spawn(move || {
            let found = until("an agent's load tool runs", || {
                let below = steps(slurmd);
                below.iter().any(|pid| command_line(*pid).contains("--duration 2000")).then_some(below)
            });
            for pid in found.unwrap() {
                // SAFETY: kill only sends a signal; the processes are this cluster's own.
                unsafe { libc::kill(pid as i32, libc::SIGKILL) };
            }
        })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for slurmd in &self.slurmds {
            for pid in steps(slurmd.id()).into_iter().rev() {
                // SAFETY: as above.
                unsafe { libc::kill(pid as i32, libc::SIGKILL) };
            }
        }
        for child in self.slurmds.iter_mut().chain(&mut self.slurmctld).chain(&mut self.munged) {
            let _ = child.kill();
            let _ = child.wait();
        }
        for host in 1..=HOSTS {
            let _ = ip(&format!("netns del {}", namespace(host)));
            let _ = fs::remove_dir(format!("/sys/fs/cgroup/cpu/{}", namespace(host)));
        }
        let _ = ip(&format!("link del {}", bridge()));
    }
}

fn address(host: u32) -> String {
    format!("10.83.7.{}", 10 + host)
}

/// A process and all below it, by their parents.
fn descendants(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let processes: Vec<(u32, u32)> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            let parent = stat.rsplit(") ").next()?.split(' ').nth(1)?.parse().ok()?;
            Some((pid, parent))
        })
        .collect();
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        found.extend(processes.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    found
}

/// A slurmd and what runs in its network namespace: steps are no children of their slurmd for long.
fn steps(slurmd: u32) -> Vec<u32> {
    let namespace = |pid: u32| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    // The process that was started is `ip`, which becomes slurmd in the namespace.
    let own = namespace(slurmd);
    let here = namespace(std::process::id());
    if own.is_none() || own == here {
        return descendants(slurmd);
    }
    let pids =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut found: Vec<u32> = pids.filter(|pid| namespace(*pid) == own).collect();
    found.sort_unstable();
    found
}

fn command_line(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ")
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> Result<T, String> {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Some(found) = look() {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(format!("{what}: not within {PATIENCE:?}"))
}
