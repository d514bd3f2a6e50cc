//! The highest rate under a service level: the headline's sentences, and a section with every search, its counts, its
//! chart, and why the level is missed above.

use super::already_running::sharing;
use super::columns::Columns;
use super::format::{
    NEVER_SENT, bullets, count, counted, dash, joined, known, list, significant, thousands, time_ms, time_us,
};
use super::searches::{effective, groups, two_terminals};
use super::{Run, causes, commands};
use bench_analysis::ceilings::Ceiling;
use bench_analysis::slo::{Ending, PointResult, SloSearch, SloSummary, Tested, ToolLimited};
use bench_analysis::{Diagnosed, NEAR_CEILING};
use bench_model::config::Slo;
use bench_model::load::Level;

/// One line for each request and server, and the service level.
pub fn headline(run: &Run, summary: &SloSummary) -> String {
    let by_request = groups(&summary.searches, |search| &search.searched.workload).into_iter();
    let lines = by_request.flat_map(|(workload, searches)| {
        searches.into_iter().map(move |search| format!("**{workload}**, {}.", short(run, search)))
    });
    bullets(lines.chain([format!("The service level: {}.", level(&summary.slo))]))
}

/// The service level in a few words.
fn level(slo: &Slo) -> String {
    let failed = known(slo.most_failed, "no failure", |share| format!("at most {share} failed"));
    format!("{failed}, p99 below {} ms, at most {} short of the rate", slo.p99_ms, slo.shortfall)
}

fn rate(requests_per_second: u32) -> String {
    count(requests_per_second.into())
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
    let parts = [
        (full > 0).then(|| format!("{}/{full} missed", at.failed)),
        (short > 0).then(|| format!("short {}/{short}", at.short_failed)),
    ];
    format!("({})", list(parts.into_iter().flatten()))
}

/// One search in the headline's words.
fn short(run: &Run, search: &SloSearch) -> String {
    let found = &search.found;
    let (name, reason) = (run.label(&search.searched.server), reason(search));
    match (found.lower, found.upper) {
        (Some(low), Some(high)) => {
            let open = if found.ending == Ending::Interval { String::new() } else { format!(", {reason}") };
            format!("**{name}** sustains {}, not {}{open}", a_second(low), a_second(high))
        }
        (Some(low), None) => format!("**{name}** sustains at least {}: {reason}", a_second(low)),
        (None, Some(high)) => format!("**{name}** not even {}: {reason}", a_second(high)),
        (None, None) => format!("**{name}**: no rate is settled, {reason}"),
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
    let ended = (found.ending != Ending::Interval).then(|| reason(search));
    let tool = search.tool_limited.map(|ToolLimited { rate: at, achieved, client_cores, server_cores }| {
        format!(
            "the load tool was the limit in {} trials, first at {}: it sent {:.1} % of the rate with \
             {client_cores:.2} cores, the server used {server_cores:.2}",
            found.tool_limited,
            rate(at),
            achieved * 100.0
        )
    });
    let ends = found.upper.or(found.lower).zip(ceiling.held);
    let near = ends.filter(|(end, held)| f64::from(end.rate) >= NEAR_CEILING * f64::from(*held)).map(|_| {
        "within 10 % of the tool's ceiling: what holds the tool back may hold this server back too".to_owned()
    });
    let complaints = (!search.complaints.is_empty()).then(|| {
        let at = known(found.upper, "", |high| format!("at {}: ", rate(high.rate)));
        at + &list(search.complaints.iter().map(|(kind, trials)| format!("{trials} times {kind}")))
    });
    let inversions = (!found.inversions.is_empty()).then(|| {
        let rates = list(found.inversions.iter().copied().map(tested));
        format!("**loss inversion**: some trials above passed: {rates}")
    });
    let notes = [ended, tool, near, complaints, inversions];
    joined(notes.into_iter().flatten(), "; ").replace('\n', " ")
}

/// The section; empty for a campaign without searches for rates.
pub fn section(run: &Run) -> String {
    let Some(summary) = &run.summary.slo else { return String::new() };
    let table = Columns::of(2, &summary.searches)
        .column("request", |search| &search.searched.workload)
        .column("server", |search| run.label(&search.searched.server))
        .column("sustained, requests/s", |search| dash(search.found.lower, tested))
        .column("not sustained", |search| dash(search.found.upper, tested))
        .column("in time/s", |search| dash(search.found.conditional_rate, thousands))
        .column("p99 there", |search| dash(search.at_lower, |at| time_us(at.p99_us)))
        .column("CPU µs/request there", |search| {
            dash(search.at_lower, |at| significant(at.cpu_us_per_request))
        })
        .column("notes", |search| note(search, summary.ceiling));
    format!(
        "## The highest rate under a service level\n\n{} {}\n\n{}\n{} trials, interleaved in a drawn order, each on a \
         fresh server. *In time/s* is the conditional throughput of RFC 9971: the requests a second that met the \
         level.\n{}{}{}",
        explanation(&summary.slo),
        ceiling(summary.ceiling, &run.ceiling_words()),
        table.markdown(),
        summary.trials,
        chart(summary),
        why(summary),
        known(run.slo_on.as_ref(), "", effective)
    )
}

/// What the table's words mean.
fn explanation(slo: &Slo) -> String {
    let tolerated = known(slo.exceed_ratio, "none of it", |share| format!("at most {share} of that time"));
    format!(
        "{} sends requests at a steady rate over at most {}, whether or not the server keeps up. The level: {}. \
         Latency counts from the moment at which a request was *meant* to be sent. A rate is *sustained* where, of {} \
         of windows of {}, {tolerated} lies in windows that missed the level (RFC 9971, MLRsearch); the highest \
         sustained rate lies at or above the one and below the other, {} apart. Windows of {} decided where to look. \
         A window in which the load tool could not send at the requested rate does not count against the server.",
        slo.tool.name(),
        counted(slo.connections.into(), "connection"),
        level(slo),
        time_ms(slo.duration_sum_ms),
        time_ms(slo.final_trial_ms),
        slo.width,
        time_ms(slo.initial_trial_ms),
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
    let end = |end: u32| format!("{}/s", rate(end));
    let beyond = known(not_held, "no higher rate was tried", |not_held| format!("not {}", end(not_held)));
    format!("On this machine {} held {} against {server}, {beyond}.", tool.name(), known(held, "none", end))
}

fn chart(summary: &SloSummary) -> String {
    let points = || summary.searches.iter().flat_map(|search| &search.points);
    if points().all(|point| point.p99_us.is_none()) {
        return String::new();
    }
    let unseen = points().filter(|point| point.p99_us.is_none() && point.result == PointResult::Failed);
    let unseen = match unseen.count() {
        0 => String::new(),
        trials => {
            format!("\nNot drawn because there was no latency: {trials} trials that missed the level.\n")
        }
    };
    "\n![99th percentile of latency against the rate, trial by trial](slo.svg)\n\nEach mark is a trial: filled where \
     it met the level, hollow where it missed it, crossed where the load tool was the limit; small marks are short \
     windows. The line is the level's limit; a trial below it that is hollow missed another part of the level. Both \
     axes are logarithmic.\n"
        .to_owned()
        + &unseen
}

/// The commands that send the load of each highest rate to a server again.
pub(super) fn by_hand(run: &Run, summary: &SloSummary, servers: &str) -> String {
    let slo = &summary.slo;
    let tool = slo.tool.name();
    let counts = match slo.tool.can().prints_from_due {
        true => "Its own report counts from the intended send, too.",
        false => "Its own report counts from the send, so it leaves out what a request waited for its turn.",
    };
    let load = format!(
        "and send it one window of a highest rate, on `{tool}`, whose path `just tools {tool}` prints. {counts}"
    );
    let commands = summary.searches.iter().filter_map(|search| {
        let (searched, rate) = (&search.searched, search.found.lower?.rate);
        let level =
            Level { connections: slo.connections, rate: Some(rate), tool: slo.tool, ..Level::default() };
        let workload = run.measured_workloads().find(|workload| workload.name == searched.workload);
        let command =
            workload.and_then(|workload| commands::open_load(run, None, workload, level, slo.final_trial_ms));
        let command = command.unwrap_or_else(|| "# a mix, drawn as it is sent".to_owned());
        let what =
            format!("{} at {}/s, sustained by {}", searched.workload, count(rate.into()), searched.server);
        Some((what, command))
    });
    two_terminals(run, servers, &load, commands)
}

/// What to know before an answer is believed.
pub(super) fn distrust(run: &Run) -> String {
    format!(
        "- {}\n\
         - {NEVER_SENT}\n\
         - An answer is no confidence interval: few windows decide a rate. Where a server's highest rate varies from \
         window to window it may well lie a step too high; where single windows are disturbed, too low \
         (docs/METHODOLOGY.md has how often, by simulation).\n\
         - A rate stands for a steady stream of requests; where they come in bursts a server may sustain less.\n",
        sharing(run)
    )
}

/// Why the level is missed at the upper bounds.
fn why(summary: &SloSummary) -> String {
    let causes = summary.searches.iter().filter_map(|search| {
        let (searched, at) = (&search.searched, format!(" at {}/s", rate(search.found.upper?.rate)));
        let explained = search.causes.iter().map(|cell| causes::explained_at(cell, &at, &[]));
        let is_named = |cell: &Diagnosed| !cell.diagnosis.causes.is_empty() || cell.diagnosis.is_unknown();
        let unknown = (!search.causes.iter().any(is_named)).then(|| {
            let (server, workload) = (&searched.server, &searched.workload);
            format!("- **{server}, {workload}{at}**: unknown: nothing that is counted explains it.\n")
        });
        Some(explained.chain(unknown).collect::<String>())
    });
    let causes: String = causes.collect();
    if causes.is_empty() {
        return causes;
    }
    format!(
        "\n### Why it misses the level there\n\nOf the trials at the lowest rate that is not sustained; a request is \
         bad here that failed or took longer than {} ms, because the level takes the timeout's place. A cause is \
         *likely* where a counter moved and explains at least half of the bad requests, or of the time.\n\n{causes}",
        summary.slo.p99_ms
    )
}
