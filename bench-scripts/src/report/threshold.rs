//! Where servers start to fail: the headline's sentences, and a section with every search and its counts.

mod connecting;

use std::fmt::Write;

use super::format::{Table, thousands, time_us};
use super::{Run, causes};
use crate::analysis::Diagnosed;
use crate::analysis::threshold::{ConnectingAt, Counted, Died, Ending, SearchSummary, ThresholdSummary};
use crate::config::Tuning;
use crate::load::Client;
use crate::results::Conditions;

/// One line for each request, tuning and client.
pub fn headline(run: &Run, summary: &ThresholdSummary) -> String {
    let mut out = String::new();
    let ceiling = run.plan.campaign.ceiling.as_ref();
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
            .map(|search| {
                let said = short(run.label(&search.searched.base), search);
                not_the_servers(ceiling, summary, search)
                    .map_or_else(|| said.clone(), |why| format!("{said} ({why})"))
            })
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

/// Where the campaign's ceiling, which does next to nothing for a request, fails at the same count already: whose limit it is.
fn not_the_servers(
    ceiling: Option<&String>,
    summary: &ThresholdSummary,
    search: &SearchSummary,
) -> Option<String> {
    let ceiling = ceiling?;
    let same = |other: &&SearchSummary| {
        let (of, searched) = (&other.searched, &search.searched);
        of.base == *ceiling && (&of.workload, of.client) == (&searched.workload, searched.client)
    };
    let other = summary.searches.iter().find(same).filter(|_| search.searched.base != *ceiling)?;
    let (own, other) = (search.found.first_failing?, other.found.first_failing?);
    let said = format!("{ceiling} fails there too, so it is the limit of the load tool or the machine");
    (own.connections >= other.connections).then_some(said)
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

/// A count and what its trials showed: 7,760 (0/10 fail); and what they held, where that was less.
fn counted(search: &SearchSummary, counted: Counted) -> String {
    let Counted { connections, bad, trials } = counted;
    let short = connecting_at(search, connections).and_then(|at| at.held).filter(|_| bad > 0);
    let held = short.map_or_else(String::new, |held| {
        format!("; at most {} held where not all were", thousands(held as f64))
    });
    format!("{} ({bad}/{trials} fail{held})", count(connections))
}

fn connecting_at(search: &SearchSummary, connections: u32) -> Option<&ConnectingAt> {
    search.connecting.iter().find(|at| at.connections == connections)
}

/// Why counts were not tried: what was held of the lowest of them.
fn not_held(search: &SearchSummary) -> String {
    let lowest = search.found.not_held.first().map_or(0, |counted| counted.connections);
    let Some(at) = connecting_at(search, lowest) else {
        return format!("{} connections could not be held", count(lowest));
    };
    let dropped = match at.dropped {
        Some(dropped) if dropped > 0 => {
            format!(" and {} connection attempts found the listen queue full", thousands(dropped as f64))
        }
        _ => String::new(),
    };
    format!(
        "{} could not be tried, for no more than {} connections were established within {}, while server and load tool \
         used {:.2} cores{dropped}",
        count(lowest),
        at.held.map_or_else(|| "an unknown number of".to_owned(), |held| thousands(held as f64)),
        time_us(at.allowed_ms as f64 * 1e3),
        at.cores
    )
}

/// One search as the headline says it.
fn short(name: &str, search: &SearchSummary) -> String {
    let found = &search.found;
    let limit = search.searched.limit;
    let counted = |end: Counted| counted(search, end);
    match (found.last_clean, found.first_failing) {
        (Some(low), Some(high)) => {
            format!("**{name}** from {} connections, highest passing {}", counted(high), counted(low))
        }
        (None, Some(high)) => {
            format!("**{name}** at {} already, and no lower count passes", counted(high))
        }
        (Some(low), None) if found.ending == Ending::HoldsToHighest && found.fails_at().is_none() => {
            format!("**{name}** not up to {}: {}", counted(low), limit.by.words())
        }
        (low, None) => {
            let passes = match (low, split(&found.between)) {
                (Some(low), _) => format!("passes to {}", counted(low)),
                (None, ([], _)) => "no count passes".to_owned(),
                (None, (clean, _)) => format!("no failure at {}", span(search, clean)),
            };
            format!("**{name}**: {passes}, {}", unsettled(search))
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
        Ending::NotHeld => not_held(search),
        Ending::Interval | Ending::FailsAtLowest | Ending::HoldsToHighest => {
            let limit = search.searched.limit;
            let seen =
                found.fails_at().map_or_else(String::new, |at| format!(", first at {}", counted(search, at)));
            format!(
                "above that fails at times{seen}, at no count surely up to {} ({})",
                count(limit.connections),
                limit.by.words()
            )
        }
    }
}

/// The counts that are neither passing nor failing: those below the first that ever failed apart from the others.
fn between(search: &SearchSummary) -> String {
    let (clean, mixed) = split(&search.found.between);
    let parts: Vec<String> = [clean, mixed]
        .iter()
        .filter(|counts| !counts.is_empty())
        .map(|counts| span(search, counts))
        .collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join("; ") }
}

/// Counts below the first of which a trial failed, and the others.
fn split(counts: &[Counted]) -> (&[Counted], &[Counted]) {
    counts.split_at(counts.iter().position(|counted| counted.bad > 0).unwrap_or(counts.len()))
}

/// Counts by their ends, and how many trials failed at them.
fn span(search: &SearchSummary, counts: &[Counted]) -> String {
    let (Some(first), Some(last)) = (counts.first(), counts.last()) else { return String::new() };
    if first == last {
        return counted(search, *first);
    }
    let bad: u32 = counts.iter().map(|counted| counted.bad).sum();
    let trials: u32 = counts.iter().map(|counted| counted.trials).sum();
    format!("{} to {} ({bad}/{trials} fail)", count(first.connections), count(last.connections))
}

/// What stands behind a search's counts.
fn note(run: &Run, summary: &ThresholdSummary, search: &SearchSummary) -> String {
    let mut notes: Vec<String> =
        not_the_servers(run.plan.campaign.ceiling.as_ref(), summary, search).into_iter().collect();
    notes.extend(notes_of(search));
    notes.join("; ").replace('\n', " ")
}

fn notes_of(search: &SearchSummary) -> Vec<String> {
    let found = &search.found;
    let limit = search.searched.limit;
    let mut notes = Vec::new();
    match found.ending {
        Ending::Interval => {}
        Ending::FailsAtLowest => notes.push("no count passes, down to the lowest".to_owned()),
        Ending::HoldsToHighest => {
            let holds = if found.fails_at().is_none() { "no failure" } else { "no count surely fails" };
            notes.push(format!("{holds} up to {} ({})", count(limit.connections), limit.by.words()));
        }
        Ending::NotHeld | Ending::Unsettled | Ending::Unmeasured | Ending::Unfinished => {
            notes.push(unsettled(search));
        }
    }
    if found.ending != Ending::NotHeld && !found.not_held.is_empty() {
        notes.push(not_held(search));
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
        let counts: Vec<String> = found.contradictions.iter().map(|at| counted(search, *at)).collect();
        notes.push(format!("**not monotone**: {}", counts.join(", ")));
    }
    notes
}

/// The section; empty for a campaign without searches.
pub fn section(run: &Run) -> String {
    let Some(summary) = &run.summary.threshold else { return String::new() };
    let mut table = Table::new(
        &[
            "request",
            "server",
            "settings",
            "client",
            "highest passing",
            "lowest failing",
            "in between",
            "notes",
        ],
        4,
    );
    for search in &summary.searches {
        let end = |end: Option<Counted>| end.map_or_else(|| "-".to_owned(), |end| counted(search, end));
        let (searched, found) = (&search.searched, &search.found);
        table.row(vec![
            searched.workload.clone(),
            run.label(&searched.base).to_owned(),
            searched.tuning.map_or("its own", Tuning::flag).to_owned(),
            searched.client.name().to_owned(),
            end(found.last_clean),
            end(found.first_failing),
            between(search),
            note(run, summary, search),
        ]);
    }
    let mut out = format!(
        "## Where it starts to fail\n\nA trial fails where any request is bad: it failed, or took longer than {}, the time to \
         connect included. A count is *passing* where none of {} trials fails, *failing* where at least {} of {} do; in between \
         it fails at times. The count from which a trial fails more often than not lies above the highest passing one and at or \
         below the lowest failing one. Each trial has a fresh server, and all its connections are made at once; its window begins \
         when the server holds 99 % of them. A trial in which that takes too long, and no request is bad, is not one at that \
         count.\n\n{}",
        time_us(summary.timeout_ms as f64 * 1e3),
        summary.confirmations,
        summary.bad_to_fail,
        summary.confirmations,
        table.markdown()
    );
    let _ = writeln!(
        out,
        "\n{} trials, interleaved in a drawn order; those that did not pass are kept whole in `threshold/`. One by hand: `just \
         bombard SERVER REQUEST CONNECTIONS --tuning shipped --client http1`.",
        summary.trials
    );
    out.push_str(&connecting::table(summary));
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
    let mut out = "\n### Why it fails there\n\nOf the failing trials at the count that fails most surely. A cause is *likely* where a \
                   counter moved and explains at least half of the bad requests (failed, or slower than the timeout), and \
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

    fn searched(last_clean: Option<Counted>, between: Vec<Counted>, ending: Ending) -> SearchSummary {
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
        let not_held = Vec::new();
        let found = Found {
            last_clean,
            first_failing,
            between,
            contradictions,
            not_held,
            ending,
            trials,
            unmeasured,
        };
        SearchSummary {
            searched,
            found,
            complaints: BTreeMap::new(),
            slowest_ms: None,
            died: Vec::new(),
            connecting: Vec::new(),
        }
    }

    fn held(connections: u32, short: u32, held: u64) -> ConnectingAt {
        ConnectingAt {
            connections,
            trials: 5,
            short,
            allowed_ms: 10_000,
            median_ms: (short == 0).then_some(340),
            held: (short > 0).then_some(held),
            failed: 0,
            dropped: Some(0),
            cores: 1.956,
        }
    }

    #[test]
    fn a_server_that_fails_at_times_is_not_said_to_hold() {
        let clean = Some(counted_at(14_016, 0));
        let holds = short("actix", &searched(clean, Vec::new(), Ending::HoldsToHighest));
        assert_eq!(holds, "**actix** not up to 14,016 (0/5 fail): client ports");
        let between = vec![counted_at(8_000, 1)];
        let at_times = short("actix", &searched(Some(counted_at(4_000, 0)), between, Ending::HoldsToHighest));
        assert!(
            at_times.contains("passes to 4,000") && at_times.contains("first at 8,000 (1/5 fail)"),
            "{at_times}"
        );
        assert!(at_times.contains("at no count surely up to 14,016"), "{at_times}");
    }

    #[test]
    fn counts_below_the_first_failure_stand_apart_from_the_others() {
        let counts = [1_000, 4_000, 5_657, 8_000].into_iter().zip([0, 0, 2, 5]);
        let counts = counts.map(|(connections, bad)| counted_at(connections, bad)).collect();
        let search = searched(None, counts, Ending::Unsettled);
        assert_eq!(between(&search), "1,000 to 4,000 (0/10 fail); 5,657 to 8,000 (7/10 fail)");
        assert_eq!(
            short("actix", &search),
            "**actix**: no failure at 1,000 to 4,000 (0/10 fail), not settled in 24 trials"
        );
    }

    #[test]
    fn a_count_whose_connections_were_not_held_is_not_said_to_pass() {
        let mut search = searched(Some(counted_at(8_000, 0)), Vec::new(), Ending::NotHeld);
        search.found.not_held = vec![Counted { connections: 14_016, bad: 0, trials: 0 }];
        search.connecting = vec![held(8_000, 0, 0), held(14_016, 2, 11_618)];
        assert_eq!(
            short("actix", &search),
            "**actix**: passes to 8,000 (0/5 fail), 14,016 could not be tried, for no more than 11,618 connections were \
             established within 10.0 s, while server and load tool used 1.96 cores"
        );
        search.connecting[1].dropped = Some(53);
        assert!(
            notes_of(&search).join("; ").contains("and 53 connection attempts found the listen queue full")
        );
    }

    #[test]
    fn a_failing_count_is_shown_with_what_was_held() {
        let mut search = searched(Some(counted_at(8_000, 0)), Vec::new(), Ending::Interval);
        search.found.first_failing = Some(counted_at(14_016, 5));
        search.connecting = vec![held(8_000, 0, 0), held(14_016, 3, 11_618)];
        let said = short("actix", &search);
        assert!(said.contains("from 14,016 (5/5 fail; at most 11,618 held where not all were)"), "{said}");
        assert!(said.ends_with("highest passing 8,000 (0/5 fail)"), "{said}");
    }

    fn summary_of(searches: Vec<SearchSummary>) -> ThresholdSummary {
        ThresholdSummary {
            timeout_ms: 2_000,
            confirmations: 5,
            bad_to_fail: 5,
            left: 0,
            trials: 10,
            searches,
            causes: Vec::new(),
            remedies: Vec::new(),
            remedied: None,
        }
    }

    #[test]
    fn a_count_at_which_the_ceiling_fails_too_is_not_the_servers_limit() {
        let failing = |server: &str, at: u32| {
            let mut search = searched(None, Vec::new(), Ending::Interval);
            search.searched.base = server.into();
            search.found.first_failing = Some(counted_at(at, 5));
            search
        };
        let ceiling = "control".to_owned();
        let whose = |server: u32, control: u32| {
            let summary = summary_of(vec![failing("actix", server), failing("control", control)]);
            let of = |at: usize| not_the_servers(Some(&ceiling), &summary, &summary.searches[at]);
            assert_eq!(of(1), None, "the ceiling is compared with no other");
            of(0)
        };
        assert!(whose(16_000, 16_000).unwrap().starts_with("control fails there too"));
        assert!(whose(16_000, 11_314).is_some());
        assert_eq!(whose(8_000, 16_000), None);
    }

    #[test]
    fn the_time_to_connect_stands_by_count_and_server() {
        let mut search = searched(Some(counted_at(8_000, 0)), Vec::new(), Ending::NotHeld);
        search.connecting = vec![held(8_000, 0, 0), held(14_016, 3, 11_618)];
        search.connecting[1].dropped = Some(53);
        let mut other = search.clone();
        other.searched.base = "legacy".into();
        other.connecting.truncate(1);
        let summary = summary_of(vec![search, other]);
        let table: Vec<String> = connecting::table(&summary)
            .lines()
            .filter(|line| line.starts_with('|'))
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(table[0], "| request | settings | client | connections | actix | legacy |");
        assert_eq!(table[2], "| getBalance | equal | http1 | 8,000 | 340 ms | 340 ms |");
        assert_eq!(
            table[3],
            "| getBalance | equal | http1 | 14,016 | over 10.0 s (not in 3 of 5, at most 11,618 held; 53 dropped) | - |"
        );
    }
}
