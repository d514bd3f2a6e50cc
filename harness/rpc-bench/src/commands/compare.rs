//! `rpc-bench compare`: two runs, of two commits or two machines; or all kept runs side by side.

use std::path::{Path, PathBuf};

use anyhow::Result;
use bench_core::results::RunFolder;
use bench_core::two_runs::{Both, between};
use bench_report::{all_runs, compare};

/// Which runs.
#[derive(clap::Args)]
pub struct Args {
    /// The run before: its folder, such as results/2026-11-20T120000Z-quick.
    #[arg(required_unless_present = "all")]
    before: Option<PathBuf>,
    /// The run after.
    #[arg(required_unless_present = "all")]
    after: Option<PathBuf>,
    /// Instead list each ratio of every kept run, and the range on each processor.
    #[arg(long, conflicts_with_all = ["before", "after"])]
    all: bool,
}

/// Prints the comparison as Markdown.
pub fn compare(results: &Path, args: &Args) -> Result<bool> {
    let (Some(before), Some(after)) = (&args.before, &args.after) else {
        return all(results);
    };
    let runs = [before, after].map(|run| RunFolder::open(run).and_then(|folder| compare::load(&folder)));
    let [before, after] = runs;
    let runs = Both { before: &before?, after: &after? };
    super::print(compare::markdown(runs, &between(runs)?)?)
}

/// Prints the ratios of all kept runs.
fn all(results: &Path) -> Result<bool> {
    let all = all_runs::load(results)?;
    super::print(all_runs::markdown(&all))?;
    all.unreadable.iter().for_each(|run| bench_core::note!("left out: {run}"));
    Ok(true)
}
