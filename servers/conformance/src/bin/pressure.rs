//! Presses every server as hard as the project demands, for about six minutes, and writes the figures into `results/`.
//!
//! Not for: tests (the test `pressure` does the same in small), nor for comparing speeds.

use std::path::PathBuf;
use std::process::ExitCode;

use conformance::pressure::{Check, Plan, press, write_report};
use conformance::servers::{ACTIX, AXUM, JSONRPSEE, LEGACY};

fn main() -> ExitCode {
    let results = match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => PathBuf::from("results"),
        [flag, dir] if flag == "--results" => PathBuf::from(dir),
        _ => {
            eprintln!("pressure: the only option is --results DIR");
            return ExitCode::from(2);
        }
    };
    let started_at = jiff::Timestamp::now().strftime("%Y-%m-%dT%H%M%SZ").to_string();
    let plan = Plan::FULL;
    let found = [LEGACY, JSONRPSEE, ACTIX, AXUM].map(|server| {
        let said = |check: &Check| {
            let verdict = if check.passed() { "pass".to_owned() } else { check.failures.join("; ") };
            println!("{} {}: {verdict}", server.name, check.name);
        };
        (server.name, press(&server, &plan, said))
    });
    match write_report(&results, &started_at, &plan, &found) {
        Ok(dir) => println!("{}", dir.join("report.md").display()),
        Err(error) => {
            eprintln!("pressure: can't write into {}: {error}", results.display());
            return ExitCode::from(2);
        }
    }
    let passed = found.iter().flat_map(|(_, checks)| checks).all(|check| check.passed());
    ExitCode::from(u8::from(!passed))
}
