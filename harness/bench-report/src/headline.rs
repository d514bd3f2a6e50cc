//! The first screen: what failed, who is best and by how much, and what must be known before it is believed. Its words
//! are in `templates/headline.md.jinja`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use minijinja::{Value, context};

use super::format::{at, distinct, joined, list, shell};
use super::templates::{data, fill};
use super::verdicts::compares_nothing;
use super::{Run, answer, checked, conditions, faults, reference, search, verdicts, views};
use bench_core::figure::Figure;
use bench_core::load::toolchain::Tool;
use bench_core::load::{Level, LoadTool};
use bench_core::{Cell, Mark, Summary, Uncounted};

/// Above this share of the machine's processors in its busiest part, latencies may be the load tool's own.
const BUSY_TOOL: f64 = 0.8;

/// Rows of figures that a first screen has where nothing is compared.
const MOST_ROWS: usize = 16;

/// Faults on a first screen; "What failed" has all.
const MOST_FAULTS: usize = 6;

/// The first screen in Markdown: what must be known before anything is believed, and the answer.
///
/// # Errors
/// A template has no value for a name.
pub fn headline(run: &Run) -> Result<String> {
    // A report may be kept, and where its run was on this machine is nobody's business.
    headline_in(run, &Path::new("results").join(&run.name))
}

/// The same for a terminal: it is resumed by the folder that it is in.
///
/// # Errors
/// As [`headline`].
pub fn headline_in(run: &Run, folder: &Path) -> Result<String> {
    screen(run, incomplete(run), folder)
}

/// The same without a word on what is still to be measured, for a run that goes on.
///
/// # Errors
/// As [`headline`].
pub fn so_far(run: &Run) -> Result<String> {
    screen(run, Vec::new(), Path::new(""))
}

fn screen(run: &Run, incomplete: Vec<String>, folder: &Path) -> Result<String> {
    let mut faults = faults::all(run)?;
    let more_faults = faults.len().saturating_sub(MOST_FAULTS);
    faults.truncate(MOST_FAULTS);
    let answer = answer::of(run);
    let views = views::headline(run);
    let is_open_or_views = run.plan.campaign.open.is_some() || !views.is_empty();
    let works = (!is_open_or_views && compares_nothing(run)).then(|| works(run));
    // A first screen has a row for what the searches found, and their section the rest.
    let is_rest = !is_open_or_views && works.is_none() && (answer.is_none() || !run.has_sweep());
    let searched = if is_rest { search::headline(run)? } else { String::new() };
    let is_compared = is_rest && run.plan.campaign.baseline.is_none() && !run.summary.comparisons.is_empty();
    let has_figures = run.has_sweep() && answer.is_none() && views.is_empty() && works.is_none();
    let cells = if has_figures && !is_compared && searched.is_empty() { shown(run) } else { Vec::new() };
    let marks = distinct(cells.iter().flat_map(|cell| cell.marks.clone()));
    let (said, table) = answer.as_ref().map(answer::words).transpose()?.unwrap_or_default();
    fill(
        "headline",
        context! {
            faults,
            more_faults,
            incomplete,
            is_gate => run.is_gate_of_commit(),
            command => &*run.conditions.command,
            folder => shell(&[folder.display().to_string()]),
            unchecked => checked::lines(run),
            busy => busy(run),
            busy_from => BUSY_TOOL,
            caveats => caveats(run),
            missing => missing(run),
            said,
            answer => table,
            conditions_line => conditions::line(run)?,
            differences => reference::headline(run),
            views,
            works,
            searched,
            verdicts => is_compared.then(|| verdicts::values(run)),
            of => if run.plan.has_batches() { "call" } else { "request" },
            figures => cells.iter().map(|cell| row(run, cell)).collect::<Vec<_>>(),
            marks => meanings(marks),
        },
    )
}

/// The cells of a first screen where nothing is compared. Connections that are held answer nothing, and what fills more
/// than a screen has its tables below.
fn shown(run: &Run) -> Vec<&Cell> {
    let is_shown = |cell: &&Cell| {
        let levels = run.plan.headline_levels(&cell.workload);
        levels.iter().any(|level| level.amount() == cell.level.amount()) && !run.plan.is_ceiling(&cell.server)
    };
    let cells: Vec<&Cell> = run.summary.cells.iter().filter(is_shown).collect();
    if run.plan.campaign.hold || cells.len() > MOST_ROWS { Vec::new() } else { cells }
}

fn row(run: &Run, cell: &Cell) -> Value {
    context! {
        at => at(&cell.workload, cell.level) + disturbed(cell.level),
        server => run.cell_name(cell),
        figures => data(&cell.figures),
        // CPU time of a server that another load disturbs is for both loads.
        is_disturbed => cell.level.disturbed,
        tells_latency => cell.level.tells(Figure::P99Us),
        marks => joined(cell.marks.iter().map(|mark| mark.letter()), " "),
    }
}

/// What is left of a run that was stopped.
fn incomplete(run: &Run) -> Vec<String> {
    let trials = (run.left() > 0)
        .then(|| format!("{} trials have run, at least {} are still needed", run.observed(), run.left()));
    let searches = run.searches_left().then(|| {
        let ended = run.summary.search.as_ref().map_or(0, |summary| summary.searches.len() - summary.left);
        format!("{ended} searches have ended, and more are to come")
    });
    trials.into_iter().chain(searches).collect()
}

/// What a run shows that compares nothing.
fn works(run: &Run) -> Value {
    context! {
        has_faults => !run.summary.faults.is_empty(),
        counts_differences => reference::is_counted(run) && run.summary.faults.is_empty(),
        // A closed loop sends one request again and again.
        knows_answers => run.knows_whole_answers(),
        reads_answers => run.plan.campaign.tool == LoadTool::RpcLoad,
        measured => run.observed() - run.failed().count() - run.invalid().count(),
    }
}

/// Pairs that have no ratio at the headline's loads, and why.
fn missing(run: &Run) -> Vec<Value> {
    let is_before_sweep = run.summary.observed == 0 && run.duets.is_some();
    if !run.has_sweep() || is_before_sweep {
        return Vec::new();
    }
    let campaign = &run.plan.campaign;
    let places = campaign.workloads.iter().flat_map(|workload| {
        run.plan.headline_levels(workload).into_iter().map(move |level| (workload, level))
    });
    let mut missing = Vec::new();
    for (workload, level) in places {
        // An arm may be measured at some loads of some workloads only.
        let is_measured = |server: &String| campaign.measures(server, workload, level);
        for (server, over) in
            campaign.compared().into_iter().filter(|(a, b)| is_measured(a) && is_measured(b))
        {
            if run.summary.comparison(&server, &over, workload, level).is_none() {
                let why = uncounted(&run.summary, [&server, &over], workload, level);
                let (server, over) = (run.label(&server), run.label(&over));
                let (first, more) = (why.first(), why.len().saturating_sub(1));
                missing.push(context! { at => at(workload, level), server, over, first, more });
            }
        }
    }
    missing
}

/// Why each trial of a pair that counts nowhere does not, in the order of the trials.
fn uncounted(summary: &Summary, pair: [&String; 2], workload: &str, level: Level) -> Vec<String> {
    let mut all: Vec<&Uncounted> = summary.failed.iter().chain(&summary.invalid).collect();
    all.retain(|of| pair.contains(&&of.server) && of.workload == workload && of.level == level);
    all.sort_by_key(|of| of.number);
    all.iter().map(|of| format!("in block {} with {}: {}", of.block, of.server, of.reason)).collect()
}

/// The cells whose load tool had few processors left.
fn busy(run: &Run) -> String {
    let cores = run.conditions.host.cores as f64;
    let used =
        |cell: &&Cell| cell.figure(Figure::BusiestClientCores).is_some_and(|of| of.value > BUSY_TOOL * cores);
    let busy = run.summary.cells.iter().filter(used);
    list(busy.map(|cell| format!("{}, {}", run.cell_name(cell), cell.workload)))
}

fn caveats(run: &Run) -> Vec<String> {
    let tools = std::iter::once(&run.conditions.tool).chain(&run.conditions.open_loop_tools);
    tools.filter_map(Tool::caveat).collect()
}

/// Behind a load that has another one in the background.
pub(super) const fn disturbed(level: Level) -> &'static str {
    if level.disturbed { ", disturbed" } else { "" }
}

/// Each mark that some cell of a run has: its letter, its meaning, and which cells these are.
pub(super) fn marked(run: &Run) -> Vec<Value> {
    let mut cells: BTreeMap<Mark, Vec<String>> = BTreeMap::new();
    for cell in &run.summary.cells {
        let Cell { workload, level, .. } = cell;
        let by = level.rate.map_or_else(String::new, |_| format!(" by {}", level.tool.name()));
        let place = format!("{} {}{by}{}", run.cell_name(cell), at(workload, *level), disturbed(*level));
        cell.marks.iter().for_each(|mark| cells.entry(*mark).or_default().push(place.clone()));
    }
    let line = |(mark, cells): (Mark, Vec<String>)| {
        context! { letter => mark.letter(), meaning => mark.meaning(), cells => list(cells) }
    };
    cells.into_iter().map(line).collect()
}

/// Each mark with its meaning.
pub(super) fn meanings(marks: impl IntoIterator<Item = Mark>) -> Vec<Value> {
    let mark = |mark: Mark| context! { letter => mark.letter(), meaning => mark.meaning() };
    marks.into_iter().map(mark).collect()
}
