//! Presses every server as hard as the project demands, for about six minutes, and writes the figures into `results/`.
//!
//! The test `pressure` does the same with smaller numbers, and compares no speeds.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use conformance::pressure::{Check, Plan, press, write_report};
use conformance::servers::{choose, one_of_each_program};

/// Checks the contract's bounds under pressure and writes a report.
#[derive(Parser)]
struct Options {
    /// Write the report into a new folder here.
    #[arg(long, default_value = "results")]
    results: PathBuf,
    /// A server of servers.toml; may be given several times. By default one of each program that is held to the contract.
    #[arg(long = "server")]
    servers: Vec<String>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let servers = match choose(&options.servers) {
        Ok(servers) => servers,
        Err(error) => {
            eprintln!("pressure: {error}");
            return ExitCode::from(2);
        }
    };
    let started_at = jiff::Timestamp::now().strftime("%Y-%m-%dT%H%M%SZ").to_string();
    let plan = Plan::FULL;
    let mut found = Vec::new();
    for server in one_of_each_program(&servers) {
        let print = |check: &Check| {
            let verdict = if check.passed() { "pass".to_owned() } else { check.failures.join("; ") };
            println!("{} {}: {verdict}", server.name, check.name);
        };
        found.push((server.name.as_str(), press(server, &plan, print)));
    }
    match write_report(&options.results, &started_at, &plan, &found) {
        Ok(dir) => println!("{}", dir.join("report.md").display()),
        Err(error) => {
            eprintln!("pressure: can't write into {}: {error}", options.results.display());
            return ExitCode::from(2);
        }
    }
    let passed = found.iter().flat_map(|(_, checks)| checks).all(Check::passed);
    ExitCode::from(u8::from(!passed))
}
