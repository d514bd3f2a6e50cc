//! The section on head-of-line blocking: what calls with long answers do to short ones, on one socket and on several.

use super::Run;
use super::arms::{name, named, transport};
use super::format::{Table, at, count, dash, ratio, time_us};
use bench_analysis::head_of_line::HeadOfLine;
use bench_model::load::Load;
use bench_stats::Estimate;

/// The whole section; empty where no method was measured alone and in a mix.
pub(super) fn section(run: &Run) -> String {
    let found = &run.summary.head_of_line;
    let Some(first) = found.first() else { return String::new() };
    let mix = run.plan.workloads.iter().find(|workload| workload.name == first.mix);
    let mix = mix.map_or_else(|| first.mix.clone(), |mix| mix.words());
    let rows = found.iter().map(|of| {
        let bare = |estimate: Estimate| time_us(estimate.value);
        vec![
            name(run, &of.server).to_owned(),
            transport(run, &of.server).name().to_owned(),
            count(connections(run, of, &of.server).into()),
            at(&of.method, of.level),
            bare(of.p50_us.0),
            bare(of.p50_us.1),
            bare(of.p99_us.0),
            bare(of.p99_us.1),
            dash(of.p99_ratio, ratio),
            of.blocks.to_string(),
        ]
    });
    let headers = "server | transport | sockets | request | p50 alone | p50 in the mix | p99 alone | p99 in the mix | \
        p99 in the mix over alone | blocks";
    let each = Table::of(headers, 4, rows);
    let method = &first.method;
    format!(
        "## Head-of-line blocking\n\nLatency of {method} alone from when it was due, by itself and as a part of this \
         mix at the same rate of requests: {mix}. The other calls of the mix also cost the server time, so only the \
         ways to reach a server compare with each other. Ratios are paired by block, each with its own 95 % interval, \
         and are not judged.\n\n{}\n{}",
        each.markdown(),
        ways(run, found)
    )
}

/// Connections that a server's load is put on at most.
fn connections(run: &Run, of: &HeadOfLine, server: &str) -> u32 {
    let load = Load { connections: of.level.connections, ..Load::default() };
    named(run, server).map_or(of.level.connections, |server| run.plan.load_of(server, load).connections)
}

/// The p99 in the mix, of each pair of ways that the campaign compares.
fn ways(run: &Run, found: &[HeadOfLine]) -> String {
    let rows = found.iter().flat_map(|of| {
        let row = |(other, p99): &(String, Estimate)| {
            let way = |server: &str| {
                let sockets = count(connections(run, of, server).into());
                format!("{} on {sockets}", transport(run, server).name())
            };
            let ways = format!("{} / {}", way(&of.server), way(other));
            vec![
                name(run, &of.server).to_owned(),
                ways,
                at(&of.method, of.level),
                ratio(*p99),
                of.blocks.to_string(),
            ]
        };
        of.p99_over.iter().map(row).collect::<Vec<_>>()
    });
    let table = Table::of(
        "server | ways, by number of sockets | request | ratio of p99 in the mix | blocks",
        3,
        rows,
    );
    if table.is_empty() { String::new() } else { format!("### One way over another\n\n{}", table.markdown()) }
}
