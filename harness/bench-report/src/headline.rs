//! The headline: who is faster, by how much, how sure that is, and what must be known before it is believed.

use std::path::Path;

use super::columns::Columns;
use super::format::{
    PAIRED_RATIOS, at, bullets, count, dash, joined, known, list, load, percent, ratio, shell, thousands,
    time_us,
};
use super::tables::bare;
use super::{
    Run, answer, checked, duets, faults, invalid_trials, open_loop, reference, search, sections, views,
};
use bench_analysis::{Cell, Comparison, Finding, Mark, Summary, Verdict};
use bench_model::config::Percent;
use bench_model::figure::Figure;
use bench_model::load::toolchain::Tool;
use bench_model::load::{Level, LoadTool};

/// Above this share of the machine's processors in its busiest part, latencies may be the load tool's own.
const BUSY_TOOL: f64 = 0.8;

/// Rows of figures that a first screen has where nothing is compared.
const MOST_ROWS: usize = 16;

/// The first screen in Markdown: what must be known before anything is believed, and the answer.
pub fn headline(run: &Run) -> String {
    // A report may be kept, and where its run was on this machine is nobody's business.
    headline_in(run, &Path::new("results").join(&run.name))
}

/// The same for a terminal: it is resumed by the folder that it is in.
pub fn headline_in(run: &Run, folder: &Path) -> String {
    faults::headline(run) + &incomplete(run, folder) + &result(run)
}

/// The same without a word on what is still to be measured, for a run that goes on.
pub fn so_far(run: &Run) -> String {
    faults::headline(run) + &result(run)
}

/// The answer, and what must be known before it is believed.
fn result(run: &Run) -> String {
    let first = checked::headline(run)
        + &warnings(run)
        + &missing(run)
        + &known(answer::of(run), "", |answer| answer::markdown(&answer))
        + &reference::headline(run);
    let said = views::headline(run);
    if !said.is_empty() {
        return first + &said;
    }
    if open_loop::of(run).is_some() {
        return first + &open_loop::headline(run);
    }
    if compares_nothing(run) {
        return first + &works(run);
    }
    let searched = search::headline(run);
    if !run.has_sweep() {
        return first + &searched;
    }
    let compared = if run.plan.campaign.baseline.is_none() { verdicts(run) } else { String::new() };
    // A first screen has a row for what the searches found, and their section the rest.
    if answer::of(run).is_some() {
        return first;
    }
    let rest = compared + &searched;
    first + &if rest.is_empty() { figures(run) } else { rest }
}

/// What was measured where nothing is compared: of one server, say, or of several without a baseline. Connections that
/// are held answer nothing, and what fills more than a screen has its tables below.
fn figures(run: &Run) -> String {
    let is_shown = |cell: &&Cell| run.plan.headline_levels(&cell.workload).contains(&cell.level);
    let of = if run.plan.has_batches() { "call" } else { "request" };
    let rows: Vec<&Cell> = run.summary.cells.iter().filter(is_shown).collect();
    if run.plan.campaign.hold || rows.len() > MOST_ROWS {
        return String::new();
    }
    Columns::of(2, rows)
        .column("request", |cell| at(&cell.workload, cell.level))
        .column("server", |cell| run.cell_name(cell))
        .column(format!("{of}s/s"), |cell| bare(cell, Figure::RequestsPerSecond, thousands))
        .column("p50", |cell| bare(cell, Figure::P50Us, time_us))
        .column("p99", |cell| bare(cell, Figure::P99Us, time_us))
        .column(format!("CPU per {of}"), |cell| bare(cell, Figure::CpuUsPerRequest, time_us))
        .markdown()
}

/// What is left of a run that was stopped.
fn incomplete(run: &Run, folder: &Path) -> String {
    let trials = (run.left() > 0)
        .then(|| format!("{} trials have run, at least {} are still needed", run.observed(), run.left()));
    let searches = run.searches_left().then(|| {
        let ended = run.summary.search.as_ref().map_or(0, |summary| summary.searches.len() - summary.left);
        format!("{ended} searches have ended, and more are to come")
    });
    let resume = |what| {
        let next = match run.is_gate_of_commit() {
            // The checkout of the commit is gone.
            true => format!("A gate can't be resumed; start again: `{}`", run.conditions.command),
            false => {
                let folder = shell(&[folder.display().to_string()]);
                format!("Resume it: `cargo rpc-bench run --resume {folder}`")
            }
        };
        format!("> **Incomplete: {what}.** {next}.\n\n")
    };
    trials.into_iter().chain(searches).map(resume).collect()
}

/// Whether each trial of its sweep is made once: that shows that everything works, and no difference.
pub(super) fn compares_nothing(run: &Run) -> bool {
    run.has_sweep() && run.plan.campaign.max_blocks == 1
}

/// What a run shows that compares nothing.
fn works(run: &Run) -> String {
    let failed = run.failed().count();
    let measured = run.observed() - failed;
    let answers = match reference::is_counted(run) {
        _ if !run.summary.faults.is_empty() => None,
        true => Some("Everything works; the lines above say how answers compare.".to_owned()),
        // A closed loop sends one request again and again.
        false => Some(format!(
            "Everything works: the server's answer to 1 request before and 1 after each window {}{}.",
            match run.knows_whole_answers() {
                true => "was the true one",
                false => "had its id, no error, and what the request states of it",
            },
            match run.plan.campaign.tool {
                LoadTool::RpcLoad => "",
                _ => {
                    "; under load, answers were counted by status and time, and their content was not compared"
                }
            }
        )),
    };
    let measured =
        format!("{} trials were measured, each once, so nothing is compared.", count(measured as u64));
    bullets(answers.into_iter().chain([measured]))
}

/// The compared pairs of a sweep at the headline's loads, each with its comparison where there is one.
fn pairs(run: &Run) -> impl Iterator<Item = (String, String, &str, Level, Option<&Comparison>)> {
    let compared = run.plan.campaign.compared();
    let workloads = run.plan.campaign.workloads.iter();
    let places = workloads.flat_map(|workload| {
        run.plan.headline_levels(workload).into_iter().map(move |level| (workload, level))
    });
    places.flat_map(move |(workload, level)| {
        // An arm may be measured at some loads of some workloads only.
        let measured = move |(a, b): &(String, String)| {
            [a, b].into_iter().all(|server| run.plan.campaign.measures(server, workload, level))
        };
        compared.clone().into_iter().filter(measured).map(move |(server, over)| {
            let pair = run.summary.comparison(&server, &over, workload, level);
            (server, over, workload.as_str(), level, pair)
        })
    })
}

/// Whether it has duets, and its sweep, which comes behind them, has not begun.
fn is_before_sweep(run: &Run) -> bool {
    run.has_sweep() && run.summary.observed == 0 && run.duets.is_some()
}

/// Pairs that have no ratio, and why.
fn missing(run: &Run) -> String {
    if !run.has_sweep() || is_before_sweep(run) {
        return String::new();
    }
    let missing = pairs(run).filter(|(.., pair)| pair.is_none()).map(|(server, over, workload, level, _)| {
        let Summary { failed, invalid, .. } = &run.summary;
        let failed = failed.iter().filter(|trial| trial.workload == workload && trial.level == level);
        let invalid = invalid.iter().filter(|trial| trial.workload == workload && trial.level == level);
        let why = invalid_trials::why_none([&server, &over], failed, invalid);
        let (server, over) = (run.label(&server), run.label(&over));
        format!("{}: {server} and {over} are **not compared**: {why}.", at(workload, level))
    });
    bullets(missing)
}

/// Every headline ratio with its interval and its verdict.
pub(super) fn verdicts(run: &Run) -> String {
    if compares_nothing(run) {
        return String::new();
    }
    let has_rate = !sections::is_duet(run) && open_loop::of(run).is_none();
    let side = run.duets.as_deref().filter(|duets| !duets.summary.comparisons.is_empty());
    let rows = pairs(run).filter_map(|(server, over, workload, level, pair)| {
        // CPU time of a server that another load disturbs is for both loads.
        let pair = pair.filter(|pair| !pair.level.disturbed)?;
        let cpu = match side {
            Some(duets) => duets::of(duets, &server, &over, workload),
            None => Some(pair),
        };
        Some((at(workload, level), pair, has_rate.then_some(&pair.rate), cpu.map(|pair| &pair.cpu)))
    });
    let of = if run.plan.has_batches() { "call" } else { "request" };
    let duets = known(side, "", |duets| {
        let each = known(duets.plan.levels().first().copied(), "-", load);
        format!(" CPU per request is that of both servers at the same time on one core, at {each} each.")
    });
    let margin = run.plan.campaign.margin;
    Columns::of(2, rows)
        .column("request", |(request, ..)| request.clone())
        .column("servers", |(_, pair, ..)| run.pair(pair))
        .column(format!("ratio of {of}s/s"), |(.., rate, _)| dash(*rate, |rate| ratio(rate.ratio)))
        .column("verdict", |(.., rate, _)| dash(*rate, Finding::words))
        .column(format!("ratio of CPU per {of}"), |(.., cpu)| dash(*cpu, |cpu| ratio(cpu.ratio)))
        .column("its verdict", |(.., cpu)| dash(*cpu, Finding::cpu_words))
        .within(|table| format!("{table}\n{PAIRED_RATIOS}{duets} The margin is {margin}.\n"))
}

/// What must be read before any figure.
pub(super) fn warnings(run: &Run) -> String {
    let cores = run.conditions.host.cores as f64;
    let used =
        |cell: &Cell| cell.figure(Figure::BusiestClientCores).is_some_and(|of| of.value > BUSY_TOOL * cores);
    let busy = run.summary.cells.iter().filter(|cell| used(cell));
    let busy = list(busy.map(|cell| format!("{}, {}", run.cell_name(cell), cell.workload)));
    let busy = (!busy.is_empty()).then(|| {
        let share = percent(BUSY_TOOL);
        format!(
            "> **A busy load tool:** it used more than {share} of the machine at its busiest, so latencies may be its \
             own: {busy}.\n\n"
        )
    });
    let tools = std::iter::once(&run.conditions.tool).chain(&run.conditions.open_loop_tools);
    let caveats = tools.filter_map(Tool::caveat);
    let caveats = caveats.map(|caveat| format!("> **Another load tool:** {caveat}.\n\n"));
    [invalid_trials::warnings(run)].into_iter().chain(busy).chain(caveats).collect()
}

/// What CPU time per request allows to say, in brackets behind its ratio.
pub(super) fn by_cpu(cpu: &Finding, margin: Percent) -> String {
    match cpu.verdict {
        Verdict::Faster => "it needs less".to_owned(),
        Verdict::Slower => "it needs more".to_owned(),
        Verdict::DifferentButSmall if cpu.within_margin => format!("different, by less than {margin}"),
        Verdict::DifferentButSmall => format!("different; whether by more than {margin} is open"),
        Verdict::Equivalent => format!("the same within {margin}"),
        Verdict::Inconclusive => "inconclusive".to_owned(),
    }
}

/// The marks that some of the cells have, each with its meaning.
pub(super) fn marks_used<'a>(cells: impl Iterator<Item = &'a Cell> + Clone) -> String {
    let used = |mark: &Mark| cells.clone().any(|cell| cell.marks.contains(mark));
    let used = meanings(Mark::all().filter(used));
    if used.is_empty() { used } else { format!("\n{used}") }
}

/// Each mark that some cell of a run has: its meaning, and which cells these are.
pub(super) fn marked(run: &Run, place: impl Fn(&Cell) -> String) -> Vec<String> {
    let line = |mark: Mark| {
        let cells = run.summary.cells.iter().filter(|cell| cell.marks.contains(&mark));
        let cells = list(cells.map(|cell| format!("{} {}", run.cell_name(cell), place(cell))));
        (!cells.is_empty()).then(|| format!("**{}** {}: {cells}.", mark.letter(), mark.meaning()))
    };
    Mark::all().filter_map(line).collect()
}

/// Each mark with its meaning.
pub(super) fn meanings(marks: impl IntoIterator<Item = Mark>) -> String {
    bullets(marks.into_iter().map(|mark| format!("**{}**: {}", mark.letter(), mark.meaning())))
}

/// A figure with the letters of what to distrust in it.
pub(super) fn with_marks(figure: String, marks: &[Mark]) -> String {
    if marks.is_empty() {
        return figure;
    }
    format!("{figure} **{}**", joined(marks.iter().map(|mark| mark.letter()), " "))
}
