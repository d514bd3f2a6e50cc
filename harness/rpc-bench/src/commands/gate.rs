//! `rpc-bench gate`: is a server slower than at an earlier commit? The answer is the exit code.

mod commit;

use std::path::PathBuf;

use bench_core::config::Percent;

pub use commit::against_commit;

/// The exit codes, for `--help`.
pub const EXIT_CODES: &str = "Exit codes:
  0  no server moved by more than the margin without an accepted reason, or there is nothing to compare
  1  at least one did, faster or slower, in CPU time or in instructions, or a trial failed
  2  a wrong call: no such commit, or a build fails
  3  none is known to have moved, but at least one is inconclusive
With --server a faster one is no finding, and a fall of requests/s by more than a fifth is one; see docs/CI.md.";

/// Which commit, and which servers.
#[derive(clap::Args)]
pub struct Args {
    /// Compare each server with itself at this commit: builds both and runs them side by side.
    #[arg(long, value_name = "REV", required_unless_present = "since_accepted")]
    base_rev: Option<String>,
    /// The same with the commit that servers/accepted-moves.toml names; skipped where this clone does not have it.
    #[arg(long, conflicts_with = "base_rev")]
    since_accepted: bool,
    /// Compare this server alone, and look for a slower one only; give it again for more than one.
    #[arg(long, value_name = "NAME", requires = "base_rev")]
    server: Vec<String>,
    /// The folder with the servers.toml that has these servers, and with workloads of your own; that of --config where
    /// left out.
    #[arg(long, value_name = "DIR", requires = "server")]
    servers: Option<PathBuf>,
    /// The request that is sent, by its workload's name; give it again for more than one. Those of the campaign duets
    /// where left out.
    #[arg(long, value_name = "NAME", requires = "base_rev")]
    workload: Vec<String>,
    /// How many minutes measuring may take.
    #[arg(long, value_name = "N", default_value_t = 15)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=600))]
    minutes: u64,
    /// Build and measure every server, whether or not it changed.
    #[arg(long)]
    all: bool,
    /// The largest move that does not matter.
    #[arg(long, value_name = "PERCENT", default_value = "3%")]
    margin: Percent,
    /// The share of the processors' time that other processes may use in a window; a trial with more is
    /// invalid. 3 % where left out; more for a machine that is never quiet.
    #[arg(long, value_name = "PERCENT", value_parser = Percent::share)]
    max_foreign_cpu: Option<Percent>,
    /// The share of the processors' time that the hypervisor may take in a window; 2 % where left out.
    #[arg(long, value_name = "PERCENT", value_parser = Percent::share)]
    max_steal: Option<Percent>,
    /// Write the judgement as one JSON document to standard output; all else goes to standard error.
    #[arg(long)]
    json: bool,
    /// Add the judgement to this file in Markdown: GITHUB_STEP_SUMMARY, for example.
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
}
