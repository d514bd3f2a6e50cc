//! The result as tables of a page.

use anyhow::{Context, Result};

use super::latencies::Merged;
use super::starts::{Clocks, Starts};
use super::{Cost, Simulated, TRIALS};
use crate::readable_numbers::{bytes, count, significant, thousands, time};

/// Where a block counts as one that starts together seldom enough: fewer are void.
pub const OFTEN: f64 = 0.1;

/// All tables, each under a sentence that says what it shows.
pub fn tables(simulated: &Simulated) -> String {
    let mut parts: Vec<String> =
        Clocks::ALL.iter().map(|clocks| starts(*clocks, &simulated.starts)).collect();
    parts.extend([merged(&simulated.merged), costs(&simulated.costs)]);
    parts.join("\n")
}

/// What stands around the tables of a page.
const AROUND: [&str; 2] = ["<!-- simulated: just simulate-hosts -->\n", "<!-- end of simulated -->"];

/// A page with these tables in place of its own.
///
/// # Errors
/// The page has no place for them.
pub fn renewed(page: &str, tables: &str) -> Result<String> {
    let [begin, end] = AROUND;
    let parts = page.split_once(begin).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    let (before, after) =
        parts.with_context(|| format!("there is no {:?} or no {end:?} behind it", begin.trim()))?;
    Ok(format!("{before}{begin}\n{tables}\n{end}{after}"))
}

/// The fewest of the simulated hosts with which blocks are often void; `None` where they never are.
pub fn often_void(simulated: &Simulated, clocks: Clocks, void: fn(&Starts) -> f64) -> Option<u32> {
    let own = simulated.starts.iter().filter(|starts| starts.clocks == clocks);
    own.filter(|starts| void(starts) > OFTEN).map(|starts| starts.hosts).min()
}

fn starts(clocks: Clocks, starts: &[Starts]) -> String {
    let own = starts.iter().filter(|starts| starts.clocks == clocks);
    let row = |starts: &Starts| {
        let shares = [starts.skewed, starts.late, starts.lost, starts.voided, starts.voided_after_check];
        let mut row = vec![count(starts.hosts.into())];
        row.extend(shares.map(share));
        row.push(format!("{} s", significant(starts.lead_s)));
        row
    };
    let headers = "hosts | skewed | host placed late | host lost | void | void after a check of clocks | time to place 99 % of blocks";
    format!(
        "Clocks that differ by {} ms (standard deviation), of which 1 in {} follows no other:\n\n{}",
        clocks.offset_ms,
        thousands(1.0 / clocks.free),
        table(headers, own.map(row))
    )
}

fn merged(merged: &[Merged]) -> String {
    let row = |merged: &Merged| {
        vec![
            count(merged.hosts.into()),
            count(merged.trials as u64),
            time(merged.p99_us),
            format!("{:.2} %", merged.added * 100.0),
            signed(merged.average),
            signed(merged.maximum),
        ]
    };
    let headers = "hosts | trials | p99 of all records | added histograms, largest error | average of p99s | largest p99";
    format!(
        "The 99th percentile, and what other ways make of it:\n\n{}",
        table(headers, merged.iter().map(row))
    )
}

fn costs(costs: &[Cost]) -> String {
    let row = |cost: &Cost| {
        vec![
            count(cost.hosts.into()),
            significant(cost.attempts),
            thousands(cost.minutes),
            significant(cost.host_hours),
            bytes(cost.histogram_bytes),
        ]
    };
    let headers = "hosts | attempts for a valid trial | minutes | host hours | histograms";
    format!(
        "{TRIALS} valid trials, with the better clocks and a check of them:\n\n{}",
        table(headers, costs.iter().map(row))
    )
}

fn share(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn signed(error: f64) -> String {
    format!("{:+.0} %", error * 100.0)
}

fn table(headers: &str, rows: impl Iterator<Item = Vec<String>>) -> String {
    let columns = headers.split(" | ").count();
    let mut text = format!("| {headers} |\n|{}\n", " ---: |".repeat(columns));
    rows.for_each(|row| text.push_str(&format!("| {} |\n", row.join(" | "))));
    text
}
