//! The tables of one workload: rates and latencies, what was used, and the comparisons.

use super::format::{
    PAIRED_RATIOS, Table, bytes, count, dash, estimate, known, list, percent, ratio, significant, thousands,
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

pub(super) fn failed_requests(cell: &Cell) -> String {
    count(cell.failed_requests.values().sum())
}

pub(super) fn rates<'a>(run: &Run, cells: impl Iterator<Item = &'a Cell>) -> Table {
    let ceiling = known(run.plan.campaign.ceiling.as_ref(), "%", |name| format!("% of {name}"));
    let unit = unit(run);
    // A rate counts calls; latency and failures are of whole messages.
    let (rate, failed) =
        if run.plan.has_batches() { ("calls/s", "messages") } else { ("requests/s", "requests") };
    let headers = format!(
        "{unit} | server | successful {rate} | p50 | p99 | p99.9 | slowest | {ceiling} | failed {failed} | trials"
    );
    let row = |cell: &Cell| {
        vec![
            count(cell.level.amount().into()),
            run.cell_name(cell),
            with_marks(shown(cell, Figure::RequestsPerSecond, thousands), &cell.marks),
            bare(cell, Figure::P50Us, time_us),
            shown(cell, Figure::P99Us, time_us),
            bare(cell, Figure::P999Us, time_us),
            bare(cell, Figure::MaxUs, time_us),
            dash(cell.share_of_ceiling, |share| format!("{:.0}", share * 100.0)),
            failed_requests(cell),
            cell.completed.to_string(),
        ]
    };
    Table::of(&headers, 2, cells.map(row))
}

pub(super) fn resources<'a>(run: &Run, cells: impl Iterator<Item = &'a Cell>) -> Table {
    let unit = unit(run);
    let headers = format!(
        "{unit} | server | CPU µs/request | of it in the kernel | server cores | client cores | peak memory | \
         memory/connection | active connections | first half's CPU/request | queue overflows, all trials | \
         retransmits, all trials"
    );
    let row = |cell: &Cell| {
        vec![
            count(cell.level.amount().into()),
            run.cell_name(cell),
            shown(cell, Figure::CpuUsPerRequest, significant),
            bare(cell, Figure::SystemShare, share_in_kernel),
            bare(cell, Figure::ServerCores, cores),
            bare(cell, Figure::ClientCores, cores),
            bare(cell, Figure::PeakMemoryBytes, bytes),
            bare(cell, Figure::ConnectionMemoryBytes, bytes),
            bare(cell, Figure::ActiveConnections, thousands),
            bare(cell, Figure::FirstHalfCpuRatio, |ratio| format!("{ratio:.2} x second")),
            known(cell.listen_overflows, "unavailable", count),
            known(cell.retransmits, "unavailable", count),
        ]
    };
    Table::of(&headers, 2, cells.map(row))
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
    let unit = unit(run);
    let headers = format!(
        "{unit} | servers | ratio of rates | by rate | ratio of CPU per request | by CPU per request | ratio of p99 | \
         blocks | resolves"
    );
    let pairs = || run.summary.comparisons.iter().filter(|pair| pair.workload == workload);
    let rows = pairs().map(|pair| {
        vec![
            count(pair.level.amount().into()),
            run.pair(pair),
            ratio(pair.rate.ratio),
            pair.rate.words(),
            ratio(pair.cpu.ratio),
            pair.cpu.cpu_words(),
            dash(pair.p99_ratio, ratio),
            pair.rate.blocks.to_string(),
            format!("{} rate, {} CPU", resolution(&pair.rate), resolution(&pair.cpu)),
        ]
    });
    format!(
        "{}\n{PAIRED_RATIOS} The margin is {}: what lies within it does not matter. Comparisons are judged after {} \
         valid blocks, and no sooner; all {} comparisons of the run and all interim analyses share an error of 5 % \
         for each of the two ratios, so these intervals are wider than 95 % ones. \"Resolves\" is half of an \
         interval's width: a smaller difference is not seen. The ratio of p99s is not judged; its interval is right \
         by itself with 95 %.\n{}",
        Table::of(&headers, 2, rows).markdown(),
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
