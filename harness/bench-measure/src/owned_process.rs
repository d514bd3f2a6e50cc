//! Child processes that are owned: each is killed and waited for when its owner goes, whatever the reason.

use bench_core::machine::CpuTime;
use std::fs::File;
use std::io::Write;
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt, parent_id};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::slice;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, kill_process_group, set_parent_process_death_signal, setrlimit,
};
use rustix::thread::{CpuSet, LinkNameSpaceType, move_into_link_name_space, sched_setaffinity};

use crate::cgroup::Cgroup;
use crate::interrupt::Interrupt;
use crate::probe::harness_usage::children;
use crate::probe::host;
use bench_core::config::Placement;

/// How long a server may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(6);

/// The longest pause between two polls of a child while it is expected to run. A poll wakes the harness on a processor
/// that is being measured.
const SELDOM: Duration = Duration::from_millis(20);

/// What a child may have.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits<'a> {
    /// Files that it may open at once; the harness's own limit where left out.
    pub open_files: Option<u64>,
    /// The file of the network namespace that it is started in; that of the thread that starts it where left out. It
    /// must stay open until the child has been started.
    pub network: Option<RawFd>,
    /// The group that limits it.
    pub group: Option<&'a Cgroup>,
    /// The folder that it is started in; the harness's own where left out.
    pub folder: Option<&'a Path>,
    /// Whether it gets none of the variables that name a proxy: a load goes to its address.
    pub without_proxies: bool,
    /// Whether its placement's core is left to others: it runs on the other cores, where there are any.
    pub elsewhere: bool,
}

/// The variables that name a proxy, in small letters; programs read them in capitals too.
const PROXIES: [&str; 5] = ["http_proxy", "https_proxy", "all_proxy", "ftp_proxy", "no_proxy"];

/// A running child. Dropping it kills it and waits for it.
#[derive(Debug)]
pub struct Owned {
    child: Child,
    ended: Option<(ExitStatus, CpuTime)>,
}

/// Where a child's output goes: files that the run keeps.
pub struct Output<'a> {
    /// Standard output; piped to the harness where `None`.
    pub stdout: Option<&'a Path>,
    /// Standard error.
    pub stderr: &'a Path,
}

/// The core that processes of a placement share, the last one; or all cores but that one, where there are any.
fn processors(elsewhere: bool) -> Result<CpuSet> {
    let may_use = host::may_use();
    let unknown = "placement on one core: it is not known which processors the harness may use";
    let (last, others) = may_use.split_last().context(unknown)?;
    let chosen = if elsewhere && !others.is_empty() { others } else { slice::from_ref(last) };
    let mut set = CpuSet::new();
    chosen.iter().for_each(|processor| set.set(*processor));
    Ok(set)
}

impl Owned {
    /// Starts a program. It gets a process group of its own, so that Ctrl-C in a terminal reaches the harness alone,
    /// and dies with the harness even where that is killed. Its placement holds from its first instruction, so that a
    /// runtime that reads how many processors it may use sees what it gets.
    pub fn spawn(program: &Path, args: &[String], output: &Output<'_>, placement: Placement) -> Result<Self> {
        Self::spawn_with(program, args, output, placement, Limits::default())
    }

    /// [`Self::spawn`] with limits, from its first instruction and for good.
    pub fn spawn_with(
        program: &Path,
        args: &[String],
        output: &Output<'_>,
        placement: Placement,
        limits: Limits<'_>,
    ) -> Result<Self> {
        let Limits { open_files, network, group, folder, elsewhere, without_proxies } = limits;
        let entrances = group.map_or_else(|| Ok(Vec::new()), Cgroup::entrances)?;
        let only = (placement != Placement::Free).then(|| processors(elsewhere)).transpose()?;
        let create =
            |path: &Path| File::create(path).with_context(|| format!("can't create {}", path.display()));
        let stdout = output.stdout.map_or(Ok(Stdio::piped()), |path| create(path).map(Stdio::from))?;
        // From another folder a relative path would be another one.
        let whole = folder.map_or_else(|| Ok(program.to_owned()), |_| std::path::absolute(program));
        let mut command = Command::new(whole.with_context(|| format!("no path of {}", program.display()))?);
        folder.map(|folder| command.current_dir(folder));
        for name in PROXIES.into_iter().filter(|_| without_proxies) {
            command.env_remove(name).env_remove(name.to_ascii_uppercase());
        }
        command
            .args(args)
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(create(output.stderr)?)
            .process_group(0);
        let harness = std::process::id();
        // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
        unsafe {
            command.pre_exec(move || {
                set_parent_process_death_signal(Some(Signal::KILL))?;
                // The harness may have gone before the line above.
                if parent_id() != harness {
                    return Err(std::io::Error::from_raw_os_error(libc::ESRCH));
                }
                for entrance in &entrances {
                    let mut entrance: &File = entrance;
                    entrance.write_all(b"0")?;
                }
                if open_files.is_some() {
                    setrlimit(Resource::Nofile, Rlimit { current: open_files, maximum: open_files })?;
                }
                if let Some(set) = &only {
                    sched_setaffinity(None, set)?;
                }
                if let Some(network) = network {
                    // SAFETY: the caller keeps the file open.
                    let namespace = BorrowedFd::borrow_raw(network);
                    move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network))?;
                }
                Ok(())
            });
        }
        let child = command.spawn().with_context(|| {
            let place = if only.is_some() { " on the processors of its placement" } else { "" };
            format!("can't start {}{place}", program.display())
        })?;
        children().running.insert(child.id());
        Ok(Self { child, ended: None })
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The child's standard output, once, where it is piped.
    pub fn stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// How the child ended, if it has.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            self.ended = self.reap(libc::WNOHANG).context("can't read a child's state")?;
        }
        Ok(self.ended.map(|(status, _)| status))
    }

    /// CPU time of the child and of its own children, from its start to its end; none while it runs.
    pub fn cpu_time(&self) -> Option<CpuTime> {
        self.ended.map(|(_, cpu)| cpu)
    }

    /// Takes the child's end from the system, where there is one. The standard library does not report its CPU time.
    fn reap(&self, options: i32) -> std::io::Result<Option<(ExitStatus, CpuTime)>> {
        let pid = self.child.id() as libc::pid_t;
        // A wait for a child that was killed holds up nobody: it ends within moments.
        let mut children = children();
        let mut status = 0;
        // SAFETY: rusage is plain data, for which all zeroes are valid; both pointers are to locals that outlive the
        // call. The child is waited for here alone, so its id is its own.
        let (reaped, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            (libc::wait4(pid, &raw mut status, options, &raw mut usage), usage)
        };
        match reaped {
            0 => Ok(None),
            reaped if reaped == pid => {
                let cpu = CpuTime::from(&usage);
                children.running.remove(&self.child.id());
                children.ended_s += cpu.total_s();
                Ok(Some((ExitStatus::from_raw(status), cpu)))
            }
            _ => Err(std::io::Error::last_os_error()),
        }
    }

    /// Waits for the child to end by itself; `None` when `limit` has passed.
    pub fn wait(&mut self, limit: Duration, interrupt: &Interrupt) -> Result<Option<ExitStatus>> {
        interrupt.wait(limit, || self.ended())
    }

    /// Waits as [`Self::wait`] does, but polls seldom: the child is expected to run all the time.
    pub fn wait_through(&mut self, limit: Duration, interrupt: &Interrupt) -> Result<Option<ExitStatus>> {
        let end = Instant::now() + limit;
        interrupt.wait(limit, || {
            let ended = self.ended()?;
            if ended.is_none() {
                std::thread::sleep(SELDOM.min(end.saturating_duration_since(Instant::now())));
            }
            Ok(ended)
        })
    }

    /// Tells the child to end (SIGTERM) and waits; kills it where it doesn't listen.
    pub fn stop(mut self, interrupt: &Interrupt) -> Result<()> {
        self.signal(Signal::TERM)?;
        if self.wait(GRACE, interrupt)?.is_some() {
            // What it started may not have ended with it, and nobody else ends that. There may be nothing left; that
            // another group has the number by now takes as many new processes as there are numbers.
            self.signal_group(Signal::KILL);
        }
        Ok(())
    }

    /// Sends a signal to the child and its group, unless it has ended. A load tool prints its result at `INT`; after
    /// `STOP` a server runs no instruction until `CONT`, and the system still accepts connections for it.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        if self.ended()?.is_none() {
            // It has not been waited for, so the id is its own.
            self.signal_group(signal);
        }
        Ok(())
    }

    /// Sends a signal to the group, which may be gone by now.
    fn signal_group(&self, signal: Signal) {
        if let Some(group) = Pid::from_raw(self.child.id() as i32) {
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Ok(None) = self.ended()
            && self.signal(Signal::KILL).is_ok()
        {
            // The child was killed, so this wait is short; nothing can be done where it fails.
            let _ = self.reap(0);
        }
    }
}

/// A process that somebody else started. Its CPU time counts as that of a child until this goes; it is never ended.
#[derive(Debug)]
pub struct Adopted(u32);

impl Adopted {
    /// Takes the process of that id for a measured one.
    pub fn new(pid: u32) -> Self {
        children().running.insert(pid);
        Self(pid)
    }

    /// The process id.
    pub const fn pid(&self) -> u32 {
        self.0
    }
}

impl Drop for Adopted {
    fn drop(&mut self) {
        children().running.remove(&self.0);
    }
}

/// Removes a file that says nothing. Where it can't be removed, it stays, and is still empty.
pub fn remove_if_empty(path: &Path) {
    if path.metadata().is_ok_and(|metadata| metadata.len() == 0) {
        let _ = std::fs::remove_file(path);
    }
}

/// How a process ended, for a person.
pub fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(libc::SIGKILL)) => "killed by signal 9".to_owned(),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown end".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::harness_usage::{own_cpu_s, own_pids};
    use crate::probe::process_usage::clock_s;

    fn sleeper(placement: Placement, dir: &Path) -> Owned {
        let output = Output { stdout: None, stderr: &dir.join("stderr") };
        Owned::spawn(Path::new("/bin/sleep"), &["60".to_owned()], &output, placement).unwrap()
    }

    fn processors(process: &str) -> String {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        line.unwrap().trim().to_owned()
    }

    #[test]
    fn placement_on_one_core_holds_for_the_child_alone() {
        let dir = tempfile::tempdir().unwrap();
        let before = processors("self");
        let pinned = sleeper(Placement::OneCore, dir.path());
        let free = sleeper(Placement::Free, dir.path());
        assert_eq!(processors(&pinned.pid().to_string()), host::last_processor().unwrap().to_string());
        assert_eq!(processors(&free.pid().to_string()), before);
        assert_eq!(processors("self"), before);
    }

    #[test]
    fn elsewhere_is_every_core_but_the_shared_one() {
        let dir = tempfile::tempdir().unwrap();
        let output = Output { stdout: None, stderr: &dir.path().join("stderr") };
        let (program, limits) = (Path::new("/bin/sleep"), Limits { elsewhere: true, ..Limits::default() });
        let on = |placement| {
            let child = Owned::spawn_with(program, &["60".to_owned()], &output, placement, limits).unwrap();
            processors(&child.pid().to_string())
        };
        let shared = host::last_processor().unwrap().to_string();
        assert_eq!(on(Placement::Free), processors("self"));
        match bench_core::machine::cores() {
            1 => assert_eq!(on(Placement::Duet), shared),
            _ => assert!(!on(Placement::Duet).split([',', '-']).any(|processor| processor == shared)),
        }
    }

    /// A script that ends at SIGTERM, and started what does not.
    #[test]
    fn what_a_child_started_is_ended_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let (started, stderr) = (dir.path().join("started"), dir.path().join("stderr"));
        let script =
            "trap '' TERM; sleep 600 & trap 'exit 0' TERM; echo $! > \"$0\"; while :; do sleep 0.01; done";
        let args = ["-c".to_owned(), script.to_owned(), started.display().to_string()];
        let output = Output { stdout: None, stderr: &stderr };
        let child = Owned::spawn(Path::new("/bin/sh"), &args, &output, Placement::Free).unwrap();
        let interrupt = Interrupt::install().unwrap();
        let pid = || Ok(std::fs::read_to_string(&started).ok().filter(|pid| pid.ends_with('\n')));
        let pid = interrupt.wait(Duration::from_secs(60), pid).unwrap().unwrap();
        let status = format!("/proc/{}/status", pid.trim());
        let runs = || {
            let status = std::fs::read_to_string(&status).unwrap_or_default();
            status.lines().any(|line| line.starts_with("State:") && !line.contains('Z'))
        };
        assert!(runs());
        child.stop(&interrupt).unwrap();
        let gone = interrupt.wait(Duration::from_secs(60), || Ok((!runs()).then_some(()))).unwrap();
        assert!(gone.is_some(), "it still runs");
    }

    #[test]
    fn the_cpu_time_of_an_ended_child_includes_its_children() {
        let dir = tempfile::tempdir().unwrap();
        let output = Output { stdout: None, stderr: &dir.path().join("stderr") };
        let count = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let args = ["-c".to_owned(), format!("sh -c '{count}'; true")];
        let mut child = Owned::spawn(Path::new("/bin/sh"), &args, &output, Placement::Free).unwrap();
        assert!(child.cpu_time().is_none());
        let interrupt = Interrupt::install().unwrap();
        assert!(child.wait(Duration::from_secs(60), &interrupt).unwrap().unwrap().success());
        assert!(child.cpu_time().unwrap().total_s() > 0.01, "{:?}", child.cpu_time());
    }

    #[test]
    fn a_childs_cpu_time_counts_while_it_runs_and_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let output = Output { stdout: None, stderr: &dir.path().join("stderr") };
        let args = ["-c".to_owned(), "while :; do :; done".to_owned()];
        let before = own_cpu_s().unwrap();
        let mut child = Owned::spawn(Path::new("/bin/sh"), &args, &output, Placement::Free).unwrap();
        assert!(own_pids().contains(&child.pid()));
        while clock_s(child.pid()).unwrap() < 0.05 {
            std::thread::sleep(Duration::from_millis(5));
        }
        let while_it_runs = own_cpu_s().unwrap();
        assert!(while_it_runs - before >= 0.05, "{before} to {while_it_runs}");
        child.signal(Signal::INT).unwrap();
        child.wait(Duration::from_secs(60), &Interrupt::install().unwrap()).unwrap().unwrap();
        // The system reports an ended child's time to the microsecond, a running one's to the nanosecond.
        assert!(own_cpu_s().unwrap() >= while_it_runs - 1e-4);
        assert!(!own_pids().contains(&child.pid()));
    }
}
