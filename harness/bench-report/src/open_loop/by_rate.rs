//! What servers use, rate by rate: a chart with panels on the same axes, and a table.

use super::super::Run;
use super::super::charts::{self, Picture};
use super::super::format::{Table, bytes, count, dash, significant, thousands, time_us};
use bench_analysis::by_rate::{ByRate, RatePoint};

/// The charts, one for each request; none where a run has too few rates.
pub(crate) fn pictures(run: &Run) -> Vec<Picture> {
    let of = |workload: &String| {
        let servers: Vec<&ByRate> = own(run, workload).collect();
        Some(Picture {
            file: format!("curves-{workload}.svg"),
            alt: format!("{workload}: CPU, memory and CPU time for a request of each server, by rate"),
            note: "Every server has a panel in each row, and the panels of a row have the same axes, from zero \
                upwards. Points are medians over blocks, vertical lines reach from the lowest block to the highest. A \
                hollow point is a rate that the server did not hold in every block: it stands where it was requested, \
                and the table says what was answered. In the last row the rates are on a logarithmic scale, so that \
                low ones are apart."
                .to_owned(),
            chart: charts::by_rate(run, &servers)?,
        })
    };
    run.plan.campaign.workloads.iter().filter_map(of).collect()
}

/// The whole section; empty where a run has too few rates.
pub(crate) fn section(run: &Run) -> String {
    let parts = run.plan.campaign.workloads.iter().zip(pictures(run)).map(|(workload, picture)| {
        let rows = own(run, workload).flat_map(|of| of.points.iter().map(|point| row(run, of, point)));
        let headers =
            "server | requested/s | answered/s | cores | CPU µs/request | memory | p50 | p99 | held";
        format!("### {workload}\n\n{}\n{}", picture.markdown(), Table::of(headers, 1, rows).markdown())
    });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() {
        return String::new();
    }
    format!(
        "## CPU and memory by rate\n\nA rate is held where 99 % of its requests were sent and answered, and 99 % were \
         sent at most 10 ms late; \"held\" says in how many of the trials. Server and load tool share the machine's \
         cores, so the rate at which a server no longer holds is that of both together. Memory is the most resident \
         memory in the window. Latency counts from when a request was due. Below about a hundred requests in a window \
         p99 is the slowest. All figures are medians over valid trials.\n\n{}",
        parts.join("\n")
    )
}

fn own<'a>(run: &'a Run, workload: &'a str) -> impl Iterator<Item = &'a ByRate> {
    run.summary.by_rate.iter().filter(move |of| of.workload == workload)
}

fn row(run: &Run, of: &ByRate, point: &RatePoint) -> Vec<String> {
    let held = match point.is_held() {
        true => format!("{} of {}", point.held, point.trials),
        false => format!("**{} of {}**", point.held, point.trials),
    };
    vec![
        run.label(&of.server).to_owned(),
        count(point.requested.into()),
        thousands(point.answered.median),
        dash(point.cores, |value| significant(value.median)),
        dash(point.cpu_us, |value| significant(value.median)),
        dash(point.memory_bytes, |value| bytes(value.median)),
        time_us(point.p50_us),
        time_us(point.p99_us),
        held,
    ]
}
