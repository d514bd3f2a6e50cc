//! Two runs side by side: what differs between them, the ratios, and how far these can be believed. The
//! numbers are [`bench_core::two_runs`]'s, the words in `templates/compare.md.jinja`.

use std::collections::BTreeSet;

use anyhow::Result;
use minijinja::{Value, context};

use super::differences::differences;
use super::faults;
use super::format::{count, joined, list};
use super::headline::{disturbed, meanings};
use super::templates::{data, fill};
use bench_core::config::Server;
use bench_core::results::RunFolder;
use bench_core::two_runs::{Between, Both, Change, FIGURES, Measured};
use bench_core::{Mark, Summary};

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
///
/// # Errors
/// A template has no value for a name.
pub fn markdown(runs: Both<&Measured>, between: &Between) -> Result<String> {
    let Both { before, after } = runs.map(|run| &*run.name);
    let common = runs
        .after
        .plan
        .servers
        .iter()
        .filter(|server| runs.before.plan.servers.iter().any(|earlier| earlier.name == server.name));
    // A commit of this repository says nothing of a program that is not built from it.
    let is_ours = |server: &&Server| !server.build.is_empty() && server.running_at().is_none();
    let commits = runs.map(|run| run.conditions.host.commit.as_ref().filter(|commit| !commit.ends_with('+')));
    let change = |change: &Change| {
        context! {
            workload => &*change.workload,
            server => &*change.server,
            load => count(change.level.amount().into()) + disturbed(change.level),
            ratios => data(change.ratios),
            marks => joined(marks(between, change).iter().map(|mark| mark.letter()), " "),
            blocks => data(change.blocks),
        }
    };
    let all: BTreeSet<Mark> = between.changes.iter().flat_map(|change| marks(between, change)).collect();
    fill(
        "compare",
        context! {
            before,
            after,
            differences => data(differences(runs)),
            runs => [
                run("before", runs.before, &between.summaries.before, &between.unshared.before)?,
                run("after", runs.after, &between.summaries.after, &between.unshared.after)?,
            ],
            others => list(common.filter(|server| !is_ours(server)).map(Server::label)),
            is_one_commit => commits.before.is_some() && commits.before == commits.after,
            unit => between.changes.first().map_or("connections", |change| change.level.unit()),
            figures => FIGURES.iter().map(|figure| figure.described().0).collect::<Vec<_>>(),
            changes => between.changes.iter().map(change).collect::<Vec<Value>>(),
            marks => meanings(all),
            invalid => data(between.invalid_trials),
        },
    )
}

/// One of the two runs: what must be known of it before any ratio is believed.
fn run(when: &str, run: &Measured, summary: &Summary, unshared: &[String]) -> Result<Value> {
    let faults = summary.faults.iter().map(|fault| faults::words(&fault.server, fault));
    let faults = faults.collect::<Result<Vec<String>>>()?;
    let changed = run.conditions.host.commit.as_ref().filter(|commit| commit.ends_with('+'));
    let Summary { observed, left, .. } = summary;
    Ok(context! { when, name => &*run.name, observed, left, changed, faults, unshared => list(unshared) })
}

/// What to distrust in a cell of either run.
fn marks(between: &Between, change: &Change) -> Vec<Mark> {
    let Both { before, after } = &between.summaries;
    let cells = [before, after].map(|of| of.cell(&change.server, &change.workload, change.level));
    let marks: BTreeSet<Mark> = cells.into_iter().flatten().flat_map(|cell| cell.marks.clone()).collect();
    marks.into_iter().collect()
}
