//! `rpc-bench report`: a run's report again, from its folder alone.

use std::path::Path;

use anyhow::Result;
use rpc_bench::analysis::bursts::BURSTS;
use rpc_bench::report;
use rpc_bench::results::RunFolder;

/// Writes the report and prints its headline.
pub fn report(run: &Path) -> Result<bool> {
    if run.join(BURSTS).is_file() {
        let folder = RunFolder(run.to_owned());
        let written = report::bursts::write(&folder)?;
        println!("{}\nThe whole report: {}", written.text, run.join("report.md").display());
        return Ok(true);
    }
    let folder = RunFolder::open(run)?;
    if folder.is_calibration() {
        let summary = report::calibration::write(&folder)?;
        println!(
            "{}\nThe whole report: {}",
            report::calibration::headline(&summary),
            folder.0.join("report.md").display()
        );
        return Ok(true);
    }
    if folder.is_why() {
        let summary = report::why::write(&folder)?;
        println!(
            "{}The whole report: {}",
            report::why::headline(&summary),
            folder.0.join("report.md").display()
        );
        return Ok(true);
    }
    let run = report::write(&folder)?;
    println!("{}\nThe whole report: {}", report::headline(&run), folder.0.join("report.md").display());
    Ok(true)
}
