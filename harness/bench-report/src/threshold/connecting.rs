//! How long connecting takes: a table by count, with a column for each server.

use std::collections::BTreeSet;

use super::{Columns, connecting_at, count, dash, groups, joined, known, time_ms};
use bench_analysis::threshold::{ConnectingAt, SearchSummary, ThresholdSummary};
use bench_model::config::Tuning;

/// How long connecting took, by count and server; empty where that was not recorded.
pub(super) fn table(summary: &ThresholdSummary) -> String {
    let recorded: Vec<&SearchSummary> =
        summary.searches.iter().filter(|search| !search.connecting.is_empty()).collect();
    let place = |search: &SearchSummary| {
        let searched = &search.searched;
        (searched.workload.clone(), searched.tuning.map(Tuning::flag), searched.client.name())
    };
    let rows = recorded
        .iter()
        .flat_map(|search| search.connecting.iter().map(move |at| (place(search), at.connections)));
    let rows: BTreeSet<_> = rows.collect();
    let servers = groups(&recorded, |search| &search.searched.base).into_iter();
    Columns::of(3, rows)
        .column("request", |((workload, ..), _)| workload.clone())
        .column("settings", |((_, tuning, _), _)| tuning.unwrap_or("its own"))
        .column("client", |((.., client), _)| *client)
        .column("connections", |(_, connections)| count(*connections))
        .columns(servers, |(of, connections), searches| {
            let search = searches.iter().find(|search| place(search) == *of);
            dash(search.and_then(|search| connecting_at(search, *connections)), connected)
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
