//! `rpc-bench check`: is a run whole? What CI requires of the smoke campaign.

use std::path::Path;

use anyhow::{Context, Result};
use bench_core::results::RunFolder;
use bench_report::Run;

/// Whether every planned cell was measured with a true answer, every bound holds, and the report shows every server. A
/// cell whose trials are all invalid, because the machine was busy, is said.
pub fn check(results: &Path, run: Option<&Path>) -> Result<bool> {
    let folder = run.map_or_else(|| RunFolder::newest(results), RunFolder::open)?;
    let run = Run::load(&folder)?;
    let report = std::fs::read_to_string(folder.0.join("report.md"))
        .with_context(|| format!("{} has no report.md", folder.0.display()))?;
    let mut problems: Vec<String> = Vec::new();
    let duets = run.duets.iter().flat_map(|duets| &duets.summary.cells);
    for cell in run.summary.cells.iter().chain(duets) {
        if cell.completed > 0 {
            continue;
        }
        let at = format!("{} {}", run.cell_name(cell), bench_core::load::at(&cell.workload, cell.level));
        match cell.all_invalid() {
            // Its answers were verified like all others; whether the machine was quiet is no matter of what works.
            Some(lost) => bench_core::say!("WARNING: {at}: every trial is invalid ({})", lost.words()),
            None => problems.push(format!("{at}: no trial has a verified answer")),
        }
    }
    if run.left() > 0 {
        problems.push(format!("{} trials that are needed have not run", run.left()));
    }
    if run.searches_left() {
        problems.push("searches have not ended".to_owned());
    }
    problems.extend(run.shortcomings()?);
    for server in &run.plan.servers {
        // Where axes change a server's settings, these have columns of their own.
        let campaign = &run.plan.campaign;
        let of_axes = if campaign.axes.is_empty() { None } else { server.label().split(", ").next() };
        let names = [Some(server.label()), of_axes, Some(campaign.entry_of(&server.name))];
        if !names.into_iter().flatten().any(|name| report.contains(&format!("| {name} "))) {
            problems.push(format!("report.md shows no row of {}", server.name));
        }
    }
    problems.iter().for_each(|problem| bench_core::say!("{problem}"));
    if problems.is_empty() {
        bench_core::say!("{}: {} trials, each with a verified answer", folder.0.display(), run.observed());
    }
    Ok(problems.is_empty())
}
