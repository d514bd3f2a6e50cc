//! For the tests of server crates: starts a server binary, owns it, and sends requests over a real socket.
//!
//! Everything here fails by panicking, as tests do, and every wait has a bound. The harness does the measuring.
//! Switched on by the feature `testing`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "used by tests alone"
)]

#[cfg(feature = "handicap")]
mod handicap;
mod http;
pub mod metrics_tests;
pub mod sockets;
mod stores;
mod subscription_tests;
pub mod websocket_tests;
pub mod ws_client;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::counters::Totals;
#[cfg(feature = "handicap")]
pub use handicap::assert_handicap_is_honoured;
pub use http::{Answers, Connection, HttpAnswer, RawAnswer, connect, exchange, get, post, request};
pub use stores::assert_stores_answer_alike;

/// The bound of every wait for something that is only slow on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// What a server may take from SIGTERM to its end.
pub const DRAIN_LIMIT: Duration = Duration::from_secs(5);

/// A server process, killed when dropped.
#[derive(Debug)]
pub struct Running {
    /// Where it answers.
    pub addr: SocketAddr,
    /// Where it answers GET /metrics, if `--metrics` was among the arguments.
    pub metrics: Option<SocketAddr>,
    /// Its ready line.
    pub ready: Value,
    child: Child,
    stderr: Option<JoinHandle<String>>,
    /// What holds the reader of its stdout up.
    unheard: Option<Mutex<mpsc::Receiver<String>>>,
}

/// How a server says that it is ready.
#[derive(Debug, Clone, Copy)]
pub enum Readiness<'a> {
    /// By a line of JSON on stdout.
    Line {
        /// Where the line has its address, as a JSON pointer.
        addr: &'a str,
        /// Where the line has the address of its metrics.
        metrics: Option<&'a str>,
    },
    /// Not at all: it is ready once this address, which it was given, accepts a connection.
    Accepts(SocketAddr),
}

/// The ready line of this repository's servers.
const OWN_LINE: Readiness<'_> = Readiness::Line { addr: "/addr", metrics: Some("/metrics") };

impl Running {
    /// Starts a server of this repository and waits for its ready line. Adds `--listen 127.0.0.1:0` unless the arguments have
    /// a `--listen`.
    ///
    /// # Panics
    /// See [`Self::launch`].
    pub fn start(program: &Path, args: &[&str]) -> Self {
        Self::launch(command(program, args), OWN_LINE)
    }

    /// As [`Self::start`], but nobody reads its stdout after the ready line: what it prints fills the pipe.
    ///
    /// # Panics
    /// See [`Self::launch`].
    pub fn start_unheard(program: &Path, args: &[&str]) -> Self {
        let (mut running, stdout) = Self::launch_with_stdout(command(program, args), OWN_LINE);
        running.unheard = Some(Mutex::new(stdout));
        running
    }

    /// Starts a server and waits until it is ready.
    ///
    /// # Panics
    /// The program can't be started, or ends or stays silent instead of being ready; says what it wrote to stderr.
    pub fn launch(command: Command, readiness: Readiness<'_>) -> Self {
        Self::launch_with_stdout(command, readiness).0
    }

    /// With further lines of its stdout, which are read only while they are received or once the receiver is dropped.
    fn launch_with_stdout(mut command: Command, readiness: Readiness<'_>) -> (Self, mpsc::Receiver<String>) {
        let mut child = spawn(&mut command);
        let stderr = child.stderr.take().map(collect);
        let lines = lines(child.stdout.take().expect("stdout is piped"));
        let mut running = Self {
            addr: SocketAddr::from(([127, 0, 0, 1], 0)),
            metrics: None,
            ready: Value::Null,
            child,
            stderr,
            unheard: None,
        };
        match readiness {
            Readiness::Line { addr, metrics } => {
                let line = lines.recv_timeout(PATIENCE).ok();
                running.ready = line.and_then(|line| serde_json::from_str(&line).ok()).unwrap_or_default();
                let at = |pointer: &str| running.ready.pointer(pointer)?.as_str()?.parse::<SocketAddr>().ok();
                match (at(addr), metrics.and_then(at)) {
                    (Some(addr), metrics) => (running.addr, running.metrics) = (addr, metrics),
                    _ => panic!("{command:?} printed no ready line with {addr}; stderr: {}", running.kill()),
                }
            }
            Readiness::Accepts(addr) => {
                running.addr = addr;
                let deadline = Instant::now() + PATIENCE;
                while TcpStream::connect(addr).is_err() {
                    if Instant::now() > deadline
                        || running.child.try_wait().is_ok_and(|ended| ended.is_some())
                    {
                        panic!("{command:?} accepts no connection on {addr}; stderr: {}", running.kill());
                    }
                    thread::sleep(Duration::from_millis(5));
                }
            }
        }
        (running, lines)
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// CPU time that the process has used so far, of all its threads, user and system.
    ///
    /// # Panics
    /// The process is gone.
    pub fn cpu_time(&self) -> Duration {
        let pid = libc::pid_t::try_from(self.pid()).expect("a process id is small");
        let mut clock: libc::clockid_t = 0;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointers are to locals that outlive the calls.
        let read = unsafe {
            libc::clock_getcpuclockid(pid, &raw mut clock) == 0
                && libc::clock_gettime(clock, &raw mut time) == 0
        };
        assert!(read, "process {pid} has no CPU clock");
        let part = |number: i64| u64::try_from(number).expect("CPU time is not negative");
        Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec))
    }

    /// How many files it has open: each connection is one.
    ///
    /// # Panics
    /// The process is gone.
    pub fn open_files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid())).expect("the server runs").count()
    }

    /// Sends SIGTERM and waits for the end.
    ///
    /// # Panics
    /// The server is still there 5 s after the signal.
    pub fn stop_gracefully(self) -> ExitStatus {
        self.signal("TERM");
        self.wait_for_end()
    }

    /// Waits for the end after a signal.
    ///
    /// # Panics
    /// The server is still there after 5 s.
    pub fn wait_for_end(mut self) -> ExitStatus {
        wait(&mut self.child, DRAIN_LIMIT).unwrap_or_else(|| panic!("still running 5 s after the signal"))
    }

    /// Stops it as [`Self::stop_gracefully`] does, and gives what it wrote to stderr.
    ///
    /// # Panics
    /// The server is still there 5 s after the signal.
    pub fn stop_for_stderr(mut self) -> String {
        self.signal("TERM");
        assert!(wait(&mut self.child, DRAIN_LIMIT).is_some(), "still running 5 s after the signal");
        self.kill()
    }

    /// Sends a signal, such as `TERM` or `INT`.
    ///
    /// # Panics
    /// The signal's name is unknown, or the process is gone.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.pid().to_string()]).status();
        assert!(status.expect("kill is on every system").success(), "kill -s {name} failed");
    }

    /// The counters, from `--metrics`.
    ///
    /// # Panics
    /// The server was started without `--metrics`, or does not answer.
    pub fn totals(&self) -> Totals {
        let text = get(self.metrics.expect("started with --metrics"), "/metrics").body;
        let count = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("no {name} in {text}"))
        };
        Totals { answered: count("rpc_requests_total"), errors: count("rpc_errors_total") }
    }

    /// Ends the process and gives what it wrote to stderr.
    fn kill(&mut self) -> String {
        let _already_gone = self.child.kill();
        let _already_waited_for = self.child.wait();
        self.stderr.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs a server that is expected to end by itself, such as one with a wrong flag, and gives its whole output. Adds
/// `--listen 127.0.0.1:0` unless the arguments have a `--listen`.
///
/// # Panics
/// It can't be started, or is still running after [`PATIENCE`].
pub fn run_to_end(program: &Path, args: &[&str]) -> Output {
    output(&mut command(program, args))
}

fn output(command: &mut Command) -> Output {
    run_for(command, PATIENCE).unwrap_or_else(|| panic!("{command:?} did not end by itself"))
}

/// Runs a command, and whatever it starts, for at most `limit`; gives its whole output, or `None` where it had to be killed.
///
/// # Panics
/// It can't be started.
pub fn run_for(command: &mut Command, limit: Duration) -> Option<Output> {
    // A group of its own: what it starts would keep the pipes open.
    let mut child = spawn(command.process_group(0));
    let stdout = collect(child.stdout.take().expect("stdout is piped"));
    let stderr = collect(child.stderr.take().expect("stderr is piped"));
    let status = wait(&mut child, limit);
    if status.is_none() {
        let group = format!("-{}", child.id());
        let _already_gone = Command::new("kill").args(["-s", "KILL", "--", &group]).status();
    }
    let bytes = |thread: JoinHandle<String>| thread.join().expect("the reader does not panic").into_bytes();
    Some(Output { status: status?, stdout: bytes(stdout), stderr: bytes(stderr) })
}

/// Asserts that a server of this repository refuses its arguments as [`assert_refused`] has it.
///
/// # Panics
/// It does not.
pub fn refusal(program: &Path, args: &[&str]) -> String {
    assert_refused(command(program, args))
}

/// Asserts that a server refuses to start: exit code 2, nothing on stdout, and one line on stderr, which is given back.
///
/// # Panics
/// It does not.
pub fn assert_refused(mut command: Command) -> String {
    let output = output(&mut command);
    let stderr = String::from_utf8(output.stderr).expect("stderr is text");
    assert_eq!(output.status.code(), Some(2), "{command:?}: {stderr}");
    assert!(output.stdout.is_empty(), "{command:?} printed to stdout");
    assert_eq!(stderr.lines().count(), 1, "{command:?}: {stderr}");
    stderr
}

/// The binary of an example of the crate under test, which cargo builds before it runs tests.
///
/// # Panics
/// It is not there: `cargo test` built one test alone.
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test is a file");
    let target = test.ancestors().nth(2).expect("tests are built in target/PROFILE/deps");
    let program = target.join("examples").join(name);
    assert!(program.is_file(), "{} is missing; build it with cargo build --examples", program.display());
    program
}

fn command(program: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    if !args.contains(&"--listen") {
        command.args(["--listen", "127.0.0.1:0"]);
    }
    command.args(args);
    command
}

fn spawn(command: &mut Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Each line as it comes. Two wait at most; once the receiver is dropped, all is read to the end, so that the writer never waits.
fn lines(from: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            // An error says that nobody wants it.
            let _unread = sender.send(line);
        }
    });
    receiver
}

fn collect(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _what_came_is_enough = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for the end of a process for `limit`; kills it and gives `None` where it did not end.
fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().expect("the child is ours") {
            return Some(status);
        }
        if Instant::now() >= deadline {
            let _already_gone = child.kill();
            let _already_waited_for = child.wait();
            return None;
        }
        thread::sleep(Duration::from_millis(5));
    }
}
