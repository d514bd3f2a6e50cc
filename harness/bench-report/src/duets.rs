//! The section on duets: what compared servers need for a request, measured side by side.

use super::format::{PAIRED_RATIOS, Table, at, count, known, list, ratio, significant};
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
    if duets.summary.comparisons.is_empty() {
        return String::new();
    }
    let headers =
        "request | servers | CPU µs/request of each | ratio of CPU per request | verdict | blocks | resolves";
    let rows = duets.summary.comparisons.iter().map(|pair| {
        let cpu_us = |server: &str, other: &str| {
            let of_pair = |cell: &&Cell| {
                (&*cell.server, cell.beside.as_deref(), &*cell.workload, cell.level)
                    == (server, Some(other), &*pair.workload, pair.level)
            };
            let cell = duets.summary.cells.iter().find(of_pair);
            cell.map_or_else(|| "-".to_owned(), |cell| shown(cell, Figure::CpuUsPerRequest, significant))
        };
        vec![
            at(&pair.workload, pair.level),
            duets.pair(pair),
            format!("{}, {}", cpu_us(&pair.server, &pair.over), cpu_us(&pair.over, &pair.server)),
            ratio(pair.cpu.ratio),
            pair.cpu.cpu_words(),
            pair.cpu.blocks.to_string(),
            resolution(&pair.cpu),
        ]
    });
    format!(
        "## Side by side\n\nThe two servers of a pair run at the same time on one core, each with a load generator of \
         its own: what slows one slows the other, and their ratio keeps still where single figures jump. So this is \
         the sharpest comparison of CPU time per request that this machine allows; the figures of one server alone \
         are those of a core that four processes share. Rates are not compared here, because the kernel divides the \
         core.\n\n{}\n{PAIRED_RATIOS} Judged after {} valid blocks; all {} comparisons and all interim analyses share \
         an error of 5 %. Windows of {} ms.\n{}{}",
        Table::of(headers, 2, rows).markdown(),
        list(&duets.summary.block_counts),
        duets.summary.comparisons.len(),
        count(duets.plan.campaign.window_ms),
        known(layouts::words(&duets.plan), "", |words| format!("\nLayouts: {words}.\n")),
        duets.summary.comparisons.iter().map(invalid_trials::blocks).collect::<String>(),
    )
}
