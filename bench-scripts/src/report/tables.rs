//! The tables of one workload: rates and latencies, what was used, and the comparisons.

use super::format::{PAIRED_RATIOS, Table, bytes, estimate, ratio, significant, thousands, time_us};
use super::headline::with_marks;
use super::{Run, lost};
use crate::analysis::{Cell, Finding};
use crate::figure::Figure;

fn show(cell: &Cell, figure: Figure, format: fn(f64) -> String) -> String {
    cell.figure(figure).map_or_else(|| "-".to_owned(), |value| estimate(value, format))
}

/// The median alone, for figures that stand beside others.
fn bare(cell: &Cell, figure: Figure, format: fn(f64) -> String) -> String {
    cell.figure(figure).map_or_else(|| "-".to_owned(), |value| format(value.value))
}

pub(super) fn rates<'a>(run: &Run, cells: impl Iterator<Item = &'a Cell>) -> Table {
    let ceiling =
        run.plan.campaign.ceiling.as_deref().map_or_else(|| "%".to_owned(), |name| format!("% of {name}"));
    let headers = [
        "connections",
        "server",
        "successful requests/s",
        "p50",
        "p99",
        "p99.9",
        "slowest",
        &ceiling,
        "failed requests",
        "trials",
    ];
    let mut table = Table::new(&headers, 2);
    for cell in cells {
        let failed: u64 = cell.failed_requests.values().sum();
        table.row(vec![
            thousands(f64::from(cell.level.amount())),
            run.cell_name(cell),
            with_marks(show(cell, Figure::RequestsPerSecond, thousands), &cell.marks),
            bare(cell, Figure::P50Us, time_us),
            show(cell, Figure::P99Us, time_us),
            bare(cell, Figure::P999Us, time_us),
            bare(cell, Figure::MaxUs, time_us),
            cell.share_of_ceiling.map_or_else(|| "-".to_owned(), |share| format!("{:.0}", share * 100.0)),
            thousands(failed as f64),
            cell.completed.to_string(),
        ]);
    }
    table
}

pub(super) fn resources<'a>(run: &Run, cells: impl Iterator<Item = &'a Cell>) -> Table {
    let headers = [
        "connections",
        "server",
        "CPU us/request",
        "of it in the kernel",
        "server cores",
        "client cores",
        "peak memory",
        "memory/connection",
        "active connections",
        "first half's CPU/request",
        "queue overflows, all trials",
        "retransmits, all trials",
    ];
    let mut table = Table::new(&headers, 2);
    let count =
        |count: Option<u64>| count.map_or_else(|| "unavailable".to_owned(), |count| thousands(count as f64));
    for cell in cells {
        table.row(vec![
            thousands(f64::from(cell.level.amount())),
            run.cell_name(cell),
            show(cell, Figure::CpuUsPerRequest, significant),
            bare(cell, Figure::SystemShare, |share| format!("{:.0} %", share * 100.0)),
            bare(cell, Figure::ServerCores, |cores| format!("{cores:.2}")),
            bare(cell, Figure::ClientCores, |cores| format!("{cores:.2}")),
            bare(cell, Figure::PeakMemoryBytes, bytes),
            bare(cell, Figure::ConnectionMemoryBytes, bytes),
            bare(cell, Figure::ActiveConnections, thousands),
            bare(cell, Figure::FirstHalfCpuRatio, |ratio| format!("{ratio:.2} x second")),
            count(cell.listen_overflows),
            count(cell.retransmits),
        ]);
    }
    table
}

/// The comparisons of a workload, and how their intervals are to be read.
pub(super) fn comparisons(run: &Run, workload: &str) -> String {
    let headers = [
        "connections",
        "servers",
        "ratio of rates",
        "by rate",
        "ratio of CPU per request",
        "by CPU per request",
        "ratio of p99",
        "blocks",
        "resolves",
    ];
    let mut table = Table::new(&headers, 2);
    let pairs = || run.summary.comparisons.iter().filter(|pair| pair.workload == workload);
    for pair in pairs() {
        table.row(vec![
            thousands(f64::from(pair.level.amount())),
            run.pair(pair),
            ratio(pair.rate.ratio),
            pair.rate.words(),
            ratio(pair.cpu.ratio),
            pair.cpu.words(),
            pair.p99_ratio.map_or_else(|| "-".to_owned(), ratio),
            pair.rate.blocks.to_string(),
            format!("{} rate, {} CPU", resolution(&pair.rate), resolution(&pair.cpu)),
        ]);
    }
    let campaign = &run.plan.campaign;
    let looks: Vec<String> = run.summary.looks.iter().map(ToString::to_string).collect();
    let mut out = format!(
        "{}\n{PAIRED_RATIOS} The margin is {}: what lies within it does not matter. Comparisons are judged after {} valid blocks, and no sooner; \
         all {} comparisons of the run and all looks share an error of 5 % for each of the two ratios, so these intervals \
         are wider than 95 % ones. \"Resolves\" is half of an interval's width: a smaller difference is not seen. The \
         ratio of p99s is not judged; its interval is right by itself with 95 %.\n",
        table.markdown(),
        campaign.margin,
        looks.join(", "),
        run.summary.comparisons.len(),
    );
    out.extend(pairs().map(lost::blocks));
    out
}

/// Half of an interval's width, relative.
pub(super) fn resolution(finding: &Finding) -> String {
    finding
        .ratio
        .interval
        .map_or_else(|| "-".to_owned(), |(low, high)| format!("{:.1} %", ((high / low).sqrt() - 1.0) * 100.0))
}
