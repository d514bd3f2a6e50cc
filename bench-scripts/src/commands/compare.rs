//! `rpc-bench compare`: two runs, of two commits or two machines.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use rpc_bench::analysis::between::{Both, Measured, between};
use rpc_bench::report::compare;
use rpc_bench::results::RunFolder;

/// Which runs.
#[derive(clap::Args)]
pub struct Args {
    /// The run before: its folder, such as results/2026-11-20T120000Z-quick.
    before: PathBuf,
    /// The run after.
    after: PathBuf,
    /// The server to hold the others against; the second run's ceiling, or its baseline, where left out.
    #[arg(long, value_name = "SERVER")]
    reference: Option<String>,
}

/// Prints the comparison as Markdown.
pub fn compare(args: &Args) -> Result<bool> {
    let runs = load(&RunFolder::open(&args.before)?, &RunFolder::open(&args.after)?)?;
    let runs = Both { before: &runs.before, after: &runs.after };
    let between = between(runs, args.reference.as_deref())?;
    print!("{}", compare::markdown(runs, &between));
    Ok(true)
}

/// Reads two runs, which must not be one and the same.
pub(super) fn load(before: &RunFolder, after: &RunFolder) -> Result<Both<Measured>> {
    let real = |folder: &RunFolder| -> Result<PathBuf> {
        let path: &Path = &folder.0;
        path.canonicalize().with_context(|| format!("can't read {}", path.display()))
    };
    ensure!(real(before)? != real(after)?, "{} is given twice; give two runs", before.0.display());
    Ok(Both { before: compare::load(before)?, after: compare::load(after)? })
}
