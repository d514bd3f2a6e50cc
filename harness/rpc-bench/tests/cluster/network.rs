//! Hosts on one machine: network namespaces with addresses of their own on one bridge. They share its processors and
//! its files.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long daemons may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A bridge and a namespace for each host; both go when it is dropped, with all that runs in the namespaces.
pub struct Network {
    /// What distinguishes it from the others of this process.
    id: u8,
    hosts: u32,
}

impl Network {
    /// Makes it. Hosts are counted from 1.
    pub fn new(id: u8, hosts: u32) -> Result<Self, String> {
        // From here on, what is there goes, whatever fails.
        let network = Self { id, hosts };
        let (bridge, server) = (network.bridge(), network.server());
        ip(&format!("link add {bridge} type bridge"))?;
        ip(&format!("addr add {server}/24 dev {bridge}"))?;
        ip(&format!("link set {bridge} up"))?;
        for host in 1..=hosts {
            let (namespace, near) = (network.namespace(host), format!("{bridge}v{host}"));
            ip(&format!("netns add {namespace}"))?;
            ip(&format!("link add {near} type veth peer name eth0 netns {namespace}"))?;
            ip(&format!("link set {near} master {bridge} up"))?;
            ip(&format!("-n {namespace} addr add {}/24 dev eth0", network.address(host)))?;
            ip(&format!("-n {namespace} link set eth0 up"))?;
            ip(&format!("-n {namespace} link set lo up"))?;
        }
        Ok(network)
    }

    fn bridge(&self) -> String {
        format!("rb{}n{}", std::process::id() % 100_000, self.id)
    }

    /// Where the server's machine is on the bridge.
    pub fn server(&self) -> String {
        format!("10.83.{}.1", self.id)
    }

    /// A host's address.
    pub fn address(&self, host: u32) -> String {
        format!("10.83.{}.{}", self.id, 10 + host)
    }

    /// The name of a host's namespace.
    pub fn namespace(&self, host: u32) -> String {
        format!("{}h{host}", self.bridge())
    }

    /// A command in a host's namespace.
    pub fn command(&self, host: u32, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(host), program]);
        command
    }

    /// The processes of a host, the oldest first.
    pub fn processes(&self, host: u32) -> Vec<u32> {
        let output = Command::new("ip").args(["netns", "pids", &self.namespace(host)]).output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let mut pids: Vec<u32> =
            text.unwrap_or_default().lines().filter_map(|line| line.parse().ok()).collect();
        pids.sort_unstable();
        pids
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for host in 1..=self.hosts {
            self.processes(host).into_iter().rev().for_each(kill);
            let _ = ip(&format!("netns del {}", self.namespace(host)));
        }
        let _ = ip(&format!("link del {}", self.bridge()));
    }
}

fn ip(args: &str) -> Result<(), String> {
    let output = Command::new("ip").args(args.split(' ')).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(format!("ip {args}: {said}")) }
}

/// Ends a process of a host at once.
pub fn kill(pid: u32) {
    // SAFETY: kill only sends a signal; the processes are those of a network of this test's own.
    unsafe { libc::kill(pid as i32, libc::SIGKILL) };
}

/// A process' arguments; empty where it is gone.
pub fn command_line(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ")
}

/// Waits for something.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> Result<T, String> {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Some(found) = look() {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(format!("{what}: not within {PATIENCE:?}"))
}
