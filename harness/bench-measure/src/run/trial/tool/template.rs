//! The file that a load tool reads in every load.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use bench_model::load::LoadTool;
use bench_model::results::RunFolder;

/// The place of the file that a tool reads in every load, kept in the run's folder; empty for a tool without one.
pub(in crate::run) fn keep_template(folder: &RunFolder, tool: LoadTool) -> Result<PathBuf> {
    let Some((name, content)) = tool.driver().template() else { return Ok(PathBuf::new()) };
    let tools = RunFolder(folder.0.join("tool-output"));
    let path = tools.0.join(name);
    if !path.is_file() {
        // Whole or not at all, or a run whose disk was full could not be resumed.
        tools.write_derived(name, content)?;
    }
    let kept = fs::read_to_string(&path).with_context(|| format!("can't read {}", path.display()))?;
    ensure!(
        kept == content,
        "{} is not this version's: resume the run with the version that began it",
        path.display()
    );
    Ok(path)
}
