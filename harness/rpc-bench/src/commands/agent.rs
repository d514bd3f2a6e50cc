//! `rpc-bench agent`: this host's share of one load, for a launcher.

use std::path::PathBuf;

use anyhow::Result;
use bench_measure::run::hosts::agent::{self, Share};
use jiff::Timestamp;

use super::prepare;

/// What the harness wrote, and what the launcher knows.
#[derive(clap::Args)]
pub struct Args {
    /// The hosts' plan, which the harness wrote.
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
    /// This host's rank, from 0; where left out that of Slurm, Open MPI, PMI or a Kubernetes Job, or the place of the
    /// machine's name in the plan.
    #[arg(long, value_name = "R")]
    rank: Option<u32>,
    /// The number of hosts; refused where the plan has another.
    #[arg(long, value_name = "N")]
    ranks: Option<u32>,
    /// When all hosts begin, in UTC, such as 2026-11-23T08:30:00.25Z.
    #[arg(long, value_name = "TIME")]
    start_at: Timestamp,
    /// The folder for the results: that of the plan.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Carries the share out.
pub fn agent(args: Args) -> Result<bool> {
    let interrupt = prepare()?;
    let Args { plan, rank, ranks, start_at, out } = args;
    agent::carry_out(&Share { plan, rank, ranks, start_at, out }, &interrupt)?;
    Ok(true)
}
