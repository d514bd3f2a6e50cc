//! Simulates trials on 1 to 1,000 load hosts and prints the tables of docs/SCALE.md; with `--write FILE` it keeps the result, with
//! `--page FILE` it renews the tables of a page.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use rpc_bench::simulation::{page, simulate};

/// Simulate trials on many load hosts: how often they are void, and what merging latencies does.
#[derive(Parser)]
struct Args {
    /// What the random numbers follow from.
    #[arg(long, default_value_t = 17)]
    seed: u64,
    /// Keep the result in this file, as JSON.
    #[arg(long)]
    write: Option<PathBuf>,
    /// Renew the tables of this page.
    #[arg(long)]
    page: Option<PathBuf>,
}

fn main() -> ExitCode {
    match carry_out(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("simulate-hosts: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn carry_out(args: &Args) -> Result<()> {
    let simulated = simulate(args.seed)?;
    let tables = page::tables(&simulated);
    println!("{tables}");
    if let Some(path) = &args.write {
        let text = serde_json::to_string_pretty(&simulated)? + "\n";
        std::fs::write(path, text).with_context(|| format!("can't write {}", path.display()))?;
    }
    if let Some(path) = &args.page {
        let text = std::fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()))?;
        let text = page::renewed(&text, &tables).with_context(|| path.display().to_string())?;
        std::fs::write(path, text).with_context(|| format!("can't write {}", path.display()))?;
    }
    Ok(())
}
