//! `rpc-bench report`: a run's report again, from its folder alone.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use bench_core::results::RunFolder;
use bench_report::export::{Format, export};
use bench_report::{Run, headline_in};

use super::say_found;

/// Which run, and in which form.
#[derive(clap::Args)]
pub struct Args {
    /// The run's folder, such as results/2026-11-20T120000Z-quick.
    run: PathBuf,
    /// Print its figures in a format that another tool reads, and write nothing.
    #[arg(long)]
    format: Option<Format>,
    /// Show it by the [[view]] tables of this file, which the run's folder keeps; see docs/USING.md.
    #[arg(long, value_name = "FILE", conflicts_with = "format")]
    views: Option<PathBuf>,
}

/// Writes the report, by the views of a file where one is named, and prints its headline; or prints a campaign's run in
/// a format that another tool reads, and writes nothing into its folder.
pub fn report(args: &Args) -> Result<bool> {
    if let Some(format) = args.format {
        let folder = RunFolder::open(&args.run)?;
        let text = Run::load(&folder).and_then(|run| export(&run, format));
        return super::print(text.with_context(|| args.run.display().to_string())?);
    }
    let folder = RunFolder::open(&args.run)?;
    let _locked = folder.lock()?;
    if let Some(file) = &args.views {
        let before = folder.show_by(file)?;
        if let Err(error) = Run::load(&folder).and_then(|run| has_cells(&run)) {
            folder.show_as_before(before)?;
            return Err(error.context(file.display().to_string()));
        }
    }
    say_found(&folder, &(headline_in(&bench_report::write(&folder)?, &folder.0)? + "\n"));
    Ok(true)
}

/// Whether each view of a run shows something.
fn has_cells(run: &Run) -> Result<()> {
    let empty = run.summary.views.iter().find(|shown| shown.panels.is_empty());
    let title = empty.map_or("", |shown| &shown.view.title);
    ensure!(empty.is_none(), "[[view]] {title:?}: no cell of the run is at the values in field only");
    run.summary.views.iter().try_for_each(|shown| shown.view.check_method(&run.plan.workloads))
}
