//! Machines that ssh reaches, on one machine: a network namespace for each, with a name, an address and an sshd of its
//! own.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bench_core::machine::on_path;

use super::network::{Network, command_line, kill, until};

/// Their number. They are called load1 and load2.
pub const HOSTS: u32 = 2;

const PROGRAMS: [&str; 5] = ["ip", "ssh", "ssh-keygen", "unshare", "hostname"];

/// sshd starts itself again by its whole path.
const SSHD: &str = "/usr/sbin/sshd";

/// Machines, their keys and the settings of an ssh that reaches them; all of them go when it is dropped.
pub struct Machines {
    dir: tempfile::TempDir,
    sshds: Vec<Child>,
    pub network: Network,
}

impl Machines {
    /// Starts them, or says what is missing. What is there has to work. `id` distinguishes those of one process.
    pub fn start(id: u8) -> Result<Self, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("namespaces and sshd need root".to_owned());
        }
        if PROGRAMS.iter().any(|program| on_path(program).is_none()) || !Path::new(SSHD).is_file() {
            return Err(format!(
                "one of {PROGRAMS:?} or sshd is missing: apt-get install openssh-server iproute2"
            ));
        }
        let dir = tempfile::Builder::new().prefix("rpc-bench-ssh-").tempdir().unwrap();
        let network = Network::new(id, HOSTS).unwrap();
        let mut machines = Self { dir, sshds: Vec::new(), network };
        // Where sshd separates its privileges; without systemd nothing else makes it.
        fs::create_dir_all("/run/sshd").unwrap();
        machines.make_key("key");
        fs::copy(machines.path("key.pub"), machines.path("authorized")).unwrap();
        machines.write_configuration();
        for host in 1..=HOSTS {
            let sshd = machines.sshd(host);
            machines.sshds.push(sshd);
        }
        for host in 1..=HOSTS {
            let name = format!("load{host}");
            let reached = until(&format!("ssh reaches {name}"), || {
                let output = machines.ssh(&name).arg("hostname").output().unwrap();
                (output.stdout == format!("{name}\n").into_bytes()).then_some(())
            });
            let log = || fs::read_to_string(machines.path(&format!("{name}.log"))).unwrap_or_default();
            assert!(reached.is_ok(), "{}: {}", reached.unwrap_err(), log());
        }
        Ok(machines)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The settings of ssh (`-F`).
    pub fn configuration(&self) -> String {
        self.path("ssh_config").display().to_string()
    }

    /// ssh to a machine, without questions.
    pub fn ssh(&self, name: &str) -> Command {
        let mut ssh = Command::new("ssh");
        ssh.args(["-F", &self.configuration(), "-o", "BatchMode=yes", name]).stdin(Stdio::null());
        ssh
    }

    fn make_key(&self, name: &str) {
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(self.path(name));
        assert!(keygen.stdin(Stdio::null()).status().unwrap().success());
    }

    fn write_configuration(&self) {
        let dir = self.dir.path().display();
        let (mut known, mut settings) = (String::new(), String::new());
        for host in 1..=HOSTS {
            let (name, address) = (format!("load{host}"), self.network.address(host));
            self.make_key(&format!("{name}.key"));
            let key = fs::read_to_string(self.path(&format!("{name}.key.pub"))).unwrap();
            known.push_str(&format!("{name} {key}"));
            settings.push_str(&format!("Host {name}\n  HostName {address}\n  HostKeyAlias {name}\n"));
            let sshd = format!(
                "ListenAddress {address}\nPort 22\nHostKey {dir}/{name}.key\nAuthorizedKeysFile \
                 {dir}/authorized\nStrictModes no\n\
                 UsePAM no\nPidFile none\nPermitRootLogin yes\nPasswordAuthentication \
                 yes\nKbdInteractiveAuthentication no\n"
            );
            fs::write(self.path(&format!("{name}.conf")), sshd).unwrap();
        }
        settings.push_str(&format!(
            "Host load*\n  IdentityFile {dir}/key\nHost *\n  User root\n  IdentityAgent none\n  IdentitiesOnly yes\n  \
             UserKnownHostsFile {dir}/known\n  GlobalKnownHostsFile none\n  StrictHostKeyChecking yes\n"
        ));
        fs::write(self.path("known"), known).unwrap();
        fs::write(self.path("ssh_config"), settings).unwrap();
    }

    /// A machine's sshd, in its namespace and under its name.
    fn sshd(&self, host: u32) -> Child {
        let name = format!("load{host}");
        let log = File::create(self.path(&format!("{name}.log"))).unwrap();
        let mut command = self.network.command(host, "unshare");
        command.args(["--uts", "sh", "-c", "hostname $0 && exec \"$@\"", &name, SSHD, "-D", "-e", "-f"]);
        command.arg(self.path(&format!("{name}.conf"))).stdin(Stdio::null()).process_group(0);
        command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
    }

    /// Agents and load tools that run on any of them.
    pub fn agents(&self) -> Vec<String> {
        let lines = (1..=HOSTS).flat_map(|host| self.network.processes(host)).map(command_line);
        lines.filter(|line| line.contains(" agent --plan ") || line.contains(" load --url ")).collect()
    }

    /// Waits until a machine's load tool sends its window, and cuts its connections off there. Its agent is not
    /// touched.
    pub fn cut_off(&self, host: u32, window_ms: u32) {
        let sends = format!("--duration {window_ms}");
        let found = until("an agent's load tool runs", || {
            let pids = self.network.processes(host);
            pids.iter().any(|pid| command_line(*pid).contains(&sends)).then_some(pids)
        });
        let own = self.sshds[host as usize - 1].id();
        // The one that listens stays; those of connections call themselves so.
        let of_connections = |pid: &u32| *pid != own && command_line(*pid).starts_with("sshd: ");
        found.unwrap().into_iter().filter(of_connections).for_each(kill);
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for sshd in &mut self.sshds {
            let _ = sshd.kill();
            let _ = sshd.wait();
        }
    }
}
