//! How long connecting takes: a table by count, with a column for each server.

use std::collections::BTreeSet;

use super::super::Run;
use super::super::columns::Columns;
use super::super::format::{count, dash, joined, known, time_ms};
use bench_analysis::grouped;
use bench_analysis::search::{ConnectingAt, Searches, Shown};

/// How connections were made at one count.
pub(super) fn at(search: &Shown, connections: u32) -> Option<&ConnectingAt> {
    search.connecting.iter().find(|at| at.connections == connections)
}

/// How long connecting took, by count and server; empty where that was not recorded.
pub(super) fn table(run: &Run, summary: &Searches) -> String {
    let recorded = || summary.searches.iter().filter(|search| !search.connecting.is_empty());
    let rows: BTreeSet<(&str, u32)> = recorded()
        .flat_map(|search| {
            search.connecting.iter().map(|at| (search.searched.workload.as_str(), at.connections))
        })
        .collect();
    let servers = grouped(recorded().map(|search| (run.label(&search.searched.server), search)));
    Columns::of(1, rows)
        .column("request", |(workload, _)| *workload)
        .column("connections", |(_, connections)| count((*connections).into()))
        .columns(servers, |(workload, connections), searches| {
            let search = searches.iter().find(|search| search.searched.workload == *workload);
            dash(search.and_then(|search| at(search, *connections)), connected)
        })
        .within(|table| {
            format!(
                "\n### How long connecting takes\n\nUntil the server held 99 % of the connections, from the load \
                 tool's start: the median over the trials at a count. In brackets what went wrong meanwhile: trials in \
                 which it took longer than allowed and the most that they held, requests that failed because no \
                 connection could be made, and connection attempts that found the listen queue full.\n\n{table}"
            )
        })
}

/// How long connecting took at one count, and what went wrong.
fn connected(at: &ConnectingAt) -> String {
    let time = at.median_ms.map_or_else(|| format!("over {}", time_ms(at.allowed_ms)), time_ms);
    let held = known(at.held, "", |held| format!(", at most {} held", count(held)));
    let wrong = [
        (at.short > 0).then(|| format!("not in {} of {}{held}", at.short, at.trials)),
        (at.failed > 0).then(|| format!("{} failed", count(at.failed))),
        at.dropped.filter(|dropped| *dropped > 0).map(|dropped| format!("{} dropped", count(dropped))),
    ];
    let wrong = joined(wrong.into_iter().flatten(), "; ");
    if wrong.is_empty() { time } else { format!("{time} ({wrong})") }
}
