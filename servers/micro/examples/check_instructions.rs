//! `check-instructions`: counts the instructions of each path under valgrind, and holds them against the accepted ones.
//!
//! Ends with 0 where no path grew by more than the tolerance (or valgrind is missing, which it says), 1 where one did, 2 where
//! it could not count. `--accept` writes the counts into the repo instead. See `just check-instructions`.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use micro::accepted::{Accepted, Counts, Finding, REQUESTS, TOLERANCE_PERCENT};
use serde_json::Value;

/// The version of gungraun in the workspace's Cargo.toml: its runner must be of the same.
const RUNNER: &str = "gungraun-runner@0.20.0";

const EXIT_GREW: u8 = 1;
const EXIT_WRONG: u8 = 2;

/// Count the instructions of each path under valgrind, and hold them against the accepted counts.
#[derive(Parser)]
#[command(name = "check-instructions", version)]
struct Options {
    /// Write the counts into the repo instead of comparing them
    #[arg(long)]
    accept: bool,
}

fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) if !error.use_stderr() => {
            print!("{error}");
            return ExitCode::SUCCESS;
        }
        Err(error) => return wrong(&server_kit::one_line(&error.to_string())),
    };
    carry_out(&options).unwrap_or_else(|error| wrong(&format!("{error:#}")))
}

fn wrong(message: &str) -> ExitCode {
    eprintln!("check-instructions: {}", message.replace('\n', " "));
    ExitCode::from(EXIT_WRONG)
}

fn carry_out(options: &Options) -> Result<ExitCode> {
    let Ok(valgrind) = first_line(Command::new("valgrind").arg("--version")) else {
        println!(
            "SKIPPED: instruction counts: there is no valgrind here; install the system's package of that name"
        );
        return Ok(ExitCode::SUCCESS);
    };
    let rustc = first_line(Command::new("rustc").arg("--version"))?;
    let root = root()?;
    let file = root.join("servers/micro/accepted-instructions.toml");
    let now = Accepted { rustc, valgrind, instructions_per_request: count(&root)? };
    if options.accept {
        now.write(&file)?;
        println!("{} paths accepted in {}", now.instructions_per_request.len(), file.display());
        return Ok(ExitCode::SUCCESS);
    }
    let accepted = Accepted::read(&file)?;
    let findings = accepted.compare(&now.instructions_per_request);
    for finding in &findings {
        println!("{finding}");
    }
    if !findings.iter().any(Finding::fails) {
        println!("No path takes over {TOLERANCE_PERCENT} % more instructions than accepted.");
        return Ok(ExitCode::SUCCESS);
    }
    println!("If that is meant, just accept-instructions; and say in the commit why.");
    if (&accepted.rustc, &accepted.valgrind) != (&now.rustc, &now.valgrind) {
        println!(
            "Accepted were the counts of {} under {}; here are {} and {}, which may be the reason.",
            accepted.rustc, accepted.valgrind, now.rustc, now.valgrind
        );
    }
    Ok(ExitCode::from(EXIT_GREW))
}

/// Runs the benchmarks, each under callgrind, and gives the instructions of one request.
fn count(root: &Path) -> Result<Counts> {
    let tools = root.join("target/tools");
    run(cargo().args(["install", "--debug", "--locked", "--quiet", "--root"]).arg(&tools).arg(RUNNER))?;
    let home = root.join("target/instructions");
    if home.exists() {
        std::fs::remove_dir_all(&home).with_context(|| format!("remove {}", home.display()))?;
    }
    let mut bench = cargo();
    bench.args(["bench", "--quiet", "--package", "micro", "--no-default-features"]);
    bench.args(["--bench", "instructions", "--"]);
    bench.args(["--save-summary=json", "--nosummary"]).arg("--home").arg(&home);
    // What it prints compares with an earlier run of the same machine, which is not wanted here.
    bench.env("GUNGRAUN_RUNNER", tools.join("bin/gungraun-runner")).stdout(Stdio::null());
    run(bench.current_dir(root))?;
    let mut files = Vec::new();
    summaries(&home, &mut files)?;
    let counts = files.iter().map(|file| read(file)).collect::<Result<Counts>>()?;
    ensure!(!counts.is_empty(), "the benchmarks left no counts in {}", home.display());
    Ok(counts)
}

/// The path and the instructions of one request, out of one benchmark's summary.
fn read(file: &Path) -> Result<(String, u64)> {
    let text = std::fs::read(file).with_context(|| format!("read {}", file.display()))?;
    let summary: Value = serde_json::from_slice(&text).with_context(|| format!("{}", file.display()))?;
    let text = |name: &str| summary.get(name).and_then(Value::as_str);
    let (Some(way), Some(workload)) = (text("function_name"), text("id")) else {
        bail!("{} does not name its benchmark", file.display())
    };
    let instructions = summary.pointer(INSTRUCTIONS).and_then(Value::as_u64);
    let all = instructions.with_context(|| format!("{} has no {INSTRUCTIONS}", file.display()))?;
    Ok((format!("{way}/{workload}"), all / REQUESTS as u64))
}

/// Where gungraun's summary has the instructions.
const INSTRUCTIONS: &str = "/profiles/0/data/total/metrics/Ir/values/new";

fn summaries(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
    for entry in entries {
        let path = entry.with_context(|| format!("read {}", folder.display()))?.path();
        if path.is_dir() {
            summaries(&path, found)?;
        } else if path.file_name().is_some_and(|name| name == "summary.json") {
            found.push(path);
        }
    }
    Ok(())
}

/// The folder of the workspace, wherever this was started.
fn root() -> Result<PathBuf> {
    let manifest = first_line(cargo().args(["locate-project", "--workspace", "--message-format", "plain"]))?;
    Ok(Path::new(&manifest).parent().context("the workspace has no folder")?.to_path_buf())
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("start {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}

fn first_line(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("start {command:?}"))?;
    ensure!(output.status.success(), "{command:?} ended with {}", output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
