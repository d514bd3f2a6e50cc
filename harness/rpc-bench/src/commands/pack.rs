//! `rpc-bench pack`: finished runs, made small enough to keep.

use std::path::{Path, PathBuf};

use anyhow::Result;
use bench_core::results::RunFolder;

/// Packs each run.
pub fn pack(runs: &[PathBuf]) -> Result<bool> {
    for run in runs {
        one(run)?;
        bench_core::say!("packed {}", run.display());
    }
    Ok(true)
}

/// Packs a run, and makes its report brief.
fn one(run: &Path) -> Result<()> {
    let folder = RunFolder(run.to_owned());
    folder.pack()?;
    bench_report::write_brief(&RunFolder::open(run)?)?;
    Ok(())
}
