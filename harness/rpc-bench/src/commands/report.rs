//! `rpc-bench report`: a run's report again, from its folder alone.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use bench_model::results::RunFolder;
use bench_report::export::{Format, export};
use bench_report::{Run, pooled};

/// Writes the report and prints its headline; by the views of a file, where one is named.
pub fn report(results: &Path, run: &Path, views: Option<&Path>) -> Result<bool> {
    let folder = RunFolder::open(run)?;
    let _locked = folder.lock()?;
    if let Some(file) = views {
        let is_campaign = !folder.is_calibration() && !folder.is_why();
        ensure!(is_campaign, "{}: --views is for runs of campaigns", run.display());
        let before = folder.show_by(file)?;
        if let Err(error) = Run::load(&folder).and_then(|run| has_cells(&run)) {
            folder.show_as_before(before)?;
            return Err(error.context(file.display().to_string()));
        }
    }
    if folder.is_calibration() {
        let summary = bench_report::calibration::write(&folder)?;
        bench_system::say!(
            "{}\nThe whole report: {}",
            bench_report::calibration::headline(&summary),
            folder.0.join("report.md").display()
        );
        return Ok(true);
    }
    if folder.is_why() {
        let summary = bench_report::why::write(&folder)?;
        bench_system::say!(
            "{}The whole report: {}",
            bench_report::why::headline(&summary),
            folder.0.join("report.md").display()
        );
        return Ok(true);
    }
    let run = bench_report::write(&folder)?;
    bench_system::say!(
        "{}\nThe whole report: {}",
        bench_report::headline(&run),
        folder.0.join("report.md").display()
    );
    print_agreement(&folder, results);
    Ok(true)
}

/// Whether each view of a run shows something.
fn has_cells(run: &Run) -> Result<()> {
    let empty = run.summary.views.iter().find(|shown| shown.panels.is_empty());
    let title = empty.map_or("", |shown| &shown.view.title);
    ensure!(empty.is_none(), "[[view]] {title:?}: no cell of the run is at the values in field only");
    run.summary.views.iter().try_for_each(|shown| shown.view.check_method(&run.plan.workloads))
}

/// Prints a campaign's run in a format that another tool reads. Writes nothing into its folder.
pub fn print_as(run: &Path, format: Format) -> Result<bool> {
    let folder = RunFolder::open(run)?;
    let is_campaign = !folder.is_calibration() && !folder.is_why();
    ensure!(is_campaign, "{}: --format is for runs of campaigns", run.display());
    let text = Run::load(&folder).and_then(|run| export(&run, format));
    super::print(&text.with_context(|| run.display().to_string())?);
    Ok(true)
}

/// Prints how a campaign's run stands to the kept ones. It is no part of its report, which needs nothing but its
/// folder.
pub(super) fn print_agreement(folder: &RunFolder, results: &Path) {
    match pooled::next_to_kept(folder, results) {
        Ok(Some(found)) => bench_system::say!("\n{}", pooled::agreement_words(&found)),
        Ok(None) => {}
        Err(error) => bench_system::note!("not compared with the kept runs: {error:#}"),
    }
}
