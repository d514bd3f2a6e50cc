//! `rpc-bench gate`: is a run slower than an earlier one, or a server slower than at an earlier commit? The answer is
//! the exit code.

mod commit;

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use bench_analysis::two_runs::{Gate, between};
use bench_model::config::{ConfigDir, Percent};
use bench_model::results::RunFolder;
use bench_report::{Run, compare};
use bench_system::probe::host;

use super::{Ending, quoted};

/// The exit codes, for `--help`.
pub const EXIT_CODES: &str = "Exit codes:
  0  every judged comparison has a verdict, and none is slower by more than the margin
  1  at least one is slower by more than the margin, or a trial of RUN failed or answered wrongly
  2  a wrong call: no such run, no cell in common, or another task in a common cell
  3  none is known to be slower, but at least one is inconclusive

With --base-rev or --since-accepted:
  0  no server moved by more than the margin without an accepted reason, or there is nothing to compare
  1  at least one did, faster or slower, in CPU time or in instructions, or a trial failed
  2  a wrong call: no such commit, or a build fails
  3  none is known to have moved, but at least one is inconclusive
With --server a faster one is no finding, and a fall of requests/s by more than a fifth is one; see docs/CI.md.";

/// Which runs.
#[derive(clap::Args)]
pub struct Args {
    /// The run to compare the other with: its folder.
    #[arg(required_unless_present_any = ["base_rev", "since_accepted"])]
    base: Option<PathBuf>,
    /// The run that is judged; the newest run where left out, which has to be whole and of this commit.
    run: Option<PathBuf>,
    /// The server to compare the others with; the second run's ceiling, or its baseline, where left out.
    #[arg(long, value_name = "SERVER")]
    reference: Option<String>,
    /// Compare each server with itself at this commit, in place of two runs: builds both and runs them side by side.
    #[arg(long, value_name = "REV", conflicts_with_all = ["base", "run", "reference"])]
    base_rev: Option<String>,
    /// The same with the commit that servers/accepted-moves.toml names; skipped where this clone does not have it.
    #[arg(long, conflicts_with_all = ["base", "run", "reference", "base_rev"])]
    since_accepted: bool,
    /// With a commit, compare this server alone, and look for a slower one only; give it again for more than one.
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
    /// How many minutes measuring may take, with a commit.
    #[arg(long, value_name = "N", default_value_t = 15, conflicts_with = "base")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=600))]
    minutes: u64,
    /// With a commit, build and measure every server, whether or not it changed.
    #[arg(long, conflicts_with = "base")]
    all: bool,
    /// With a commit whose servers count under other names than today's: read no counters, of neither side.
    #[arg(long, conflicts_with = "base")]
    without_counters: bool,
    /// The largest move that does not matter, with a commit.
    #[arg(long, value_name = "PERCENT", default_value = "3%", conflicts_with = "base")]
    margin: Percent,
    /// The share of the processors' time that other processes may use in a window, with a commit; a trial with more is
    /// invalid. 3 % where left out; more for a machine that is never quiet.
    #[arg(long, value_name = "PERCENT", value_parser = Percent::share, conflicts_with = "base")]
    max_foreign_cpu: Option<Percent>,
    /// The share of the processors' time that the hypervisor may take in a window, with a commit; 2 % where left out.
    #[arg(long, value_name = "PERCENT", value_parser = Percent::share, conflicts_with = "base")]
    max_steal: Option<Percent>,
    /// Write the judgement as one JSON document to standard output, with a commit; all else goes to standard error.
    #[arg(long, conflicts_with = "base")]
    json: bool,
    /// Add the judgement to this file in Markdown, with a commit: GITHUB_STEP_SUMMARY, for example.
    #[arg(long, value_name = "FILE", conflicts_with = "base")]
    summary: Option<PathBuf>,
}

/// Prints what is slower and what can't be told.
pub fn gate(config: &ConfigDir, results: &Path, args: &Args) -> Result<Ending> {
    let Some(base) = &args.base else { return commit::against_commit(config, results, args) };
    let base = RunFolder::open(base)?;
    let run = args.run.as_deref().map_or_else(|| newest(results), RunFolder::open)?;
    let runs = super::compare::load(&base, &run)?;
    let runs = runs.map(|run| run);
    let (text, gate) = compare::gate(runs, &between(runs, args.reference.as_deref())?);
    super::print(text)?;
    Ok(match gate {
        Gate::Passes => Ending::Well,
        Gate::Open => Ending::Open,
        Gate::Fails => Ending::Found,
    })
}

/// The newest run, unless it may not be the one that is meant: after a build that failed the newest run is one of an
/// earlier commit.
fn newest(results: &Path) -> Result<RunFolder> {
    let folder = RunFolder::newest(results)?;
    let run = Run::load(&folder)?;
    let (path, typed) = (folder.0.display(), quoted(folder.0.display()));
    ensure!(
        run.left() == 0 && !run.searches_left(),
        "the newest run, {path}, is not whole; resume it (cargo rpc-bench run --resume {typed}), or name the run that \
         is to be judged"
    );
    let (then, here) = (run.conditions.host.commit, host::commit());
    if let Some((then, here)) = then.zip(here) {
        ensure!(
            then == here,
            "the newest run, {path}, is of commit {then}, and this is {here}; measure this one, or name the run that \
             is to be judged"
        );
    }
    Ok(folder)
}
