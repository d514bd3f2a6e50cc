//! The section on duets: what compared servers need for a request, measured side by side.

use super::columns::Columns;
use super::format::{PAIRED_RATIOS, at, count, dash, known, list, ratio, significant, time_us};
use super::tables::{resolution, shown};
use super::{Run, invalid_trials};
use bench_analysis::{Cell, Comparison};
use bench_model::figure::Figure;
use bench_model::plan::layouts;

/// The comparison of a pair on a workload in the closed loop.
pub(super) fn of<'a>(duets: &'a Run, server: &str, over: &str, workload: &str) -> Option<&'a Comparison> {
    let comparisons = &duets.summary.comparisons;
    comparisons.iter().find(|pair| {
        (&*pair.server, &*pair.over, &*pair.workload) == (server, over, workload) && pair.level.rate.is_none()
    })
}

/// The whole section.
pub(super) fn section(duets: &Run) -> String {
    let comparisons = &duets.summary.comparisons;
    let of_one = |pair: &Comparison, server: &str, other: &str, figure: Figure, unit: fn(f64) -> String| {
        let of_pair = |cell: &&Cell| {
            (&*cell.server, cell.beside.as_deref(), &*cell.workload, cell.level)
                == (server, Some(other), &*pair.workload, pair.level)
        };
        let cell = duets.summary.cells.iter().find(of_pair);
        dash(cell, |cell| shown(cell, figure, unit))
    };
    let of_each = |pair: &Comparison, figure: Figure, unit: fn(f64) -> String| {
        let both = [(&pair.server, &pair.over), (&pair.over, &pair.server)];
        both.map(|(of, other)| of_one(pair, of, other, figure, unit)).join(", ")
    };
    // A p99 of servers that have no moment without work says how many connections wait.
    let at_rate = |pair: &&Comparison| pair.level.rate.is_some();
    let has_rates = comparisons.iter().any(|pair| at_rate(&pair));
    let p99_of_each =
        |pair: &&Comparison| dash(Some(*pair).filter(at_rate), |pair| of_each(pair, Figure::P99Us, time_us));
    let p99_ratio = |pair: &&Comparison| dash(pair.p99_ratio.filter(|_| at_rate(pair)), ratio);
    let table = Columns::of(2, comparisons)
        .column("request", |pair| at(&pair.workload, pair.level))
        .column("servers", |pair| duets.pair(pair))
        .column("CPU µs/request of each", |pair| of_each(pair, Figure::CpuUsPerRequest, significant))
        .column("ratio of CPU per request", |pair| ratio(pair.cpu.ratio))
        .column("verdict", |pair| pair.cpu.cpu_words())
        .column_if(has_rates, "p99 of each", p99_of_each)
        .column_if(has_rates, "ratio of p99", p99_ratio)
        .column("blocks", |pair| pair.cpu.blocks)
        .column("resolves", |pair| resolution(&pair.cpu));
    table.within(|table| {
        let at_rates = match has_rates {
            true => {
                " At a rate the load generators are on the other cores, and p99 counts from when a request was due: \
                 what it waits while the other server has the core is in it."
            }
            false => "",
        };
        format!(
            "## Side by side\n\nThe two servers of a pair run at the same time on one core, each with a load generator \
             of its own: what slows one slows the other, and their ratio keeps still where single figures jump. In a \
             closed loop, which saturates the core, the load generators are on it too.{at_rates} Requests/s are not \
             compared here, because the kernel divides the core.\n\n{table}\n{PAIRED_RATIOS} Judged after {} valid blocks; all {} comparisons and \
             all interim analyses share an error of 5 %. Windows of {} ms.\n{}{}",
            list(&duets.summary.block_counts),
            comparisons.len(),
            count(duets.plan.campaign.window_ms),
            known(layouts::words(&duets.plan), "", |words| format!("\nLayouts: {words}.\n")),
            comparisons.iter().map(invalid_trials::blocks).collect::<String>(),
        )
    })
}
