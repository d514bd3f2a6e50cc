//! Where servers start to fail: the headline's sentences, and a section with every search and its counts.

use std::fmt::Write;

use super::format::{Table, thousands, time_us};
use super::{Run, causes};
use crate::analysis::Diagnosed;
use crate::analysis::threshold::{Counted, Died, Ending, SearchSummary, ThresholdSummary};
use crate::config::Tuning;
use crate::load::Client;
use crate::results::Conditions;

/// One line for each request, tuning and client.
pub fn headline(run: &Run, summary: &ThresholdSummary) -> String {
    let mut out = String::new();
    let mut groups: Vec<(&str, Option<Tuning>, Client)> = Vec::new();
    let group_of = |search: &SearchSummary| (search.searched.tuning, search.searched.client);
    for search in &summary.searches {
        let (tuning, client) = group_of(search);
        let group = (search.searched.workload.as_str(), tuning, client);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    for (workload, tuning, client) in groups {
        let of_group = |search: &&SearchSummary| {
            search.searched.workload == workload && group_of(search) == (tuning, client)
        };
        let servers: Vec<String> = summary
            .searches
            .iter()
            .filter(of_group)
            .map(|search| short(run.label(&search.searched.base), search))
            .collect();
        let client = if client.is_default() { String::new() } else { format!(", client {}", client.name()) };
        // Writing to a String can't fail, here and below.
        let _ = writeln!(
            out,
            "- **{workload}** starts to fail ({}{client}; a failed request, or one slower than {}): {}.",
            settings(tuning),
            time_us(summary.timeout_ms as f64 * 1e3),
            servers.join("; ")
        );
    }
    for cell in &summary.causes {
        out.push_str(&cause(run, summary, cell));
    }
    out
}

fn settings(tuning: Option<Tuning>) -> &'static str {
    match tuning {
        Some(Tuning::Equal) => "the same settings for all",
        Some(Tuning::Shipped) => "each framework's own settings",
        None => "its only settings",
    }
}

fn count(connections: u32) -> String {
    thousands(f64::from(connections))
}

/// A count and what its trials showed: 7,760 (0/10 bad).
fn counted(counted: Counted) -> String {
    format!("{} ({}/{} bad)", count(counted.connections), counted.bad, counted.trials)
}

/// One search as the headline says it.
fn short(name: &str, search: &SearchSummary) -> String {
    let found = &search.found;
    let limit = search.searched.limit;
    match (found.last_clean, found.first_failing) {
        (Some(low), Some(high)) => {
            format!("**{name}** from {} connections, last clean {}", counted(high), counted(low))
        }
        (None, Some(high)) => {
            format!("**{name}** at {} already, the lowest count tried that holds", counted(high))
        }
        (Some(low), None) if found.ending == Ending::HoldsToHighest && found.fails_at().is_none() => {
            format!("**{name}** not up to {}: {}", counted(low), limit.by.words())
        }
        (low, None) => {
            let clean =
                low.map_or_else(|| "no count clean".to_owned(), |low| format!("clean to {}", counted(low)));
            format!("**{name}**: {clean}, {}", unsettled(search))
        }
    }
}

/// Why a search has no failing end.
fn unsettled(search: &SearchSummary) -> String {
    let found = &search.found;
    match found.ending {
        Ending::Unsettled => format!("not settled in {} trials", found.trials),
        Ending::Unmeasured => format!("given up, since {} trials showed nothing", found.unmeasured),
        Ending::Unfinished => "the search has not ended".to_owned(),
        Ending::Interval | Ending::FailsAtLowest | Ending::HoldsToHighest => {
            let limit = search.searched.limit;
            let seen = found.fails_at().map_or_else(String::new, |at| format!(", first at {}", counted(at)));
            format!(
                "above that fails at times{seen}, at no count surely up to {} ({})",
                count(limit.connections),
                limit.by.words()
            )
        }
    }
}

/// The counts that are neither clean nor failing, by their ends: how many trials were bad between them.
fn between(counts: &[Counted]) -> String {
    let (Some(first), Some(last)) = (counts.first(), counts.last()) else { return "-".to_owned() };
    if first == last {
        return counted(*first);
    }
    let bad: u32 = counts.iter().map(|counted| counted.bad).sum();
    let trials: u32 = counts.iter().map(|counted| counted.trials).sum();
    format!("{} to {} ({bad}/{trials} bad)", count(first.connections), count(last.connections))
}

/// What stands behind a search's counts.
fn note(search: &SearchSummary) -> String {
    let found = &search.found;
    let limit = search.searched.limit;
    let mut notes = Vec::new();
    match found.ending {
        Ending::Interval => {}
        Ending::FailsAtLowest => notes.push("no count is clean, down to the lowest".to_owned()),
        Ending::HoldsToHighest => {
            let holds = if found.fails_at().is_none() { "no failure" } else { "no count surely fails" };
            notes.push(format!("{holds} up to {} ({})", count(limit.connections), limit.by.words()));
        }
        Ending::Unsettled | Ending::Unmeasured | Ending::Unfinished => notes.push(unsettled(search)),
    }
    if !search.complaints.is_empty() {
        let kinds: Vec<String> =
            search.complaints.iter().map(|(kind, trials)| format!("{trials} times {kind:?}")).collect();
        let at = found.fails_at().map_or_else(String::new, |at| format!("at {}: ", count(at.connections)));
        let slowest = search
            .slowest_ms
            .map_or_else(String::new, |slowest| format!("; slowest request {}", time_us(slowest * 1e3)));
        notes.push(format!("{at}{}{slowest}", kinds.join(", ")));
    }
    for Died { connections, how } in &search.died {
        notes.push(format!("**the server ended by itself** at {}: {how}", count(*connections)));
    }
    if !found.contradictions.is_empty() {
        let counts: Vec<String> = found.contradictions.iter().copied().map(counted).collect();
        notes.push(format!("**not monotone**: {}", counts.join(", ")));
    }
    notes.join("; ").replace('\n', " ")
}

/// The section; empty for a campaign without searches.
pub fn section(run: &Run) -> String {
    let Some(summary) = &run.summary.threshold else { return String::new() };
    let mut table = Table::new(
        &["request", "server", "settings", "client", "last clean", "first failing", "in between", "notes"],
        4,
    );
    let end = |end: Option<Counted>| end.map_or_else(|| "-".to_owned(), counted);
    for search in &summary.searches {
        let (searched, found) = (&search.searched, &search.found);
        table.row(vec![
            searched.workload.clone(),
            run.label(&searched.base).to_owned(),
            searched.tuning.map_or("its own", Tuning::flag).to_owned(),
            searched.client.name().to_owned(),
            end(found.last_clean),
            end(found.first_failing),
            between(&found.between),
            note(search),
        ]);
    }
    let mut out = format!(
        "## Where it starts to fail\n\nA trial is bad where any request failed or took longer than {}. A count is *clean* where none \
         of {} trials is bad, *failing* where at least {} of {} are; in between it fails at times. The count from which a \
         trial is bad more often than not lies above the last clean one and at or below the first failing one. Each trial has a \
         fresh server, and all its connections are made at once, inside the window.\n\n{}",
        time_us(summary.timeout_ms as f64 * 1e3),
        summary.confirmations,
        summary.bad_to_fail,
        summary.confirmations,
        table.markdown()
    );
    let _ = writeln!(
        out,
        "\n{} trials, interleaved in a drawn order; those that were not clean are kept whole in `threshold/`. One by hand: `just \
         bombard SERVER REQUEST CONNECTIONS --tuning shipped --client http1`.",
        summary.trials
    );
    out.push_str(&why(run, summary));
    if let Some(conditions) = &run.searched_on {
        out.push_str(&effective(conditions));
    }
    out
}

/// Why a server fails, how sure that is, and where it fails once the cause is taken away.
fn cause(run: &Run, summary: &ThresholdSummary, cell: &Diagnosed) -> String {
    let mut out = causes::explained(cell, &summary.remedies);
    for tried in summary.remedies.iter().filter(|tried| {
        let plan = &tried.plan;
        (&plan.server, &plan.workload, plan.client) == (&cell.server, &cell.workload, cell.client)
    }) {
        let Some((name, change)) = &tried.plan.remedied else { continue };
        let again = summary.remedied.iter().flat_map(|again| &again.searches).find(|search| {
            let searched = &search.searched;
            (&searched.server, &searched.workload, searched.client) == (name, &cell.workload, cell.client)
        });
        if let Some(search) = again {
            let _ = writeln!(
                out,
                "  - searched again with {change}: {}.",
                short(run.label(&search.searched.base), search)
            );
        }
    }
    out
}

/// Why each server fails where it does, and where it fails once the cause is taken away.
fn why(run: &Run, summary: &ThresholdSummary) -> String {
    if summary.causes.is_empty() {
        return String::new();
    }
    let mut out = "\n### Why it fails there\n\nOf the bad trials at the count that fails most surely. A cause is *likely* where a counter \
                   moved and explains at least half of the bad requests (failed, or slower than the timeout or 0.95 s), and \
                   *confirmed* where a remedy took the symptom away.\n\n"
        .to_owned();
    for cell in &summary.causes {
        out.push_str(&cause(run, summary, cell));
    }
    out
}

/// What each server said of its settings.
pub(super) fn effective(conditions: &Conditions) -> String {
    let mut out = "\nThe servers' effective settings in these trials:\n\n```json\n".to_owned();
    for (name, ready) in &conditions.servers {
        let _ = writeln!(out, "{{\"{name}\":{ready}}}");
    }
    out.push_str("```\n");
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::analysis::threshold::{Bound, Found, Limit, Searched};

    fn counted_at(connections: u32, bad: u32) -> Counted {
        Counted { connections, bad, trials: 5 }
    }

    fn said(last_clean: Option<Counted>, between: Vec<Counted>, ending: Ending) -> String {
        let searched = Searched {
            server: "actix".into(),
            base: "actix".into(),
            tuning: Some(Tuning::Equal),
            workload: "getBalance".into(),
            client: Client::Http1,
            limit: Limit { connections: 14_016, by: Bound::ClientPorts },
        };
        let contradictions = Vec::new();
        let (first_failing, trials, unmeasured) = (None, 24, 0);
        let found = Found { last_clean, first_failing, between, contradictions, ending, trials, unmeasured };
        short(
            "actix",
            &SearchSummary {
                searched,
                found,
                complaints: BTreeMap::new(),
                slowest_ms: None,
                died: Vec::new(),
            },
        )
    }

    #[test]
    fn a_server_that_fails_at_times_is_not_said_to_hold() {
        let clean = Some(counted_at(14_016, 0));
        let holds = said(clean, Vec::new(), Ending::HoldsToHighest);
        assert_eq!(holds, "**actix** not up to 14,016 (0/5 bad): client ports");
        let at_times = said(Some(counted_at(4_000, 0)), vec![counted_at(8_000, 1)], Ending::HoldsToHighest);
        assert!(
            at_times.contains("clean to 4,000") && at_times.contains("first at 8,000 (1/5 bad)"),
            "{at_times}"
        );
        assert!(at_times.contains("at no count surely up to 14,016"), "{at_times}");
    }
}
