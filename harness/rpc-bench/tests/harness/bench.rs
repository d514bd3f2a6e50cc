//! A configuration folder of a test's own, the harness run on it, and a look at what is left running.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bench_core::cargo::without_own_package;
use bench_core::config::ConfigDir;
use bench_core::load::LoadTool;
use bench_core::load::toolchain::Tool;
use serde_json::Value;
use tempfile::TempDir;

use crate::started::Running;

/// Configurations of tests.
const SETUPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/harness/setups");

/// How long anything here may take. A bound, never a measure.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// The environment of a service that has nothing of ours, whatever other processes do.
pub const ANY_LOAD: &str = "[environment]\nmax_foreign_cpu = \"100%\"\nmax_steal = \"100%\"\n";

/// The entry of a server that takes our servers' flags, with these, too.
pub fn entry(name: &str, program: &Path, flags: &[&str]) -> String {
    let flags: String = flags.iter().map(|flag| format!(", {flag:?}")).collect();
    format!(
        "[[server]]\nname = \"{name}\"\ntitle = \"{name} of a test\"\nprogram = {program:?}\n\
         args = [\"--listen\", \"{{listen}}\", \"--metrics\", \"127.0.0.1:0\", \"--accounts\", \
         \"{{accounts}}\", \"--slots\", \"{{slots}}\"{flags}]\n\
         ready = {{ line = {{ addr = \"/addr\", metrics = \"/metrics\" }} }}\n"
    )
}

/// The kernel counts full listen queues of the whole machine: tests that fill one, and those for which none may be
/// full, take turns.
pub fn listen_queues_in_turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder with a configuration, links to the programs, and results.
pub struct Bench {
    pub dir: TempDir,
}

/// The folder of the servers: cargo builds them once for all tests.
fn programs() -> &'static Path {
    static FOLDER: OnceLock<&'static Path> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let names = ["server-actix", "server-control", "server-axum", "ledger"];
        let bins = names.iter().flat_map(|name| ["--bin", name]);
        built(bins.chain(["--example", "faulty-actix", "--example", "planted"]));
        Path::new(env!("CARGO_BIN_EXE_rpc-bench")).parent().unwrap()
    })
}

/// A program of the workspace, of those that are built.
pub fn program(name: &str) -> PathBuf {
    programs().join(name)
}

/// A program with features that servers are not compared with: together, so that what is below them is built once.
fn special_build(name: &str) -> PathBuf {
    static BUILT: Once = Once::new();
    let features = ["--features", "server-axum/calls"];
    let examples = ["--example", "timed-axum"];
    BUILT.call_once(|| built(features.into_iter().chain(examples)));
    programs().join("examples").join(name)
}

/// Builds programs as `cargo test --workspace` builds them: of their packages alone cargo would take fewer features,
/// and so build most crates below them once more. An example is to be among them, for the features that tests add.
fn built<'a>(targets: impl IntoIterator<Item = &'a str>) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["build", "--quiet", "--workspace"])
        .args(targets)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench-scripts"));
    without_own_package(&mut command);
    assert!(command.status().unwrap().success(), "{command:?} failed");
}

/// The load tool, built once. Without it and without Go there is nothing to run: the test says so and ends, except in
/// CI, where that is a failure.
fn load_tool() -> Option<&'static Path> {
    static TOOL: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = TOOL.get_or_init(|| {
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-scripts/tools");
        match Tool::find(LoadTool::Bombardier, &tools) {
            Ok(tool) => Some(tool.path),
            Err(error) if std::env::var_os("CI").is_none() => {
                eprintln!("SKIPPED: {error:#}");
                None
            }
            Err(error) => panic!("no load tool in CI: {error:#}"),
        }
    });
    found.as_deref()
}

impl Bench {
    /// A campaign of `blocks` blocks over actix and control, in the windows of tests. `None` without a load tool.
    pub fn new(blocks: u32) -> Option<Self> {
        let tool = load_tool()?;
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for folder in ["workloads", "campaigns", "tools"] {
            fs::create_dir(root.join(folder)).unwrap();
        }
        symlink(fs::canonicalize(tool).unwrap(), root.join("bombardier")).unwrap();
        let mut servers = String::new();
        for name in ["actix", "control"] {
            let file = format!("server-{name}");
            let linked = root.join(&file);
            symlink(program(&file), &linked).unwrap();
            let answer = if name == "control" { &["--answer-to", "{request}"][..] } else { &[] };
            servers.push_str(&entry(name, &linked, answer));
        }
        let bench = Self { dir };
        bench.add_workload("getBalance");
        bench.write("servers.toml", &servers);
        bench.set_up("tiny", &[("BLOCKS", &blocks.to_string())]);
        Some(bench)
    }

    /// The same with another configuration.
    pub fn of(setup: &str, filled: &[(&str, &str)]) -> Option<Self> {
        let bench = Self::new(1)?;
        bench.set_up(setup, filled);
        Some(bench)
    }

    /// Puts the files of `setups/NAME` into the configuration, `@DIR@` and each `@WORD@` filled in.
    pub fn set_up(&self, name: &str, filled: &[(&str, &str)]) {
        let root = Path::new(SETUPS).join(name);
        let own = self.dir.path().to_str().unwrap();
        let mut left = vec![root.clone()];
        while let Some(path) = left.pop() {
            let to = self.dir.path().join(path.strip_prefix(&root).unwrap());
            if path.is_dir() {
                fs::create_dir_all(to).unwrap();
                left.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
                continue;
            }
            let mut text = fs::read_to_string(&path).unwrap();
            for (word, value) in [("DIR", own)].iter().chain(filled) {
                text = text.replace(&format!("@{word}@"), value);
            }
            let is_word = |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_uppercase());
            assert_eq!(text.split('@').find(is_word), None, "{}: not filled in", path.display());
            fs::write(&to, text).unwrap();
            fs::set_permissions(to, path.metadata().unwrap().permissions()).unwrap();
        }
    }

    /// Adds a workload of the repository.
    pub fn add_workload(&self, name: &str) {
        let file = format!("workloads/{name}.toml");
        fs::copy(ConfigDir::of_repository().0.join(&file), self.path(&file)).unwrap();
    }

    /// Adds vegeta. False, reported, where it is not built: that takes more than half a minute of both cores.
    pub fn link_vegeta(&self) -> bool {
        static VEGETA: OnceLock<Option<PathBuf>> = OnceLock::new();
        let found = VEGETA.get_or_init(|| {
            let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-scripts/tools");
            let found = Tool::find_built(LoadTool::Vegeta, &tools).unwrap();
            if found.is_none() {
                eprintln!("SKIPPED: vegeta is not built; `just tools vegeta` builds it");
            }
            found.map(|tool| tool.path)
        });
        let Some(path) = found else { return false };
        symlink(fs::canonicalize(path).unwrap(), self.path("vegeta")).unwrap();
        true
    }

    /// A link to a program of the workspace.
    pub fn link(&self, name: &str) -> PathBuf {
        let link = self.path(name);
        symlink(program(name), &link).unwrap();
        link
    }

    /// A link, by the server's own name, to axum's build whose calls are timed.
    pub fn link_timed_axum(&self) -> PathBuf {
        let link = self.path("server-axum");
        symlink(special_build("timed-axum"), &link).unwrap();
        link
    }

    /// A link to the server with planted faults.
    pub fn link_faulty(&self) -> PathBuf {
        let link = self.path("faulty-actix");
        symlink(programs().join("examples/faulty-actix"), &link).unwrap();
        link
    }

    /// Adds the server with planted faults, `faulty`, to those that are known.
    pub fn add_faulty(&self, flags: &[&str]) {
        let known = fs::read_to_string(self.path("servers.toml")).unwrap();
        self.write("servers.toml", &(known + &entry("faulty", &self.link_faulty(), flags)));
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Changes one place in a configuration file.
    pub fn replace(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(name)).unwrap();
        assert!(text.contains(from), "{name} has no {from:?}");
        self.write(name, &text.replace(from, to));
    }

    /// The harness on this configuration, not yet started.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rpc-bench"));
        command.arg("--config").arg(self.dir.path()).arg("--results").arg(self.path("results"));
        command.args(args).stdin(Stdio::null());
        command.env("BOMBARDIER", self.path("bombardier"));
        if self.path("vegeta").is_file() {
            command.env("VEGETA", self.path("vegeta"));
        }
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        ended(&mut self.command(args))
    }

    /// The same, of a call that must succeed and leave nothing running.
    pub fn succeeds(&self, args: &[&str]) -> Output {
        let output = self.run(args);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{args:?}: {said}{}", stderr(&output));
        self.nothing_is_left_running();
        output
    }

    /// Starts the harness and leaves it running. What it prints goes to a file, so that it never waits for a reader.
    pub fn start(&self, args: &[&str]) -> Running {
        let log = fs::File::create(self.path("log")).unwrap();
        let child = self.command(args).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        Running { child }
    }

    /// The only run there is.
    pub fn folder(&self) -> PathBuf {
        let mut runs: Vec<PathBuf> =
            fs::read_dir(self.path("results")).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.remove(0)
    }

    /// The observations so far, whole lines only.
    pub fn observations(&self) -> Vec<Value> {
        self.observations_in("")
    }

    /// Those of a folder inside the run's, whole lines only.
    pub fn observations_in(&self, folder: &str) -> Vec<Value> {
        // The results folder comes a moment before the run's own.
        if fs::read_dir(self.path("results")).map_or(0, Iterator::count) == 0 {
            return Vec::new();
        }
        let path = self.folder().join(folder).join("observations.ndjson");
        let Ok(text) = fs::read_to_string(path) else { return Vec::new() };
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        text[..whole].lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Resumes the run, without the last observation of a folder inside it. Those before it must stay as they are.
    pub fn resume_without_the_last_in(&self, folder: &str, set_up: impl FnOnce(&mut Command)) {
        let run = self.folder();
        let path = run.join(folder).join("observations.ndjson");
        let whole = fs::read_to_string(&path).unwrap();
        let kept = &whole[..whole.trim_end().rfind('\n').unwrap() + 1];
        fs::write(&path, kept).unwrap();
        let mut resumed = self.command(&["run", "--resume", run.to_str().unwrap()]);
        set_up(&mut resumed);
        let resumed = resumed.output().unwrap();
        assert!(resumed.status.success(), "{}", stderr(&resumed));
        self.nothing_is_left_running();
        let all = fs::read_to_string(&path).unwrap();
        assert!(all.starts_with(kept), "nothing that was measured is lost: {all}");
    }

    /// Packs the run: nothing that tools printed is left, so each of its files has a name that is known as the
    /// harness's own.
    pub fn packs(&self) {
        self.succeeds(&["pack", self.folder().to_str().unwrap()]);
        let mut left = vec![self.folder()];
        while let Some(folder) = left.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let held =
                    || fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
                assert!(!path.ends_with("tool-output"), "{:?}", held());
                left.extend(path.is_dir().then_some(path));
            }
        }
    }

    /// How each trial came out.
    pub fn outcomes(&self) -> Vec<String> {
        self.observations().iter().map(|o| o["outcome"]["kind"].as_str().unwrap().to_owned()).collect()
    }

    pub fn report(&self) -> String {
        fs::read_to_string(self.folder().join("report.md")).unwrap()
    }

    /// The report, which must have all of these.
    pub fn report_has(&self, needed: &[impl AsRef<str>]) -> String {
        let report = self.report();
        for part in needed.iter().map(AsRef::as_ref) {
            assert!(report.contains(part), "the report lacks {part:?}:\n{report}");
        }
        report
    }

    pub fn summary(&self) -> Value {
        serde_json::from_slice(&fs::read(self.folder().join("summary.json")).unwrap()).unwrap()
    }
}

/// What a harness said at its end. One that finds the machine too busy for any constant rate is started again, for a
/// bounded number of times: other tests run at the same time, and it removed its run.
pub fn ended(command: &mut Command) -> Output {
    let is_too_busy = |output: &Output| stderr(output).contains("no load tool can send even");
    let mut output = command.output().unwrap();
    for _ in 0..4 {
        if !is_too_busy(&output) {
            break;
        }
        output = command.output().unwrap();
    }
    output
}

pub fn kill(pid: i32, signal: i32) {
    // SAFETY: kill only sends a signal; the processes are this test's own.
    unsafe { libc::kill(pid, signal) };
}

/// Tries until there is an answer, for a bounded time.
pub fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Some(answer) = ask() {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{what}: not within {PATIENCE:?}")
}

/// What a wrong call said, which must hold all of these; its exit code must be 2.
pub fn refused(output: &Output, holds: &[&str]) -> String {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    holds.iter().for_each(|part| assert!(said.contains(part), "{said:?} lacks {part:?}"));
    assert!(!said.contains("panicked"), "{said}");
    said
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
