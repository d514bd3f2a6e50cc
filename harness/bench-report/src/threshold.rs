//! Where servers start to fail: the headline's sentences, and a section with every search and its counts.

mod connecting;

use super::columns::Columns;
use super::format::{bullets, dash, joined, known, list, time_ms, time_us};
use super::searches::{effective, groups};
use super::{Run, causes};
use bench_analysis::Diagnosed;
use bench_analysis::threshold::{ConnectingAt, Counted, Ending, SearchSummary, Searched, ThresholdSummary};
use bench_model::config::Tuning;

/// One line for each request, tuning and client.
pub fn headline(run: &Run, summary: &ThresholdSummary) -> String {
    let group_of = |search: &SearchSummary| {
        let Searched { workload, tuning, client, .. } = &search.searched;
        (workload.clone(), *tuning, *client)
    };
    let lines =
        groups(&summary.searches, group_of).into_iter().map(|((workload, tuning, client), searches)| {
            let servers = searches.into_iter().map(|search| {
                let said = short(run.label(&search.searched.base), search);
                known(not_the_servers(ceiling(run), summary, search), &said, |why| format!("{said} ({why})"))
            });
            format!(
                "**{workload}** starts to fail ({}{}; a failed request, or one slower than {}): {}.",
                settings(tuning),
                causes::by_client(client),
                time_ms(summary.timeout_ms),
                joined(servers, "; ")
            )
        });
    bullets(lines) + &causes_of(run, summary)
}

/// The campaign's ceiling, where it only shows what the load tool can send.
fn ceiling(run: &Run) -> Option<&String> {
    run.plan.campaign.ceiling.as_ref().filter(|name| run.plan.is_ceiling(name))
}

/// Whose limit it is where the campaign's ceiling, which does next to nothing for a request, fails at the same count
/// already.
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

fn count(value: impl Into<u64>) -> String {
    super::format::count(value.into())
}

/// A count and what its trials showed: 7,760 (0/10 fail); and what they held, where that was less.
fn counted(search: &SearchSummary, Counted { connections, bad, trials }: Counted) -> String {
    let held = connecting_at(search, connections).and_then(|at| at.held).filter(|_| bad > 0);
    let held = known(held, "", |held| format!("; at most {} held where not all were", count(held)));
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
    let dropped = known(at.dropped.filter(|dropped| *dropped > 0), "", |dropped| {
        format!(" and {} connection attempts found the listen queue full", count(dropped))
    });
    format!(
        "{} could not be tried, for no more than {} connections were established within {}, while server and load tool \
         used {:.2} cores{dropped}",
        count(lowest),
        known(at.held, "an unknown number of", count),
        time_ms(at.allowed_ms),
        at.cores
    )
}

/// One search in the headline's words.
fn short(name: &str, search: &SearchSummary) -> String {
    let found = &search.found;
    let limit = search.searched.limit;
    let counted = |end: Counted| counted(search, end);
    match (found.last_passing, found.first_failing) {
        (Some(low), Some(high)) => {
            format!("**{name}** from {} connections, highest passing {}", counted(high), counted(low))
        }
        (None, Some(high)) => match split(&found.between) {
            ([], _) => format!("**{name}** at {} already, and no lower count passes", counted(high)),
            (passing, _) => format!(
                "**{name}** from {} connections, no failure at {}, {}",
                counted(high),
                span(search, passing),
                unsettled(search)
            ),
        },
        (Some(low), None) if found.ending == Ending::HoldsToHighest && found.fails_at().is_none() => {
            format!("**{name}** not up to {}: {}", counted(low), limit.by.words())
        }
        (low, None) => {
            let passes = match (low, split(&found.between)) {
                (Some(low), _) => format!("passes to {}", counted(low)),
                (None, ([], _)) => "no count passes".to_owned(),
                (None, (passing, _)) => format!("no failure at {}", span(search, passing)),
            };
            format!("**{name}**: {passes}, {}", unsettled(search))
        }
    }
}

/// Why a search has no failing end.
fn unsettled(search: &SearchSummary) -> String {
    let found = &search.found;
    match found.ending {
        Ending::Unsettled | Ending::TrialsUsedUp => format!("not settled in {} trials", found.trials),
        Ending::Unmeasured => format!("given up because {} trials showed nothing", found.unmeasured),
        Ending::Unfinished => "the search has not ended".to_owned(),
        Ending::NotHeld | Ending::ToolCeiling => not_held(search),
        Ending::Interval | Ending::FailsAtLowest | Ending::HoldsToHighest => {
            let limit = search.searched.limit;
            let seen = known(found.fails_at(), "", |at| format!(", first at {}", counted(search, at)));
            format!(
                "above that fails at times{seen}, and no count is shown to fail up to {} ({})",
                count(limit.connections),
                limit.by.words()
            )
        }
    }
}

/// The counts that are neither passing nor failing: first those below the lowest at which a trial failed, then the
/// others.
fn between(search: &SearchSummary) -> String {
    let (passing, mixed) = split(&search.found.between);
    let parts = [passing, mixed].into_iter().filter(|counts| !counts.is_empty());
    let parts = joined(parts.map(|counts| span(search, counts)), "; ");
    if parts.is_empty() { "-".to_owned() } else { parts }
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

/// What a reader should know of a search's counts.
fn notes(search: &SearchSummary) -> Vec<String> {
    let found = &search.found;
    let limit = search.searched.limit;
    let mut notes = Vec::new();
    match found.ending {
        Ending::Interval => {}
        Ending::FailsAtLowest => notes.push("no count passes, down to the lowest".to_owned()),
        Ending::HoldsToHighest => {
            let holds = if found.fails_at().is_none() { "no failure" } else { "no count is shown to fail" };
            notes.push(format!("{holds} up to {} ({})", count(limit.connections), limit.by.words()));
        }
        _ => notes.push(unsettled(search)),
    }
    if found.ending != Ending::NotHeld && !found.not_held.is_empty() {
        notes.push(not_held(search));
    }
    if !search.complaints.is_empty() {
        let kinds = list(search.complaints.iter().map(|(kind, trials)| format!("{trials} times {kind:?}")));
        let at = known(found.fails_at(), "", |at| format!("at {}: ", count(at.connections)));
        let slowest = known(search.slowest_ms, "", |ms| format!("; slowest request {}", time_us(ms * 1e3)));
        notes.push(format!("{at}{kinds}{slowest}"));
    }
    if !found.contradictions.is_empty() {
        let counts = list(found.contradictions.iter().map(|at| counted(search, *at)));
        notes.push(format!("**not monotone**: {counts}"));
    }
    notes
}

/// The section; empty for a campaign without searches.
pub fn section(run: &Run) -> String {
    let Some(summary) = &run.summary.threshold else { return String::new() };
    let end = |search: &SearchSummary, end: Option<Counted>| dash(end, |end| counted(search, end));
    let note = |search: &SearchSummary| {
        let of_all = not_the_servers(ceiling(run), summary, search).into_iter();
        joined(of_all.chain(notes(search)), "; ").replace('\n', " ")
    };
    let table = Columns::of(4, &summary.searches)
        .column("request", |search| &search.searched.workload)
        .column("server", |search| run.label(&search.searched.base))
        .column("settings", |search| search.searched.tuning.map_or("its own", Tuning::flag))
        .column("client", |search| search.searched.client.name())
        .column("highest passing", |search| end(search, search.found.last_passing))
        .column("lowest failing", |search| end(search, search.found.first_failing))
        .column("in between", |search| between(search))
        .column("notes", |search| note(search));
    let ThresholdSummary { confirmations, bad_to_fail, trials, .. } = summary;
    format!(
        "## Where it starts to fail\n\nA trial fails where any request is bad: it failed, or took longer than {}, the \
         time to connect included. A count is *passing* where none of {confirmations} trials fails, *failing* where at \
         least {bad_to_fail} of {confirmations} do; in between it fails at times. The count from which a trial fails \
         more often than not lies above the highest passing one and at or below the lowest failing one. Each trial has \
         a fresh server, and all its connections are made at once; its window begins when the server holds 99 % of \
         them. A trial in which that takes too long, and no request is bad, is not one at that count.\n\n{}\n{trials} \
         trials, interleaved in a drawn order; those that did not pass are kept whole in `threshold/`. One by hand: \
         `just bombard SERVER REQUEST CONNECTIONS --tuning shipped --client http1`.\n{}{}{}",
        time_ms(summary.timeout_ms),
        table.markdown(),
        connecting::table(summary),
        why(run, summary),
        known(run.searched_on.as_ref(), "", effective)
    )
}

/// Why a server fails, how sure that is, and where it fails once the cause is taken away.
fn cause(run: &Run, summary: &ThresholdSummary, cell: &Diagnosed) -> String {
    let again = summary.remedies.iter().filter_map(|tried| {
        let plan = &tried.plan;
        let is_of_cell =
            (&plan.server, &plan.workload, plan.client) == (&cell.server, &cell.workload, cell.client);
        let (name, change) = plan.remedied.as_ref().filter(|_| is_of_cell)?;
        let mut searches = summary.remedied.iter().flat_map(|again| &again.searches);
        let search = searches.find(|search| {
            let Searched { server, workload, client, .. } = &search.searched;
            (server, workload, *client) == (name, &cell.workload, cell.client)
        })?;
        let short = short(run.label(&search.searched.base), search);
        Some(format!("  - searched again with {change}: {short}.\n"))
    });
    causes::explained(cell, &summary.remedies) + &again.collect::<String>()
}

/// The same for all servers.
fn causes_of(run: &Run, summary: &ThresholdSummary) -> String {
    summary.causes.iter().map(|cell| cause(run, summary, cell)).collect()
}

/// A subsection with the causes; empty where there is nothing to explain.
fn why(run: &Run, summary: &ThresholdSummary) -> String {
    if summary.causes.is_empty() {
        return String::new();
    }
    format!(
        "\n### Why it fails there\n\nOf the failing trials at the count that fails most often. A cause is *likely* \
         where a counter moved and explains at least half of the bad requests (failed, or slower than the timeout), \
         and *confirmed* where a remedy took the symptom away.\n\n{}",
        causes_of(run, summary)
    )
}

#[cfg(test)]
mod tests;
