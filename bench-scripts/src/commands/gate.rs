//! `rpc-bench gate`: is a run slower than an earlier one? The answer is the exit code.

use std::path::{Path, PathBuf};

use anyhow::Result;
use rpc_bench::analysis::two_runs::{Both, Gate, between};
use rpc_bench::report::compare;
use rpc_bench::results::RunFolder;

use super::Ending;

/// The exit codes, for `--help`.
pub const EXIT_CODES: &str = "Exit codes:
  0  every judged comparison has a verdict, and none is slower by more than the margin
  1  at least one is slower by more than the margin, or a trial of RUN failed or answered wrongly
  2  a wrong call: no such run, no cell in common, or another task in a common cell
  3  none is known to be slower, but at least one can't be told";

/// Which runs.
#[derive(clap::Args)]
pub struct Args {
    /// The run to hold the other against: its folder.
    base: PathBuf,
    /// The run that is judged; the newest run where left out.
    run: Option<PathBuf>,
    /// The server to hold the others against; the second run's ceiling, or its baseline, where left out.
    #[arg(long, value_name = "SERVER")]
    reference: Option<String>,
}

/// Prints what is slower and what can't be told.
pub fn gate(results: &Path, args: &Args) -> Result<Ending> {
    let base = RunFolder::open(&args.base)?;
    let run = args.run.as_deref().map_or_else(|| RunFolder::newest(results), RunFolder::open)?;
    let runs = super::compare::load(&base, &run)?;
    let runs = Both { before: &runs.before, after: &runs.after };
    let (text, gate) = compare::gate(runs, &between(runs, args.reference.as_deref())?);
    print!("{text}");
    Ok(match gate {
        Gate::Passes => Ending::Well,
        Gate::Open => Ending::Open,
        Gate::Fails => Ending::Found,
    })
}
