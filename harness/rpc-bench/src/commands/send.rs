//! `rpc-bench send` and `rpc-bench take`: a run as one file for others, and the other way round.

use std::path::{Path, PathBuf};

use anyhow::Result;
use bench_model::results::RunFolder;

/// Writes a run into one file.
pub fn send(run: &Path, to: &Path) -> Result<bool> {
    let folder = RunFolder::open(run)?;
    if folder.conditions()?.uncommitted().is_none() {
        super::pack::one(run)?;
    }
    let path = folder.send(to)?;
    bench_system::say!("{} holds the run; docs/USING.md says where to send it", path.display());
    Ok(true)
}

/// Puts runs that were sent into the folder of runs.
pub fn take(results: &Path, archives: &[PathBuf]) -> Result<bool> {
    for archive in archives {
        let run = RunFolder::take(archive, results)?;
        let host = run.conditions()?.host;
        let path = run.0.display();
        bench_system::say!(
            "{path}: {} cores of {}; read its report, and keep it with: git add {path} && just compare --all --write \
             && just splice",
            host.cores,
            host.processor_name()
        );
    }
    Ok(true)
}
