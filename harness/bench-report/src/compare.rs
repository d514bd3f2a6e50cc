//! Two runs side by side: what differs between them, the ratios, and how far these can be believed. Works
//! nothing out but words; the numbers are [`bench_analysis::two_runs`]'s.

use std::collections::BTreeSet;

use anyhow::Result;

use super::columns::Columns;
use super::differences::{self, warnings};
use super::format::{count, known, list, ratio};
use super::headline::{meanings, with_marks};
use super::open_loop::disturbed;
use bench_analysis::Mark;
use bench_analysis::two_runs::{Between, Both, Change, FIGURES, Measured};
use bench_model::results::RunFolder;

/// Reads a run with all its observations.
///
/// # Errors
/// One line: a file is missing or not of this version's format.
pub fn load(folder: &RunFolder) -> Result<Measured> {
    Ok(Measured {
        name: folder.name(),
        plan: folder.plan()?,
        conditions: folder.conditions()?,
        observations: folder.observations()?,
    })
}

/// The whole comparison.
pub fn markdown(runs: Both<&Measured>, between: &Between) -> String {
    let Both { before, after } = runs.map(|run| &run.name);
    let warnings = warnings(runs, between).into_iter();
    let warnings = warnings.map(|warning| format!("> **Warning:** {warning}.\n\n"));
    let unshared = [("before", before, &between.unshared.before), ("after", after, &between.unshared.after)];
    let unshared = unshared.into_iter().filter(|(.., what)| !what.is_empty());
    let unshared = unshared
        .map(|(when, name, what)| format!("Only {when} ({name}), and so not compared: {}.\n\n", list(what)));
    format!(
        "# {after} after {before}\n\nBefore: {before}. After: {after}. Every ratio is after over before.\n\n\
         {}## What differs\n\n{}\n{}{}{}",
        warnings.collect::<String>(),
        differences::table(runs),
        unshared.collect::<String>(),
        ratios(between),
        how_to_read(between)
    )
}

fn ratios(between: &Between) -> String {
    let all: BTreeSet<Mark> = between.changes.iter().flat_map(|change| marks(between, change)).collect();
    let end = if all.is_empty() { "" } else { "\n" };
    let unit = between.changes.first().map_or("connections", |change| change.level.unit());
    let figures = FIGURES.iter().enumerate().map(|(place, figure)| (figure.described().0, place));
    let table = Columns::of(2, &between.changes)
        .column("workload", |change| &change.workload)
        .column("server", |change| &change.server)
        .column(unit, |change| count(change.level.amount().into()) + disturbed(change.level))
        .columns(figures, |change, place| {
            let shown = known(change.ratios[*place], "not measured", ratio);
            if *place == 0 { with_marks(shown, &marks(between, change)) } else { shown }
        })
        .column("blocks before, after", |change| {
            format!("{}, {}", change.blocks.before, change.blocks.after)
        });
    format!("## After over before\n\n{}\n{}{end}", table.markdown(), meanings(all))
}

/// What to distrust in a cell of either run.
fn marks(between: &Between, change: &Change) -> Vec<Mark> {
    let Both { before, after } = &between.summaries;
    let cells = [before, after].map(|of| of.cell(&change.server, &change.workload, change.level));
    let marks: BTreeSet<Mark> = cells.into_iter().flatten().flat_map(|cell| cell.marks.clone()).collect();
    marks.into_iter().collect()
}

fn how_to_read(between: &Between) -> String {
    let Both { before, after } = between.invalid_trials;
    format!(
        "## How to read this\n\nEach ratio is the Hodges-Lehmann shift of the logarithms with the interval of Mann and \
         Whitney, right by itself with 95 %; of twenty that did not change one excludes 1. Trials from which the \
         hypervisor or the control group took time are left out: {before} before, {after} after.\n\n\
         **A ratio of two runs may be the machine's.** Their blocks can't be paired, and the intervals do not know of \
         what lies between the runs: a machine that was slower in that hour shows as servers that are slower. A change \
         that all servers share, the ceiling among them, is the machine. To compare two versions, measure them in the \
         same blocks: `just gate --base-rev REV`, or one campaign that holds both as servers.\n"
    )
}
