//! The highest rate under a service level: the headline's sentences, and a section with every search, its counts, its
//! chart, and why the level is missed above.

use std::fmt::Write;

use super::format::{NEVER_SENT, Table, bullets, counted, dash, significant, thousands, time_us};
use super::searches::{effective, groups};
use super::{Run, causes, commands};
use bench_analysis::NEAR_CEILING;
use bench_analysis::ceilings::Ceiling;
use bench_analysis::slo::{Ending, PointResult, SloSearch, SloSummary, Tested, ToolLimited};
use bench_model::config::Slo;
use bench_model::load::Level;

/// One line for each request and server, and the service level.
pub fn headline(run: &Run, summary: &SloSummary) -> String {
    let lines = groups(&summary.searches, |search| &search.searched.workload).into_iter().flat_map(
        |(workload, searches)| {
            searches.into_iter().map(move |search| format!("**{workload}**, {}.", short(run, search)))
        },
    );
    bullets(lines.chain([format!("The service level: {}.", level(&summary.slo))]))
}

/// The service level in a few words.
fn level(slo: &Slo) -> String {
    let failed =
        slo.most_failed.map_or_else(|| "no failure".to_owned(), |share| format!("at most {share} failed"));
    format!("{failed}, p99 below {} ms, at most {} short of the rate", slo.p99_ms, slo.shortfall)
}

fn rate(requests_per_second: u32) -> String {
    thousands(f64::from(requests_per_second))
}

/// A rate and how its trials ended: 12,000 (1/5 missed, short 0/1).
fn tested(at: Tested) -> String {
    format!("{} {}", rate(at.rate), counts(at))
}

/// The same as a sentence has it: 12,000/s (1/5 missed, short 0/1).
fn a_second(at: Tested) -> String {
    format!("{}/s {}", rate(at.rate), counts(at))
}

fn counts(at: Tested) -> String {
    let (full, short) = (at.passed + at.failed, at.short_passed + at.short_failed);
    let mut parts = Vec::new();
    if full > 0 {
        parts.push(format!("{}/{full} missed", at.failed));
    }
    if short > 0 {
        parts.push(format!("short {}/{short}", at.short_failed));
    }
    format!("({})", parts.join(", "))
}

/// One search in the headline's words.
fn short(run: &Run, search: &SloSearch) -> String {
    let found = &search.found;
    let name = run.label(&search.searched.server);
    match (found.lower, found.upper) {
        (Some(low), Some(high)) => {
            let open = if found.ending == Ending::Interval {
                String::new()
            } else {
                format!(", {}", reason(search))
            };
            format!("**{name}** sustains {}, not {}{open}", a_second(low), a_second(high))
        }
        (Some(low), None) => format!("**{name}** sustains at least {}: {}", a_second(low), reason(search)),
        (None, Some(high)) => format!("**{name}** not even {}: {}", a_second(high), reason(search)),
        (None, None) => format!("**{name}**: no rate is settled, {}", reason(search)),
    }
}

/// Why an end is missing.
fn reason(search: &SloSearch) -> String {
    let found = &search.found;
    match found.ending {
        Ending::HoldsToHighest => search.searched.limit.by.words().to_owned(),
        Ending::TrialsUsedUp => format!("trials used up ({})", found.trials),
        Ending::Unmeasured => format!("given up because {} trials showed nothing", found.unmeasured),
        _ => found.ended().to_owned(),
    }
}

/// What a reader should know of a search's counts.
fn note(search: &SloSearch, ceiling: Ceiling) -> String {
    let found = &search.found;
    let mut notes = Vec::new();
    if found.ending != Ending::Interval {
        notes.push(reason(search));
    }
    if let Some(ToolLimited { rate: at, achieved, client_cores, server_cores }) = search.tool_limited {
        notes.push(format!(
            "the load tool was the limit in {} trials, first at {}: it sent {:.1} % of the rate with \
             {client_cores:.2} cores, the server used {server_cores:.2}",
            found.tool_limited,
            rate(at),
            achieved * 100.0
        ));
    }
    let highest = found.upper.or(found.lower).map(|end| f64::from(end.rate));
    if highest.zip(ceiling.held).is_some_and(|(rate, held)| rate >= NEAR_CEILING * f64::from(held)) {
        notes.push(
            "within 10 % of the tool's ceiling: what holds the tool back may hold this server back too"
                .to_owned(),
        );
    }
    if !search.complaints.is_empty() {
        let kinds: Vec<String> =
            search.complaints.iter().map(|(kind, trials)| format!("{trials} times {kind}")).collect();
        let at = found.upper.map_or_else(String::new, |high| format!("at {}: ", rate(high.rate)));
        notes.push(format!("{at}{}", kinds.join(", ")));
    }
    if !found.inversions.is_empty() {
        let rates: Vec<String> = found.inversions.iter().copied().map(tested).collect();
        notes.push(format!("**loss inversion**: some trials above passed: {}", rates.join(", ")));
    }
    notes.join("; ").replace('\n', " ")
}

/// The section; empty for a campaign without searches for rates.
pub fn section(run: &Run) -> String {
    let Some(summary) = &run.summary.slo else { return String::new() };
    let headers = "request | server | sustained, requests/s | not sustained | in time/s | p99 there | CPU µs/request \
        there | notes";
    let mut table = Table::of(headers, 2, []);
    for search in &summary.searches {
        let (searched, found) = (&search.searched, &search.found);
        table.row(vec![
            searched.workload.clone(),
            run.label(&searched.server).to_owned(),
            dash(found.lower, tested),
            dash(found.upper, tested),
            dash(found.conditional_rate, thousands),
            dash(search.at_lower, |there| time_us(there.p99_us)),
            dash(search.at_lower, |there| significant(there.cpu_us_per_request)),
            note(search, summary.ceiling),
        ]);
    }
    let mut out = format!(
        "## The highest rate under a service level\n\n{} {}\n\n{}",
        explanation(&summary.slo),
        ceiling(summary.ceiling, &run.ceiling_words()),
        table.markdown()
    );
    // Writing to a String can't fail, here and below.
    let _ = writeln!(
        out,
        "\n{} trials, interleaved in a drawn order, each on a fresh server. *In time/s* is the conditional throughput \
         of RFC 9971: the requests a second that met the level.",
        summary.trials
    );
    out.push_str(&chart(summary));
    out.push_str(&why(summary));
    if let Some(conditions) = &run.slo_on {
        out.push_str(&effective(conditions));
    }
    out
}

/// What the table's words mean.
fn explanation(slo: &Slo) -> String {
    let tolerated = slo
        .exceed_ratio
        .map_or_else(|| "none of it".to_owned(), |share| format!("at most {share} of that time"));
    format!(
        "{} sends requests at a steady rate over at most {}, whether or not the server keeps up. The level: {}. \
         Latency counts from the moment at which a request was *meant* to be sent. A rate is *sustained* where, of {} \
         of windows of {}, {tolerated} lies in windows that missed the level (RFC 9971, MLRsearch); the highest \
         sustained rate lies at or above the one and below the other, {} apart. Windows of {} decided where to look. \
         A window in which the load tool could not send at the requested rate does not count against the server.",
        slo.tool.name(),
        counted(slo.connections.into(), "connection"),
        level(slo),
        time_us(slo.duration_sum_ms as f64 * 1e3),
        time_us(slo.final_trial_ms as f64 * 1e3),
        slo.width,
        time_us(slo.initial_trial_ms as f64 * 1e3),
    )
}

/// What the load tool can send.
fn ceiling(Ceiling { tool, held, not_held }: Ceiling, server: &str) -> String {
    if (held, not_held) == (None, None) {
        return format!(
            "What {} can send here was not measured, since the campaign names no server that answers at once \
             (ceiling): a search that it held back says so in its notes.",
            tool.name()
        );
    }
    let end = |end: Option<u32>| end.map_or_else(|| "none".to_owned(), |end| format!("{}/s", rate(end)));
    let beyond = not_held.map_or_else(
        || "no higher rate was tried".to_owned(),
        |not_held| format!("not {}", end(Some(not_held))),
    );
    format!("On this machine {} held {} against {server}, {beyond}.", tool.name(), end(held))
}

fn chart(summary: &SloSummary) -> String {
    let measured = summary.searches.iter().flat_map(|search| &search.points);
    if measured.filter(|point| point.p99_us.is_some()).count() == 0 {
        return String::new();
    }
    let unseen = |result: PointResult| {
        let points = summary.searches.iter().flat_map(|search| &search.points);
        points.filter(|point| point.p99_us.is_none() && point.result == result).count()
    };
    let mut out = "\n![99th percentile of latency against the rate, trial by trial](slo.svg)\n\n\
         Each mark is a trial: filled where it met the level, hollow where it missed it, crossed where the load tool \
         was the limit; small marks are short windows. The line is the level's limit; a trial below it that is hollow \
         missed another part of the level. Both axes are logarithmic.\n"
        .to_owned();
    let died = unseen(PointResult::Failed);
    if died > 0 {
        let _ =
            writeln!(out, "\nNot drawn because there was no latency: {died} trials that missed the level.");
    }
    out
}

/// The commands that send the load of each highest rate to a server again.
pub(super) fn by_hand(run: &Run, summary: &SloSummary, servers: &str) -> String {
    let slo = &summary.slo;
    let mut out = format!(
        "## By hand\n\nTo the letter, with two terminals: start a server,\n\n```sh\n{servers}```\n\nand send it one \
         window of a highest rate, on `{}`, whose path `just tools {}` prints. {}\n\n```sh\n",
        slo.tool.name(),
        slo.tool.name(),
        match slo.tool.can().prints_from_due {
            true => "Its own report counts from the intended send, too.",
            false =>
                "Its own report counts from the send, so it leaves out what a request waited for its turn.",
        }
    );
    for search in &summary.searches {
        let (searched, Some(lower)) = (&search.searched, search.found.lower) else { continue };
        let level = Level {
            connections: slo.connections,
            rate: Some(lower.rate),
            tool: slo.tool,
            ..Level::default()
        };
        let workload = run.measured_workloads().find(|workload| workload.name == searched.workload);
        let command =
            workload.and_then(|workload| commands::open_load(run, None, workload, level, slo.final_trial_ms));
        let command = command.unwrap_or_else(|| "# a mix, drawn as it is sent".to_owned());
        let _ = writeln!(
            out,
            "# {} at {}/s, sustained by {}\n{command}",
            searched.workload,
            rate(lower.rate),
            searched.server
        );
    }
    let _ = writeln!(out, "```\n\nThe whole run: `{}`.", run.conditions.command);
    out
}

/// What to know before an answer is believed.
pub(super) fn distrust(run: &Run) -> String {
    let cores = run.conditions.host.cores;
    format!(
        "- Server and load generator share {cores} cores: a rate is what both reach together. CPU per request is the \
         server's own.\n\
         - {NEVER_SENT}\n\
         - An answer is no confidence interval: few windows decide a rate. Where a server's highest rate varies from \
         window to window it may well lie a step too high; where single windows are disturbed, too low \
         (docs/METHODOLOGY.md has how often, by simulation).\n\
         - A rate stands for a steady stream of requests; where they come in bursts a server may sustain less.\n"
    )
}

/// Why the level is missed at the upper bounds.
fn why(summary: &SloSummary) -> String {
    let missed = || summary.searches.iter().filter(|search| search.found.upper.is_some());
    if missed().count() == 0 {
        return String::new();
    }
    let mut out = format!(
        "\n### Why it misses the level there\n\nOf the trials at the lowest rate that is not sustained; a request is \
         bad here that failed or took longer than {} ms, because the level takes the timeout's place. A cause is \
         *likely* where a counter moved and explains at least half of the bad requests, or of the time.\n\n",
        summary.slo.p99_ms
    );
    for search in missed() {
        let at = search.found.upper.map_or_else(String::new, |high| format!(" at {}/s", rate(high.rate)));
        for cell in &search.causes {
            out.push_str(&causes::explained_at(cell, &at, &[]));
        }
        let named =
            search.causes.iter().any(|cell| !cell.diagnosis.causes.is_empty() || cell.diagnosis.is_unknown());
        if !named {
            let searched = &search.searched;
            let _ = writeln!(
                out,
                "- **{}, {}{at}**: unknown: nothing that is counted explains it.",
                searched.server, searched.workload
            );
        }
    }
    out
}
