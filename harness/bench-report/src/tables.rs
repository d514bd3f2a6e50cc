//! The tables of one workload: rates and latencies, what was used, and the comparisons.

use super::columns::Columns;
use super::format::{
    PAIRED_RATIOS, bytes, count, dash, estimate, known, list, load, percent, ratio, significant, thousands,
    time_us,
};
use super::headline::with_marks;
use super::{Run, invalid_trials};
use bench_analysis::{Cell, Finding};
use bench_model::figure::Figure;

/// A cell's figure with its interval, or why there is none.
pub(super) fn shown(cell: &Cell, figure: Figure, write: fn(f64) -> String) -> String {
    cell.figure(figure).map_or_else(|| none(cell), |value| estimate(value, write))
}

/// Why a cell has no figure: a dash, unless all of its trials are invalid.
pub(super) fn none(cell: &Cell) -> String {
    cell.all_invalid().map_or("-".to_owned(), |lost| format!("invalid: {}", lost.words()))
}

/// The median alone, for figures next to others.
pub(super) fn bare(cell: &Cell, figure: Figure, write: fn(f64) -> String) -> String {
    dash(cell.figure(figure), |value| write(value.value))
}

pub(super) fn cores(cores: f64) -> String {
    format!("{cores:.2}")
}

/// A row for each method of a mix, at each load; empty where one method is called.
pub(super) fn by_method<'a>(run: &Run, cells: impl Iterator<Item = &'a Cell>) -> String {
    let rows = cells.flat_map(|cell| cell.methods.iter().map(move |of| (cell, of)));
    Columns::of(3, rows)
        .column("load", |(cell, _)| load(cell.level))
        .column("server", |(cell, _)| run.cell_name(cell))
        .column("method", |(_, of)| of.method.replace('|', " "))
        .column("requests", |(_, of)| count(of.requests))
        .column("failed", |(_, of)| count(of.failed))
        .column("p50", |(_, of)| time_us(of.p50_us))
        .column("p99", |(_, of)| time_us(of.p99_us))
        .within(|table| format!("### By method\n\n{table}\n"))
}

pub(super) fn failed_requests(cell: &Cell) -> String {
    count(cell.failed_requests.values().sum())
}

pub(super) fn rates<'a>(run: &Run, cells: impl Iterator<Item = &'a Cell>) -> String {
    let ceiling = known(run.plan.campaign.ceiling.as_ref(), "%", |name| format!("% of {name}"));
    // A rate counts calls; latency and failures are of whole messages.
    let (rate, failed) =
        if run.plan.has_batches() { ("calls/s", "messages") } else { ("requests/s", "requests") };
    Columns::of(2, cells)
        .column(unit(run), |cell| count(cell.level.amount().into()))
        .column("server", |cell| run.cell_name(cell))
        .column(format!("successful {rate}"), |cell| {
            with_marks(shown(cell, Figure::RequestsPerSecond, thousands), &cell.marks)
        })
        .column("p50", |cell| bare(cell, Figure::P50Us, time_us))
        .column("p99", |cell| shown(cell, Figure::P99Us, time_us))
        .column("p99.9", |cell| bare(cell, Figure::P999Us, time_us))
        .column("slowest", |cell| bare(cell, Figure::MaxUs, time_us))
        .column(ceiling, |cell| dash(cell.share_of_ceiling, |share| format!("{:.0}", share * 100.0)))
        .column(format!("failed {failed}"), |cell| failed_requests(cell))
        .column("trials", |cell| cell.completed)
        .markdown()
}

pub(super) fn resources<'a>(run: &Run, cells: impl Iterator<Item = &'a Cell>) -> String {
    Columns::of(2, cells)
        .column(unit(run), |cell| count(cell.level.amount().into()))
        .column("server", |cell| run.cell_name(cell))
        .column("CPU µs/request", |cell| shown(cell, Figure::CpuUsPerRequest, significant))
        .column("of it in the kernel", |cell| bare(cell, Figure::SystemShare, share_in_kernel))
        .column("server cores", |cell| bare(cell, Figure::ServerCores, cores))
        .column("client cores", |cell| bare(cell, Figure::ClientCores, cores))
        .column("peak memory", |cell| bare(cell, Figure::PeakMemoryBytes, bytes))
        .column("memory/connection", |cell| bare(cell, Figure::ConnectionMemoryBytes, bytes))
        .column("active connections", |cell| bare(cell, Figure::ActiveConnections, thousands))
        .column("first half's CPU/request", |cell| {
            bare(cell, Figure::FirstHalfCpuRatio, |ratio| format!("{ratio:.2} x second"))
        })
        .column("queue overflows, all trials", |cell| known(cell.listen_overflows, "unavailable", count))
        .column("retransmits, all trials", |cell| known(cell.retransmits, "unavailable", count))
        .markdown()
}

/// Linux divides a process's CPU time by clock ticks, so that of a few milliseconds less than none may be the kernel's.
pub(super) fn share_in_kernel(share: f64) -> String {
    if (0.0..=1.0).contains(&share) { percent(share) } else { "-".to_owned() }
}

/// What a campaign's levels count.
pub(super) fn unit(run: &Run) -> &'static str {
    run.plan.levels().first().map_or("connections", |level| level.unit())
}

/// The comparisons of a workload, and how their intervals are to be read.
pub(super) fn comparisons(run: &Run, workload: &str) -> String {
    let pairs = || run.summary.comparisons.iter().filter(|pair| pair.workload == workload);
    let table = Columns::of(2, pairs())
        .column(unit(run), |pair| count(pair.level.amount().into()))
        .column("servers", |pair| run.pair(pair))
        .column("ratio of rates", |pair| ratio(pair.rate.ratio))
        .column("by rate", |pair| pair.rate.words())
        .column("ratio of CPU per request", |pair| ratio(pair.cpu.ratio))
        .column("by CPU per request", |pair| pair.cpu.cpu_words())
        .column("ratio of p99", |pair| dash(pair.p99_ratio, ratio))
        .column("blocks", |pair| pair.rate.blocks)
        .column("resolves", |pair| format!("{} rate, {} CPU", resolution(&pair.rate), resolution(&pair.cpu)));
    format!(
        "{}\n{PAIRED_RATIOS} The margin is {}: what lies within it does not matter. Comparisons are judged after {} \
         valid blocks, and no sooner; all {} comparisons of the run and all interim analyses share an error of 5 % \
         for each of the two ratios, so these intervals are wider than 95 % ones. \"Resolves\" is half of an \
         interval's width: a smaller difference is not seen. The ratio of p99s is not judged; its interval is right \
         by itself with 95 %.\n{}",
        table.markdown(),
        run.plan.campaign.margin,
        list(&run.summary.block_counts),
        run.summary.comparisons.len(),
        pairs().map(invalid_trials::blocks).collect::<String>(),
    )
}

/// Half of an interval's width, relative.
pub(super) fn resolution(finding: &Finding) -> String {
    dash(finding.ratio.interval, |(low, high)| format!("{:.1} %", ((high / low).sqrt() - 1.0) * 100.0))
}
