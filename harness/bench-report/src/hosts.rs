//! The section on load hosts: what each of several sent and saw, how they started, and which one differs from the
//! others.

use super::Run;
use super::format::{Table, bullets, count, dash, estimate, list, percent, significant, time_us};
use bench_analysis::hosts::{HostSummary, WORTH_NAMING};

/// The whole section; empty where one load tool on this machine put the load on.
pub(super) fn section(run: &Run) -> String {
    let hosts = &run.summary.hosts;
    let Some(pool) = run.plan.hosts.as_ref().filter(|_| !hosts.is_empty()) else { return String::new() };
    let row = |host: &HostSummary| {
        vec![
            format!("{} ({})", host.rank, host.name),
            count(host.succeeded),
            count(host.failed),
            estimate(host.p50_us, time_us),
            estimate(host.p99_us, time_us),
            dash(host.over_others, significant),
            percent(host.busiest),
            time_us(host.latest_us),
            host.clock_us.map_or_else(
                || "not compared".to_owned(),
                |(off_us, within_us)| format!("{} ± {}", time_us(off_us), time_us(within_us)),
            ),
            host.trials.to_string(),
        ]
    };
    let headers = "host | succeeded | failed | its p50 | its p99 | mean latency over the others' | busiest | latest \
        start | clock off by | trials";
    let table = Table::of(headers, 1, hosts.iter().map(row));
    format!(
        "## Load hosts\n\n{} hosts of the pool {} put each load on together, each with its share of connections and \
         rate.\n\n{}\n{}",
        pool.hosts,
        pool.name,
        table.markdown(),
        bullets(notes(hosts))
    )
}

fn notes(hosts: &[HostSummary]) -> Vec<String> {
    let mut notes = Vec::new();
    let differing: Vec<&HostSummary> = hosts.iter().filter(|host| host.differs).collect();
    let named = |host: &&HostSummary| {
        format!(
            "host {} ({}): {} times the others' mean latency",
            host.rank,
            host.name,
            dash(host.over_others, significant)
        )
    };
    notes.push(if differing.is_empty() {
        format!(
            "No host is shown to differ from the others by more than {} in mean latency.",
            percent(WORTH_NAMING)
        )
    } else {
        format!(
            "**A host differs from the others**: {}. Its requests are in all figures.",
            list(differing.iter().map(named))
        )
    });
    let mut kinds: Vec<&str> = hosts.iter().map(|host| host.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    notes.push(if kinds.len() > 1 {
        format!(
            "**The hosts are of several kinds**: {}. Each trial has all of them, so that comparisons of servers are \
             not affected.",
            kinds.join("; ")
        )
    } else {
        format!("Each host is {}.", kinds.first().unwrap_or(&"unknown"))
    });
    notes.push(
        "Counts and rates are sums. Percentiles in all other tables are those of all requests together: from the \
         records of every request in an open loop, from added histograms in a closed loop. A tool that prints \
         percentiles alone (bombardier) has none for several hosts; they are left out there and stand for each host \
         here."
            .to_owned(),
    );
    notes.push(
        "A trial is void where hosts started further apart than 1 % of the window. *Busiest* is the share of its \
         processors that a host's load tool used in its busiest trial; from 90 % on, a cell is marked as \
         client-bound. The clock is compared by messages through the shared folder."
            .to_owned(),
    );
    notes
}
