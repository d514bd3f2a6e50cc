//! The section on load hosts: what each of several sent and saw, and how they started.

use std::collections::BTreeSet;

use super::Run;
use super::columns::Columns;
use super::format::{bullets, count, estimate, joined, known, percent, time_us};
use bench_analysis::hosts::HostSummary;

/// The whole section; empty where one load tool on this machine put the load on.
pub(super) fn section(run: &Run) -> String {
    let hosts = &run.summary.hosts;
    let Some(pool) = run.plan.hosts.as_ref().filter(|_| !hosts.is_empty()) else { return String::new() };
    let table = Columns::of(1, hosts)
        .column("host", |host| format!("{} ({})", host.rank, host.name))
        .column("succeeded", |host| count(host.succeeded))
        .column("failed", |host| count(host.failed))
        .column("its p50", |host| estimate(host.p50_us, time_us))
        .column("its p99", |host| estimate(host.p99_us, time_us))
        .column("busiest", |host| percent(host.busiest))
        .column("latest start", |host| time_us(host.latest_us))
        .column("clock off by", |host| {
            known(host.clock_us, "not compared", |(off_us, within_us)| {
                format!("{} ± {}", time_us(off_us), time_us(within_us))
            })
        })
        .column("trials", |host| host.trials);
    format!(
        "## Load hosts\n\n{} hosts of the pool {} put each load on together, each with its share of connections and \
         rate.\n\n{}\n{}",
        pool.hosts,
        pool.name,
        table.markdown(),
        bullets(notes(hosts))
    )
}

fn notes(hosts: &[HostSummary]) -> [String; 3] {
    let kinds: BTreeSet<&str> = hosts.iter().map(|host| host.kind.as_str()).collect();
    let kinds = match kinds.first() {
        Some(kind) if kinds.len() == 1 => format!("Each host is {kind}."),
        _ => format!(
            "**The hosts are of several kinds**: {}. Each trial has all of them, so that comparisons of servers are \
             not affected.",
            joined(kinds, "; ")
        ),
    };
    let sums = "Counts and rates are sums. Percentiles in all other tables are those of all requests together: from \
        the records of every request in an open loop, from added histograms in a closed loop. A tool that prints \
        percentiles alone (bombardier) has none for several hosts; they are left out there and stand for each host \
        here.";
    let void = "A trial is void where hosts started further apart than 1 % of the window. *Busiest* is the share of \
        its processors that a host's load tool used in its busiest trial; from 90 % on, a cell is marked as \
        client-bound. The clock is compared by messages through the shared folder.";
    [kinds, sums.to_owned(), void.to_owned()]
}
