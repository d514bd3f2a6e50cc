//! `rpc-bench pack`: finished runs, made small enough to keep.

use std::path::PathBuf;

use anyhow::Result;
use bench_model::results::RunFolder;

/// Packs each run.
pub fn pack(runs: &[PathBuf]) -> Result<bool> {
    for run in runs {
        let folder = RunFolder(run.clone());
        folder.pack()?;
        if !folder.is_why() && !folder.is_calibration() {
            bench_report::write_brief(&RunFolder::open(run)?)?;
        }
        bench_system::say!("packed {}", run.display());
    }
    Ok(true)
}
