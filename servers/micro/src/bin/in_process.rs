//! `in-process`: what a server's request costs without sockets, one line of JSON for each repeat. The harness puts the lines
//! under what a request costs over HTTP.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Parser;
use micro::{Call, Cost, Rung, Server, cost_of};
use serde::Serialize;
use validator_state::{Ledger, SeededSpec, State};

/// Exit code of a wrong call, or of an answer that is not the state's.
const EXIT_WRONG: u8 = 2;

/// What a server's request costs without sockets.
#[derive(Parser)]
#[command(name = "in-process", version)]
struct Options {
    /// Whose way the request goes
    #[arg(long, value_name = "SERVER")]
    server: Server,
    /// How far it goes
    #[arg(long, value_name = "RUNG")]
    rung: Rung,
    /// The body of one call, or a file that holds it
    #[arg(long, value_name = "FILE_OR_JSON")]
    request: String,
    /// Accounts of the seeded ledger
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000_000), default_value_t = 100_000)]
    accounts: u32,
    /// Slots of the seeded ledger
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000), default_value_t = SeededSpec::default().slots)]
    slots: u64,
    /// Seed of the ledger
    #[arg(long, value_name = "N", default_value_t = SeededSpec::default().seed)]
    seed: u64,
    /// Requests in each repeat
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), default_value_t = 10_000)]
    requests: u64,
    /// How often to measure
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..), default_value_t = 5)]
    repeats: u32,
}

/// One repeat.
#[derive(Serialize)]
struct Line {
    server: Server,
    rung: Rung,
    requests: u64,
    cpu_ns_per_request: f64,
    wall_ns_per_request: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocations_per_request: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocated_bytes_per_request: Option<f64>,
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
    match carry_out(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => wrong(&format!("{error:#}")),
    }
}

fn wrong(message: &str) -> ExitCode {
    eprintln!("in-process: {}", message.replace('\n', " "));
    ExitCode::from(EXIT_WRONG)
}

fn carry_out(options: &Options) -> Result<()> {
    let call = Call::read(&body(&options.request)?)?;
    let accounts = usize::try_from(options.accounts).unwrap_or(usize::MAX);
    let spec = SeededSpec { accounts, slots: options.slots, seed: options.seed };
    let state = Arc::new(State::new(Ledger::seeded(&spec)));
    let costs = cost_of(options.server, options.rung, &state, &call, options.requests, options.repeats)?;
    let mut out = std::io::stdout().lock();
    for cost in costs {
        let line = serde_json::to_string(&line(options, &cost)).context("write a line")?;
        writeln!(out, "{line}").context("write to stdout")?;
    }
    Ok(())
}

/// The body itself, or what the file holds.
fn body(request: &str) -> Result<String> {
    if request.trim_start().starts_with(['{', '[']) {
        return Ok(request.to_owned());
    }
    std::fs::read_to_string(Path::new(request)).with_context(|| format!("--request: read {request}"))
}

fn line(options: &Options, cost: &Cost) -> Line {
    let each = |sum: u64| (sum as f64 / cost.requests as f64 * 10.0).round() / 10.0;
    Line {
        server: options.server,
        rung: options.rung,
        requests: cost.requests,
        cpu_ns_per_request: each(cost.cpu_ns),
        wall_ns_per_request: each(cost.wall_ns),
        allocations_per_request: cost.allocations.map(|(count, _)| each(count)),
        allocated_bytes_per_request: cost.allocations.map(|(_, bytes)| each(bytes)),
    }
}
