//! `action.yml`: its steps are carried out one after the other as GitHub's runner does, without a container, on a
//! server in Python in a repository of its own. What the runner adds (expressions, the `GITHUB_*` files, the shell) is
//! this file's; the commands are the action's.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bench_core::config::ConfigDir;
use bench_core::load::LoadTool;
use bench_core::load::toolchain::Tool;
use serde_json::Value;

use crate::{git, root};

/// A server that takes a method and does some work for it.
const SERVER: &str = include_str!("action/server.py");

const ENTRY: &str = include_str!("action/servers.toml");

const WORKLOAD: &str = include_str!("action/ping.toml");

/// The action; `None`, which it says, where nothing here reads YAML.
fn action() -> Option<Value> {
    let read = "import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)";
    let output = Command::new("python3").args(["-c", read]).arg(root().join("action.yml")).output();
    let output = output.ok().filter(|output| output.status.success());
    if output.is_none() {
        skipped("python3 with yaml is missing on this machine");
    }
    Some(serde_json::from_slice(&output?.stdout).unwrap())
}

fn skipped(why: &str) {
    // Also where the test runner hides what tests print.
    let _nobody_reads_it = writeln!(std::io::stderr(), "SKIPPED: the action: {why}");
}

/// A runner with the action and somebody's repository.
struct Runner {
    dir: tempfile::TempDir,
    action: Value,
    bombardier: PathBuf,
}

/// What a job of the action left.
struct Job {
    /// Whether every step succeeded.
    succeeded: bool,
    said: String,
    summary: String,
    outputs: BTreeMap<String, String>,
}

impl Runner {
    fn new() -> Option<Self> {
        let action = action()?;
        let bombardier = match Tool::find(
            LoadTool::Bombardier,
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-scripts/tools"),
        ) {
            Ok(tool) => fs::canonicalize(tool.path).unwrap(),
            Err(error) if std::env::var_os("CI").is_none() => {
                skipped(&format!("{error:#}"));
                return None;
            }
            Err(error) => panic!("no load tool in CI: {error:#}"),
        };
        let runner = Self { dir: tempfile::tempdir().unwrap(), action, bombardier };
        for folder in ["action", "bin", "temp", "repository/bench/workloads"] {
            fs::create_dir_all(runner.path(folder)).unwrap();
        }
        symlink(
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench-scripts"),
            runner.path("action/bench-scripts"),
        )
        .unwrap();
        runner.write("repository/server.py", SERVER);
        runner.write("repository/bench/servers.toml", ENTRY);
        runner.write("repository/bench/workloads/ping.toml", WORKLOAD);
        runner.git(&["init", "--quiet"]);
        runner.commit();
        runner.builds(&format!(
            "ln --symbolic --force {} target/debug/rpc-bench",
            env!("CARGO_BIN_EXE_rpc-bench")
        ));
        Some(runner)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn git(&self, args: &[&str]) -> String {
        git::git(&self.path("repository"), args)
    }

    fn commit(&self) {
        git::commit(&self.path("repository"));
    }

    /// What stands in for cargo: the tests have built the harness already.
    fn builds(&self, command: &str) {
        let wanted = "build --locked --quiet --package rpc-bench --bin rpc-bench --target-dir target";
        let text =
            format!("#!/bin/sh -e\ntest \"$*\" = '{wanted}'\nmkdir --parents target/debug\n{command}\n");
        self.write("bin/cargo", &text);
        fs::set_permissions(self.path("bin/cargo"), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A harness that ends with that exit code.
    fn ends_with(&self, code: u8) {
        self.builds(&format!(
            "printf '#!/bin/sh\\nexit {code}\\n' >target/debug/ended\nchmod +x target/debug/ended\nln --symbolic \
             --force ended target/debug/rpc-bench"
        ));
    }

    /// Carries the action's steps out with those inputs, and all others as they are by default.
    fn job(&self, given: &[(&str, &str)]) -> Job {
        let mut values: BTreeMap<String, String> = BTreeMap::new();
        for (name, input) in self.action["inputs"].as_object().unwrap() {
            let stated = given.iter().find(|(known, _)| known == name).map(|(_, value)| (*value).to_owned());
            let default =
                || input["default"].as_str().unwrap_or_else(|| panic!("{name} is required")).to_owned();
            values.insert(format!("inputs.{name}"), stated.unwrap_or_else(default));
        }
        let unknown = given.iter().find(|(name, _)| !values.contains_key(&format!("inputs.{name}")));
        assert!(unknown.is_none(), "{unknown:?}");
        let summary = self.path("temp/summary");
        fs::write(&summary, "").unwrap();
        let (mut said, mut succeeded) = (String::new(), true);
        for step in self.action["runs"]["steps"].as_array().unwrap() {
            assert_eq!(step["shell"], "bash", "{step}");
            let outputs = self.path("temp/outputs");
            fs::write(&outputs, "").unwrap();
            let mut bash = Command::new("bash");
            bash.args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c"])
                .arg(step["run"].as_str().unwrap());
            for (name, value) in step["env"].as_object().into_iter().flatten() {
                bash.env(name, filled(value.as_str().unwrap(), &values));
            }
            let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap());
            bash.env("PATH", path)
                .env("BOMBARDIER", &self.bombardier)
                .env("GITHUB_ACTION_PATH", self.path("action"))
                .env("GITHUB_OUTPUT", &outputs)
                .env("GITHUB_STEP_SUMMARY", &summary)
                .env("RUNNER_TEMP", self.path("temp"))
                .current_dir(self.path("repository"))
                .stdin(Stdio::null());
            let output = bash.output().unwrap();
            said += &String::from_utf8_lossy(&output.stdout);
            said += &String::from_utf8_lossy(&output.stderr);
            for line in fs::read_to_string(&outputs).unwrap().lines() {
                let (name, value) = line.split_once('=').unwrap();
                let id = step["id"].as_str().unwrap();
                values.insert(format!("steps.{id}.outputs.{name}"), value.to_owned());
            }
            if !output.status.success() {
                succeeded = false;
                break;
            }
        }
        let output = |(name, stated): (&String, &Value)| {
            let expression = stated["value"].as_str().unwrap().trim_matches(['$', '{', '}', ' ']);
            (name.clone(), values.get(expression).cloned().unwrap_or_default())
        };
        let outputs = self.action["outputs"].as_object().unwrap().iter().map(output).collect();
        Job { succeeded, said, summary: fs::read_to_string(summary).unwrap(), outputs }
    }
}

/// A text with its one expression's value.
fn filled(text: &str, values: &BTreeMap<String, String>) -> String {
    let Some(name) = text.strip_prefix("${{ ").and_then(|rest| rest.strip_suffix(" }}")) else {
        assert!(!text.contains("${{"), "{text}");
        return text.to_owned();
    };
    values.get(name).unwrap_or_else(|| panic!("{name} has no value")).clone()
}

#[test]
fn a_server_that_got_slower_fails_the_job_and_one_that_did_not_change_is_not_measured() {
    let Some(runner) = Runner::new() else { return };
    let base = runner.git(&["rev-parse", "HEAD"]);
    // Other tests run next to this one.
    let always = [("server", "mine"), ("workload", "ping"), ("minutes", "1"), ("max-foreign-cpu", "100%")];
    let inputs = |base| [&always[..], &[("base", base)]].concat();
    let job = runner.job(&inputs(&base));
    assert!(job.succeeded && job.summary.starts_with("### Not measured\n"), "{}{}", job.said, job.summary);
    assert_eq!(job.outputs["exit-code"], "0");
    runner.write("repository/server.py", &SERVER.replace("WORK = 200", "WORK = 20000"));
    // The base's program is the PATH's and its script the base's; this commit builds its program.
    let built = "build = [\"install\", \"--mode=755\", \"server.py\", \"mine\"]\nprogram = \"mine\"";
    let entry =
        ENTRY.replace("program = \"python3\"", built).replace("\"server.py\", \"{listen}\"", "\"{listen}\"");
    runner.write("repository/bench/servers.toml", &entry);
    runner.commit();
    let job = runner.job(&inputs(&base));
    assert!(!job.succeeded && job.said.contains("::error title=mine got slower::"), "{}", job.said);
    assert_eq!(job.outputs["exit-code"], "1");
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let row =
        |line: &&str| cells(line).starts_with(&["", "mine", "ping", "CPU per request"].map(str::to_owned));
    let cpu = job.summary.lines().find(row).unwrap_or_else(|| panic!("{}", job.summary));
    assert!(
        job.summary.starts_with("### mine: slower\n") && cpu.contains("**SLOWER by more than 5%**"),
        "{cpu}"
    );
    // Both were started in their own checkout, and that of the base is gone.
    let left = fs::read_dir(runner.path("repository/target/gate")).unwrap().count();
    assert_eq!((left, runner.git(&["worktree", "list"]).lines().count()), (1, 1), "the lock alone");
    let runs = fs::read_dir(&job.outputs["results"]).unwrap();
    let reports = runs.filter(|run| run.as_ref().unwrap().path().join("report.md").is_file()).count();
    assert_eq!(reports, 1);
}

#[test]
fn what_is_inconclusive_warns_and_what_can_not_be_carried_out_fails() {
    let Some(runner) = Runner::new() else { return };
    let job = |code| {
        runner.ends_with(code);
        let job = runner.job(&[("server", "mine"), ("base", "HEAD")]);
        assert_eq!(job.outputs["exit-code"], code.to_string());
        (job.succeeded, job.said)
    };
    assert_eq!(job(0), (true, String::new()));
    let (succeeded, said) = job(3);
    assert!(succeeded && said.starts_with("::warning title=mine may be slower::"), "{said}");
    let (succeeded, said) = job(2);
    assert!(!succeeded && said.starts_with("::error title=mine was not compared::"), "{said}");
    let absent = runner.job(&[("server", "mine"), ("base", "nobody")]);
    assert!(!absent.succeeded && absent.outputs["exit-code"].is_empty(), "{}", absent.said);
}

#[test]
fn a_wrong_call_is_one_line_and_leaves_no_checkout() {
    let Some(runner) = Runner::new() else { return };
    let entry = |from: &str, to: &str| {
        runner.write("repository/bench/servers.toml", &ENTRY.replace(from, to));
    };
    let refuses = |folder: &str, args: &[&str], named: &str| {
        let mut gate = Command::new(env!("CARGO_BIN_EXE_rpc-bench"));
        gate.arg("--config").arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench-scripts")).args([
            "gate",
            "--all",
            "--base-rev",
            "HEAD",
        ]);
        let output = gate.args(args).current_dir(runner.path(folder)).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let last = said.lines().last().unwrap_or_default();
        assert!(output.status.code() == Some(2) && last.contains(named), "{args:?}: {said}");
        assert_eq!(runner.git(&["worktree", "list"]).lines().count(), 1, "{args:?}");
    };
    let mine = ["--server", "mine", "--servers", "bench"];
    refuses("repository", &["--server", "nobody", "--servers", "bench"], "no server \"nobody\"");
    refuses("repository", &["--server", "mine", "--servers", "none"], "none/servers.toml");
    refuses("repository", &[&mine[..], &["--workload", "nope"]].concat(), "no \"nope\"");
    refuses(
        "repository/bench",
        &["--server", "mine", "--servers", "."],
        "start a gate in the repository's root",
    );
    entry("program", "build = [\"false\"]\nprogram");
    refuses("repository", &mine, "server mine: its build failed");
    entry("\"python3\"", "\"bin/server\"");
    refuses("repository", &mine, "there is no bin/server; was it built?");
    let running = "ready = { running = { url = \"http://127.0.0.1:1\" } }";
    runner.write(
        "repository/bench/servers.toml",
        &format!("[[server]]\nname = \"mine\"\ntitle = \"mine\"\n{running}\n"),
    );
    refuses("repository", &mine, "runs already, and a gate starts both of its sides");
}

/// The page's files are read as they stand there.
#[test]
fn the_harness_reads_the_examples_of_the_page() {
    let page = fs::read_to_string(root().join("docs/CI.md")).unwrap();
    let example = |file: &str| {
        let (_, text) = page.split_once(&format!("```toml\n# {file}\n")).unwrap();
        text.split_once("```").unwrap().0
    };
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("workloads")).unwrap();
    fs::write(dir.path().join("servers.toml"), example("bench/servers.toml")).unwrap();
    fs::write(dir.path().join("workloads/ping.toml"), example("bench/workloads/ping.toml")).unwrap();
    let config = ConfigDir(dir.path().to_owned());
    assert_eq!(config.server("mine").unwrap().program, "bench/server");
    assert_eq!(config.workload("ping").unwrap().method(), "ping");
}

/// The page's step gives the action what it takes, and this repository's own workflow is sound.
#[test]
fn workflows_pass_actionlint() {
    let page = fs::read_to_string(root().join("docs/CI.md")).unwrap();
    let (_, step) = page.split_once("```yaml\n").unwrap();
    let step = step.split_once("```").unwrap().0;
    assert_eq!(step.lines().count(), 5, "{step}");
    let dir = tempfile::tempdir().unwrap();
    let workflows = dir.path().join(".github/workflows");
    fs::create_dir_all(&workflows).unwrap();
    fs::create_dir(dir.path().join(".git")).unwrap();
    fs::copy(root().join("action.yml"), dir.path().join("action.yml")).unwrap();
    // The action is that folder's.
    let step = step.replace("OWNER/REPOSITORY@v0.1.0", "./");
    let job = format!("on: pull_request\njobs:\n  gate:\n    runs-on: ubuntu-24.04\n    steps:\n{step}");
    fs::write(workflows.join("gate.yml"), job).unwrap();
    for folder in [dir.path().to_owned(), root()] {
        let Ok(output) = Command::new("actionlint").current_dir(&folder).output() else {
            return skipped("actionlint is missing on this machine");
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}
