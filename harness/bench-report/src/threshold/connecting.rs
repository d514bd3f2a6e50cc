//! How long connecting takes: a table by count, with a column for each server.

use std::collections::BTreeSet;

use super::{Table, connecting_at, count, dash, thousands, time_us};
use bench_analysis::threshold::{ConnectingAt, SearchSummary, ThresholdSummary};
use bench_model::config::Tuning;

/// How long connecting took, by count and server; empty where that was not recorded.
pub(super) fn table(summary: &ThresholdSummary) -> String {
    let known = || summary.searches.iter().filter(|search| !search.connecting.is_empty());
    let mut servers: Vec<&str> = Vec::new();
    let mut groups: BTreeSet<(&str, Option<&str>, &str)> = BTreeSet::new();
    let group_of = |search: &SearchSummary| search.searched.tuning.map(Tuning::flag);
    for search in known() {
        if !servers.contains(&search.searched.base.as_str()) {
            servers.push(&search.searched.base);
        }
        groups.insert((&search.searched.workload, group_of(search), search.searched.client.name()));
    }
    if servers.is_empty() {
        return String::new();
    }
    let headers: Vec<&str> =
        ["request", "settings", "client", "connections"].into_iter().chain(servers.iter().copied()).collect();
    let mut table = Table::new(&headers, 3);
    for (workload, tuning, client) in groups {
        let of = |server: &str| {
            known().find(|search| {
                let searched = &search.searched;
                (searched.workload.as_str(), group_of(search), searched.client.name())
                    == (workload, tuning, client)
                    && searched.base == server
            })
        };
        let searches: Vec<Option<&SearchSummary>> = servers.iter().map(|server| of(server)).collect();
        let counts: BTreeSet<u32> = searches
            .iter()
            .flatten()
            .flat_map(|search| &search.connecting)
            .map(|at| at.connections)
            .collect();
        for connections in counts {
            let mut row =
                vec![workload.to_owned(), tuning.unwrap_or("its own").to_owned(), client.to_owned()];
            row.push(count(connections));
            row.extend(searches.iter().map(|search| {
                let at = search.and_then(|search| connecting_at(search, connections));
                dash(at, connected)
            }));
            table.row(row);
        }
    }
    format!(
        "\n### How long connecting takes\n\nUntil the server held 99 % of the connections, from the load tool's \
         start: the median over the trials at a count. In brackets what went wrong meanwhile: trials in which it took \
         longer than allowed and the most that they held, requests that failed because no connection could be made, \
         and connection attempts that found the listen queue full.\n\n{}",
        table.markdown()
    )
}

/// How long connecting took at one count, and what went wrong.
fn connected(at: &ConnectingAt) -> String {
    let allowed = || format!("over {}", time_us(at.allowed_ms as f64 * 1e3));
    let time = at.median_ms.map_or_else(allowed, |median_ms| time_us(median_ms as f64 * 1e3));
    let mut wrong = Vec::new();
    if at.short > 0 {
        let held =
            at.held.map_or_else(String::new, |held| format!(", at most {} held", thousands(held as f64)));
        wrong.push(format!("not in {} of {}{held}", at.short, at.trials));
    }
    if at.failed > 0 {
        wrong.push(format!("{} failed", thousands(at.failed as f64)));
    }
    if let Some(dropped) = at.dropped.filter(|dropped| *dropped > 0) {
        wrong.push(format!("{} dropped", thousands(dropped as f64)));
    }
    if wrong.is_empty() { time } else { format!("{time} ({})", wrong.join("; ")) }
}
