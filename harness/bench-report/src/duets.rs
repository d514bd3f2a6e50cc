//! The section on duets: what compared servers need for a request, measured side by side.

use super::columns::Columns;
use super::format::{PAIRED_RATIOS, at, count, dash, known, list, ratio, significant};
use super::tables::{resolution, shown};
use super::{Run, invalid_trials};
use bench_analysis::{Cell, Comparison};
use bench_model::figure::Figure;
use bench_model::plan::layouts;

/// The comparison of a pair on a workload.
pub(super) fn of<'a>(duets: &'a Run, server: &str, over: &str, workload: &str) -> Option<&'a Comparison> {
    let comparisons = &duets.summary.comparisons;
    comparisons.iter().find(|pair| (&*pair.server, &*pair.over, &*pair.workload) == (server, over, workload))
}

/// The whole section.
pub(super) fn section(duets: &Run) -> String {
    let comparisons = &duets.summary.comparisons;
    let cpu_us = |pair: &Comparison, server: &str, other: &str| {
        let of_pair = |cell: &&Cell| {
            (&*cell.server, cell.beside.as_deref(), &*cell.workload, cell.level)
                == (server, Some(other), &*pair.workload, pair.level)
        };
        let cell = duets.summary.cells.iter().find(of_pair);
        dash(cell, |cell| shown(cell, Figure::CpuUsPerRequest, significant))
    };
    let of_each = |pair: &Comparison| {
        [(&pair.server, &pair.over), (&pair.over, &pair.server)].map(|(of, other)| cpu_us(pair, of, other))
    };
    let table = Columns::of(2, comparisons)
        .column("request", |pair| at(&pair.workload, pair.level))
        .column("servers", |pair| duets.pair(pair))
        .column("CPU µs/request of each", |pair| of_each(pair).join(", "))
        .column("ratio of CPU per request", |pair| ratio(pair.cpu.ratio))
        .column("verdict", |pair| pair.cpu.cpu_words())
        .column("blocks", |pair| pair.cpu.blocks)
        .column("resolves", |pair| resolution(&pair.cpu));
    table.within(|table| {
        format!(
            "## Side by side\n\nThe two servers of a pair run at the same time on one core, each with a load generator \
             of its own: what slows one slows the other, and their ratio keeps still where single figures jump. So \
             this is the sharpest comparison of CPU time per request that this machine allows; the figures of one \
             server alone are those of a core that four processes share. Rates are not compared here, because the \
             kernel divides the core.\n\n{table}\n{PAIRED_RATIOS} Judged after {} valid blocks; all {} comparisons and \
             all interim analyses share an error of 5 %. Windows of {} ms.\n{}{}",
            list(&duets.summary.block_counts),
            comparisons.len(),
            count(duets.plan.campaign.window_ms),
            known(layouts::words(&duets.plan), "", |words| format!("\nLayouts: {words}.\n")),
            comparisons.iter().map(invalid_trials::blocks).collect::<String>(),
        )
    })
}
