//! The headline: who is faster, by how much, how sure that is, and what must be known before it is believed.

use std::fmt::Write;

use super::format::{
    PAIRED_RATIOS, Table, at, bullets, count, dash, known, list, load, percent, ratio, significant,
    thousands, time_us,
};
use super::tables::shown;
use super::{Run, crossed, duets, lost, open, original, sections, slo, stores, threshold};
use crate::analysis::{Cell, Comparison, Finding, Mark, Summary, Verdict};
use crate::config::{Percent, Placement};
use crate::figure::Figure;
use crate::load::Level;
use crate::load::toolchain::Tool;

/// The headline's table and sentences, in Markdown.
pub fn headline(run: &Run) -> String {
    if open::of(run).is_some() {
        return open::headline(run);
    }
    let campaign = &run.plan.campaign;
    let mut out = warnings(run);
    let searched = known(run.summary.threshold.as_ref(), "", |found| threshold::headline(run, found))
        + &known(run.summary.slo.as_ref(), "", |found| slo::headline(run, found))
        + &stores::headline(run);
    if !run.has_sweep() {
        return out + &searched;
    }
    if original::is_headline(run) {
        return out + &original::tables(run);
    }
    if crossed::is_headline(run) {
        return out + &crossed::tables(run);
    }
    for workload in &campaign.workloads {
        let level = run.plan.headline_level(workload);
        for (server, over) in campaign.compared() {
            let Some(comparison) = run.summary.comparison(&server, &over, workload, level) else {
                // Writing to a String can't fail, here and below.
                let _ = writeln!(
                    out,
                    "- **{workload}** at {}: {} and {} are **not compared**: {}.",
                    load(level),
                    run.label(&server),
                    run.label(&over),
                    not_compared(&run.summary, [&server, &over], workload, level)
                );
                continue;
            };
            if sections::is_duet(run) {
                let said = by_duet(run, comparison, campaign.margin);
                let _ = writeln!(out, "- **{workload}** at {}:{said}", load(level));
                continue;
            }
            let marks = run.summary.cell(&server, workload, level).map(|cell| cell.marks.as_slice());
            let duet = run.duets.as_ref().and_then(|duets| duets::of(duets, &server, &over, workload));
            let duet = known(duet, "", |duet| by_duet(run, duet, campaign.margin));
            let _ = writeln!(out, "- {}{duet}", sentence(run, comparison, marks.unwrap_or_default()));
        }
    }
    out.push_str(&searched);
    if sections::is_duet(run) {
        return out;
    }
    out.push('\n');
    out.push_str(&table(run).markdown());
    if !run.summary.comparisons.is_empty() {
        let _ = writeln!(out, "\n{PAIRED_RATIOS}");
    }
    out + &marks_used(cells(run))
}

/// Why a pair has no ratio at a load.
fn not_compared(summary: &Summary, pair: [&str; 2], workload: &str, level: Level) -> String {
    let failed = summary.failed.iter().filter(|trial| trial.workload == workload && trial.level == level);
    let invalid = summary.invalid.iter().filter(|trial| trial.workload == workload && trial.level == level);
    lost::why_none(pair, failed, invalid)
}

/// What must be read before any figure.
pub(super) fn warnings(run: &Run) -> String {
    let mut out = String::new();
    if run.failed().any(|trial| trial.wrong_answer) {
        let mut servers: Vec<&str> =
            run.failed().filter(|trial| trial.wrong_answer).map(|trial| run.label(&trial.server)).collect();
        servers.sort_unstable();
        servers.dedup();
        let _ = writeln!(
            out,
            "> **Wrong answers: {}.** A server that answers wrongly is not timed; what it answered stands under \"What \
             failed\".\n",
            servers.join(", ")
        );
    }
    if run.left() > 0 {
        let _ = writeln!(
            out,
            "> **Incomplete: {} trials have run, at least {} are still needed.** Resume it: `cargo rpc-bench run --resume results/{}`.\n",
            run.observed(),
            run.left(),
            run.name
        );
    }
    if run.searches_left() {
        let summary = &run.summary;
        let thresholds =
            summary.threshold.as_ref().map_or(0, |summary| summary.searches.len() - summary.left);
        let rates = summary.slo.as_ref().map_or(0, |summary| summary.searches.len() - summary.left);
        let ended = thresholds + rates;
        let _ = writeln!(
            out,
            "> **Incomplete: {ended} searches have ended, and more are to come.** Resume it: `cargo rpc-bench run --resume results/{}`.\n",
            run.name
        );
    }
    out.push_str(&lost::warnings(run));
    let tools = std::iter::once(&run.conditions.tool).chain(&run.conditions.open_loop_tools);
    for caveat in tools.filter_map(Tool::caveat) {
        let _ = writeln!(out, "> **Another load tool:** {caveat}.\n");
    }
    out
}

/// One comparison as a sentence that is true by itself.
fn sentence(run: &Run, comparison: &Comparison, marks: &[Mark]) -> String {
    let margin = run.plan.campaign.margin;
    let Comparison { workload, level, rate, cpu, .. } = comparison;
    let (server, over) = (run.label(&comparison.server), run.label(&comparison.over));
    let head = match run.plan.campaign.environment.placement {
        Placement::Free => format!("**{workload}** at {}: ", load(*level)),
        Placement::OneCore => format!("**{workload}** at {}, on one core: ", load(*level)),
        Placement::Duet => format!("**{workload}** in duets, {}: ", at_the_same_time(*level)),
    };
    let said = said(rate, server, over, margin);
    let cpu = format!("{} times its server CPU for a request ({})", ratio(cpu.ratio), by_cpu(cpu, margin));
    let bound = if marks.contains(&Mark::ClientBound) {
        "; the rate is held back by the load generator, so CPU is the truer figure"
    } else {
        ""
    };
    format!("{head}{said}, {} times its rate; {cpu}{bound}.", ratio(rate.ratio))
}

/// How the two servers of a duet are run.
fn at_the_same_time(level: Level) -> String {
    format!("both servers at the same time on one core at {} each", load(level))
}

/// What the same two showed in duets, which have a placement and connections of their own.
fn by_duet(run: &Run, comparison: &Comparison, margin: Percent) -> String {
    let Comparison { level, cpu, .. } = comparison;
    let (server, over) = (run.label(&comparison.server), run.label(&comparison.over));
    format!(
        " In duets, {}: {server} needs **{} times the CPU** of {over} for a request ({}).",
        at_the_same_time(*level),
        ratio(cpu.ratio),
        by_cpu(cpu, margin)
    )
}

/// What the rate allows to say.
fn said(rate: &Finding, server: &str, over: &str, margin: Percent) -> String {
    let way = if rate.ratio.value > 1.0 { "faster" } else { "slower" };
    match rate.verdict {
        Verdict::Faster | Verdict::Slower => format!("**{server} is {way}** than {over}"),
        Verdict::DifferentButSmall if rate.surely_small => {
            format!("**{server} is {way}** than {over}, **but by less than {margin}**")
        }
        Verdict::DifferentButSmall => {
            format!("**{server} is {way}** than {over}, **whether by more than {margin} is open**")
        }
        Verdict::Equivalent => format!("**{server} and {over} are equivalent** (within {margin})"),
        Verdict::Inconclusive => {
            let more = known(rate.blocks_needed, "", |blocks| {
                format!(" (after {} of about {} blocks that it would take)", rate.blocks, count(blocks))
            });
            format!("it is **inconclusive** whether {server} or {over} is faster{more}")
        }
    }
}

/// What CPU time per request allows to say, in brackets behind its ratio.
pub(super) fn by_cpu(cpu: &Finding, margin: Percent) -> String {
    match cpu.verdict {
        Verdict::Faster => "it needs less".to_owned(),
        Verdict::Slower => "it needs more".to_owned(),
        Verdict::DifferentButSmall if cpu.surely_small => format!("different, by less than {margin}"),
        Verdict::DifferentButSmall => format!("different; whether by more than {margin} is open"),
        Verdict::Equivalent => format!("the same within {margin}"),
        Verdict::Inconclusive => "inconclusive".to_owned(),
    }
}

/// The headline's cells: each workload at its headline load.
fn cells(run: &Run) -> impl Iterator<Item = &Cell> + Clone {
    run.summary.cells.iter().filter(|cell| cell.level == run.plan.headline_level(&cell.workload))
}

/// The marks that some of the cells have, each with its meaning.
pub(super) fn marks_used<'a>(cells: impl Iterator<Item = &'a Cell> + Clone) -> String {
    let used = |mark: &Mark| cells.clone().any(|cell| cell.marks.contains(mark));
    let used = meanings(Mark::ALL.into_iter().filter(used));
    if used.is_empty() { used } else { format!("\n{used}") }
}

/// Each mark that some cell of a run has: its meaning, and which cells these are.
pub(super) fn marked(run: &Run, place: impl Fn(&Cell) -> String) -> Vec<String> {
    let line = |mark: Mark| {
        let cells = run.summary.cells.iter().filter(|cell| cell.marks.contains(&mark));
        let cells = list(cells.map(|cell| format!("{} {}", run.cell_name(cell), place(cell))));
        (!cells.is_empty()).then(|| format!("**{}** {}: {cells}.", mark.letter(), mark.meaning()))
    };
    Mark::ALL.into_iter().filter_map(line).collect()
}

/// Each mark with its meaning.
pub(super) fn meanings(marks: impl IntoIterator<Item = Mark>) -> String {
    bullets(marks.into_iter().map(|mark| format!("**{}**: {}", mark.letter(), mark.meaning())))
}

fn table(run: &Run) -> Table {
    let campaign = &run.plan.campaign;
    let baseline = campaign.baseline.as_deref();
    let over = known(baseline, "ratio", |name| {
        // A label is too long for a column of figures; the baseline's row says that it is the baseline.
        format!("ratio to {}", if run.label(name) == name { name } else { "baseline" })
    });
    let ceiling = known(campaign.ceiling.as_ref(), "", |ceiling| format!("% of {ceiling}"));
    let headers = format!(
        "request | server | successful requests/s | {over} | p99 | CPU µs/request | {ceiling} | verdict"
    );
    let row = |cell: &Cell| {
        let compared = |pair: &&Comparison| {
            pair.server == cell.server && pair.workload == cell.workload && pair.level == cell.level
        };
        let comparison = run.summary.comparisons.iter().find(compared);
        let place = if Some(cell.server.as_str()) == baseline {
            "baseline"
        } else if Some(&cell.server) == campaign.ceiling.as_ref() {
            "ceiling"
        } else {
            ""
        };
        vec![
            at(&cell.workload, cell.level),
            run.cell_name(cell),
            with_marks(shown(cell, Figure::RequestsPerSecond, thousands), &cell.marks),
            dash(comparison, |pair| ratio(pair.rate.ratio)),
            shown(cell, Figure::P99Us, time_us),
            shown(cell, Figure::CpuUsPerRequest, significant),
            dash(cell.share_of_ceiling, percent),
            known(comparison, place, |pair| pair.rate.words()),
        ]
    };
    Table::of(&headers, 2, cells(run).map(row))
}

/// A figure with the letters of what to distrust in it.
pub(super) fn with_marks(figure: String, marks: &[Mark]) -> String {
    if marks.is_empty() {
        return figure;
    }
    let letters: Vec<String> = marks.iter().map(|mark| mark.letter().to_string()).collect();
    format!("{figure} **{}**", letters.join(" "))
}
