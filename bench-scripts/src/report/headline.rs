//! The headline: who is faster, by how much, how sure that is, and what must be known before it is believed.

use std::fmt::Write;

use super::format::{PAIRED_RATIOS, Table, at, estimate, load, ratio, significant, thousands, time_us};
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
    let searched =
        run.summary.threshold.as_ref().map_or_else(String::new, |found| threshold::headline(run, found))
            + &run.summary.slo.as_ref().map_or_else(String::new, |found| slo::headline(run, found))
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
            let _ = write!(out, "- {}", sentence(run, comparison, marks.unwrap_or_default()));
            let duet = run.duets.as_ref().and_then(|duets| duets::of(duets, &server, &over, workload));
            out.push_str(&duet.map_or_else(String::new, |duet| by_duet(run, duet, campaign.margin)));
            out.push('\n');
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
    let marks = used_marks(cells(run));
    if !marks.is_empty() {
        out.push('\n');
        for mark in marks {
            let _ = writeln!(out, "- **{}**: {}", mark.letter(), mark.meaning());
        }
    }
    out
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
            "> **Incomplete: {} trials have run, at least {} are still needed.** Go on with `cargo rpc-bench run --resume results/{}`.\n",
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
            "> **Incomplete: {ended} searches have ended, and more are to come.** Go on with `cargo rpc-bench run --resume results/{}`.\n",
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
            let more = rate.blocks_needed.map_or_else(String::new, |blocks| {
                format!(
                    " (after {} of about {} blocks that it would take)",
                    rate.blocks,
                    thousands(blocks as f64)
                )
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

/// The marks that some of the cells have.
pub(super) fn used_marks<'a>(cells: impl Iterator<Item = &'a Cell> + Clone) -> Vec<Mark> {
    Mark::ALL.into_iter().filter(|mark| cells.clone().any(|cell| cell.marks.contains(mark))).collect()
}

fn table(run: &Run) -> Table {
    let campaign = &run.plan.campaign;
    let baseline = campaign.baseline.as_deref();
    let over = baseline.map_or_else(
        || "ratio".to_owned(),
        |name| {
            // A label is too long for a column of figures; the baseline's row says that it is the baseline.
            let short = if run.label(name) == name { name } else { "baseline" };
            format!("ratio to {short}")
        },
    );
    let ceiling = campaign.ceiling.as_deref().map_or_else(String::new, |ceiling| format!("% of {ceiling}"));
    let headers =
        ["request", "server", "successful requests/s", &over, "p99", "CPU us/request", &ceiling, "verdict"];
    let mut table = Table::new(&headers, 2);
    for cell in cells(run) {
        let compared = |pair: &&Comparison| {
            pair.server == cell.server && pair.workload == cell.workload && pair.level == cell.level
        };
        let comparison = run.summary.comparisons.iter().find(compared);
        let figure = |figure: Figure, format: fn(f64) -> String| {
            cell.figure(figure).map_or_else(|| "-".to_owned(), |value| estimate(value, format))
        };
        let place = if Some(cell.server.as_str()) == baseline {
            "baseline"
        } else if Some(&cell.server) == campaign.ceiling.as_ref() {
            "ceiling"
        } else {
            ""
        };
        table.row(vec![
            at(&cell.workload, cell.level),
            run.cell_name(cell),
            with_marks(figure(Figure::RequestsPerSecond, thousands), &cell.marks),
            comparison.map_or_else(|| "-".to_owned(), |pair| ratio(pair.rate.ratio)),
            figure(Figure::P99Us, time_us),
            figure(Figure::CpuUsPerRequest, significant),
            cell.share_of_ceiling.map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", share * 100.0)),
            comparison.map_or_else(|| place.to_owned(), |pair| pair.rate.words()),
        ]);
    }
    table
}

/// A figure with the letters of what to distrust in it.
pub(super) fn with_marks(figure: String, marks: &[Mark]) -> String {
    if marks.is_empty() {
        return figure;
    }
    let letters: Vec<String> = marks.iter().map(|mark| mark.letter().to_string()).collect();
    format!("{figure} **{}**", letters.join(" "))
}
