//! The fuzzer by hand: `just fuzz SECONDS`, or one case again by its seed and number.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a tool for developers may fail loudly")]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use clap::Parser;
use conformance::fuzz::Case;
use conformance::fuzz::run::{Outcome, Plan, Subjects, outline, show};
use conformance::servers::choose;
use serde_json::{Value, json};

/// Sends the same generated requests to every server that is held to the contract and judges the answers.
#[derive(Parser)]
struct Options {
    /// How long to run, in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The most cases.
    #[arg(long, default_value_t = u64::MAX >> 1)]
    cases: u64,
    /// The seed of every case; by default one that the clock gives.
    #[arg(long)]
    seed: Option<u64>,
    /// The number of the first case.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// How many send at the same time; most of them wait for a server that says nothing.
    #[arg(long, default_value_t = 24)]
    workers: usize,
    /// Show one case and what is answered to it, and end.
    #[arg(long)]
    replay: Option<u64>,
    /// Write a summary into a new folder here.
    #[arg(long)]
    results: Option<PathBuf>,
    /// A server of servers.toml; may be given several times.
    #[arg(long = "server")]
    servers: Vec<String>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let seed = options.seed.unwrap_or_else(|| jiff::Timestamp::now().as_millisecond().unsigned_abs());
    let servers = match choose(&options.servers) {
        Ok(servers) => servers.leak(),
        Err(error) => {
            eprintln!("fuzz: {error}");
            return ExitCode::from(2);
        }
    };
    let subjects = Subjects::start(servers);
    if let Some(number) = options.replay {
        let case = Case::new(seed, number);
        println!("{}", show(&case));
        for (server, got) in subjects.answers(&case) {
            let fault = subjects.fault(server, &case, &got).map(|fault| format!("\n  FAULT: {fault}"));
            println!("{server:18} {}{}", outline(&got), fault.unwrap_or_default());
        }
        return ExitCode::SUCCESS;
    }
    let started = jiff::Timestamp::now();
    let time = Duration::from_secs(options.seconds);
    println!("seed {seed}");
    let outcome = subjects.run(Plan {
        seed,
        first: options.first,
        cases: options.cases,
        time,
        workers: options.workers,
    });
    let summary = summary(seed, &started, &subjects, &outcome);
    println!("{summary:#}");
    if let Some(results) = options.results {
        println!("{}", write(&results, &started, &summary).display());
    }
    if outcome.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn summary(seed: u64, started: &jiff::Timestamp, subjects: &Subjects, outcome: &Outcome) -> Value {
    let findings: Vec<Value> = outcome
        .findings
        .iter()
        .map(|finding| json!({"number": finding.number, "minimal": finding.text}))
        .collect();
    let servers: serde_json::Map<String, Value> = subjects
        .servers
        .iter()
        .map(|(server, running)| {
            let ready = &running.ready;
            let about = json!({
                "threads": ready["threads"], "tuning": ready["tuning"], "ledger": ready["ledger"]["sha256"],
            });
            (server.name.clone(), about)
        })
        .collect();
    json!({
        "kind": "fuzzing",
        "started_at": started.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        "duration_s": outcome.duration.as_secs_f64().round(),
        "seed": seed,
        "commit": git(&["rev-parse", "--short=12", "HEAD"]),
        "changed_files": git(&["status", "--porcelain", "--untracked-files=no", "--", ":/servers"]).lines().count(),
        "cases": {"bodies": outcome.cases.0, "raw_http": outcome.cases.1, "websocket": outcome.cases.2},
        "requests_per_server": outcome.requests,
        "faults": {
            "found": outcome.findings.len() as u64 + outcome.repeated,
            "not_there_when_sent_again": outcome.unsteady,
        },
        "findings": findings,
        "servers": servers,
    })
}

/// A new folder, named as the harness names its own.
fn write(results: &Path, started: &jiff::Timestamp, summary: &Value) -> PathBuf {
    let folder = results.join(started.strftime("%Y-%m-%dT%H%M%SZ-fuzz").to_string());
    std::fs::create_dir_all(&folder).expect("the results folder can be written");
    std::fs::write(folder.join("summary.json"), format!("{summary:#}\n"))
        .expect("the summary can be written");
    folder
}

fn git(arguments: &[&str]) -> String {
    let output = Command::new("git").args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim_end().to_owned()).unwrap_or_default()
}
