//! The headline: who is faster, by how much, how sure that is, and what must be known before it is believed.

use std::fmt::Write;

use super::format::{Table, at, estimate, load, ratio, significant, thousands, time_us};
use super::{Run, duets, open, slo, threshold};
use crate::analysis::{Cell, Comparison, Figure, Finding, Mark, Verdict};
use crate::config::Percent;
use crate::load::Level;
use crate::load::toolchain::Tool;

/// The headline's table and sentences, in Markdown.
pub fn headline(run: &Run) -> String {
    if open::of(run).is_some() {
        return open::headline(run);
    }
    let campaign = &run.plan.campaign;
    let mut out = warnings(run);
    let searched = run.summary.threshold.as_ref().map_or_else(String::new, threshold::headline)
        + &run.summary.slo.as_ref().map_or_else(String::new, slo::headline);
    if !run.has_sweep() {
        return out + &searched;
    }
    for workload in &campaign.workloads {
        let level = run.plan.headline_level(workload);
        for (server, over) in campaign.compared() {
            let Some(comparison) = run.summary.comparison(&server, &over, workload, level) else {
                // Writing to a String can't fail, here and below.
                let _ = writeln!(
                    out,
                    "- **{workload}** at {}: {server} and {over} are **not compared**: there is no block in which \
                     both were measured and neither trial was invalid.",
                    load(level)
                );
                continue;
            };
            let marks = run.summary.cell(&server, workload, level).map(|cell| cell.marks.as_slice());
            let _ = write!(out, "- {}", sentence(comparison, campaign.margin, marks.unwrap_or_default()));
            let duet = run.duets.as_ref().and_then(|duets| duets::of(duets, &server, &over, workload));
            out.push_str(&duet.map_or_else(String::new, |duet| by_duet(duet, campaign.margin)));
            out.push('\n');
        }
    }
    out.push_str(&searched);
    out.push('\n');
    out.push_str(&table(run).markdown());
    let marks = used_marks(cells(run));
    if !marks.is_empty() {
        out.push('\n');
        for mark in marks {
            let _ = writeln!(out, "- **{}**: {}", mark.letter(), mark.meaning());
        }
    }
    out
}

impl crate::results::Plan {
    /// The load that the headline shows for a workload.
    pub fn headline_level(&self, workload: &str) -> Level {
        self.campaign.headline_level(workload, &self.levels())
    }
}

/// What must be read before any figure.
pub(super) fn warnings(run: &Run) -> String {
    let mut out = String::new();
    let summary = &run.summary;
    if run.failed().any(|trial| trial.wrong_answer) {
        let mut servers: Vec<&str> =
            run.failed().filter(|trial| trial.wrong_answer).map(|trial| trial.server.as_str()).collect();
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
            summary.observed,
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
    let tools = std::iter::once(&run.conditions.tool).chain(&run.conditions.open_loop_tools);
    for caveat in tools.filter_map(Tool::caveat) {
        let _ = writeln!(out, "> **Another load tool:** {caveat}.\n");
    }
    out
}

/// One comparison as a sentence that is true by itself.
fn sentence(comparison: &Comparison, margin: Percent, marks: &[Mark]) -> String {
    let Comparison { server, over, workload, level, rate, cpu, .. } = comparison;
    let head = format!("**{workload}** at {}: ", load(*level));
    let said = said(rate, server, over, margin);
    let cpu = format!("{} times its server CPU for a request ({})", ratio(cpu.ratio), by_cpu(cpu, margin));
    let bound = if marks.contains(&Mark::ClientBound) {
        "; the rate is held back by the load generator, so CPU is the truer figure"
    } else {
        ""
    };
    format!("{head}{said}, {} times its rate; {cpu}{bound}.", ratio(rate.ratio))
}

/// What the same two showed side by side.
fn by_duet(comparison: &Comparison, margin: Percent) -> String {
    let Comparison { server, over, cpu, .. } = comparison;
    format!(
        " Side by side on one core {server} needs **{} times the CPU** of {over} for a request ({}).",
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
            format!("**can't tell** whether {server} or {over} is faster{more}")
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
        Verdict::Inconclusive => "can't tell".to_owned(),
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
    let over = baseline.map_or_else(|| "ratio".to_owned(), |baseline| format!("ratio to {baseline}"));
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
            cell.name(),
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
