//! The sections of a why run's report.

use std::collections::BTreeSet;

use super::sentences::{difference, headline, share};
use super::{WhyRun, functions, name};
use crate::columns::Columns;
use crate::format::{
    bullets, count, counted, dash, estimate, known, percent, sections, significant, thousands,
};
use crate::sections::environment;
use bench_analysis::Uncounted;
use bench_analysis::why::{Ladder, LadderRow, Line, Part, PartsNs, Side, SlopeSummary, WhySummary};
use bench_model::cost::{CountKind, CountOutcome};
use bench_stats::Estimate;

/// System calls that are rarer than this for a request are not listed.
const RARE: f64 = 0.005;

/// The whole report.
pub fn markdown(why: &WhyRun) -> String {
    let summary = &why.shown;
    let WhySummary { server, over, workload, .. } = summary;
    sections([
        format!(
            "# Why {server} and {over} differ on {workload}\n\nCPU time for a request taken apart, its parts compared \
             with the whole.\n"
        ),
        format!("## Headline\n\n{}", headline(summary)),
        terms(summary),
        ladder(summary),
        counts(summary),
        functions::section(summary),
        slope(summary),
        distrust(),
        failed(summary),
        environment(&why.run),
        format!("The whole run: `{}`.\n", why.run.conditions.command),
    ])
}

fn show(value: Option<Estimate>, format: fn(f64) -> String) -> String {
    dash(value, |value| estimate(value, format))
}

/// Requests a second are cores over CPU time.
fn terms(summary: &WhySummary) -> String {
    let Some(terms) = &summary.terms else { return String::new() };
    let table = Columns::of(1, &summary.sides)
        .column("server", |side| &side.server)
        .column("successful requests/s", |side| show(side.requests_per_second, thousands))
        .column("server cores", |side| show(side.cores, significant))
        .column("CPU µs/request", |side| show(side.cpu_us, significant))
        .column("of it user", |side| show(side.user_us, significant))
        .column("of it system", |side| show(side.system_us, significant))
        .column("client cores", |side| show(side.client_cores, significant));
    let [rate, cores, cpu] =
        [terms.rate, terms.cores, terms.cpu].map(|term| estimate(term, |value| format!("{value:.3}")));
    format!(
        "## The two terms\n\nRequests a second are the cores that a server uses over the CPU time that it needs for a \
         request. So the ratio of rates, {rate}, is that of cores, {cores}, over that of CPU time, {cpu}; each paired \
         by block. The servers ran one after the other, each with the machine to itself and the load \
         generator.\n\n{}",
        table.markdown()
    )
}

fn ladder(summary: &WhySummary) -> String {
    let WhySummary { server, over, workload, transport, .. } = summary;
    let ladder = match &summary.ladder {
        Ok(ladder) => ladder,
        Err(reason) => {
            let measured = measured_alone(summary);
            let why = format!("Unavailable: {reason}. What was measured over HTTP:");
            return format!("## The ladder\n\n{why}\n\n{measured}");
        }
    };
    format!(
        "## The ladder\n\nCPU time for one {workload} request in microseconds, over {} blocks.\n\n\
         ![CPU time for a request, by part](ladder.svg)\n\n{}\n\
         Both servers ran at the same time on one core, over HTTP and in process, so that what disturbs one disturbs \
         the other as much; their CPU times are those of that core. HTTP in the program is the user time of \
         {transport} less its own dispatch in process: it was measured on another request, so the sum can miss. Time \
         in the kernel was measured on {workload} itself and can't. Sides are medians over blocks; differences \
         ({server} less {over}) are paired by block (Hodges–Lehmann), so neither adds up to the last digit.\n",
        ladder.blocks,
        ladder_table(summary, ladder)
    )
}

fn ladder_table(summary: &WhySummary, ladder: &Ladder) -> String {
    let WhySummary { workload, transport, .. } = summary;
    let whole = ladder.measured.difference.value;
    let row = |name: &str, row: &LadderRow, from: String| {
        let of_whole = dash(ladder.explained, |_| percent(row.difference.value / whole));
        (name.to_owned(), *row, of_whole, from)
    };
    let parts = Part::ALL.into_iter().filter_map(|part| {
        let from = match part {
            Part::State | Part::Framework => format!("{workload} in process"),
            Part::HttpUser => format!("{transport} over HTTP and in process"),
            Part::System => format!("{workload} over HTTP"),
        };
        Some(row(name(part), ladder.part(part)?, from))
    });
    let explained = dash(ladder.explained, share);
    let rest = [
        row(&format!("- as for {transport}"), &ladder.system_base, format!("{transport} over HTTP")),
        row("- beyond it", &ladder.system_rest, "the two".to_owned()),
        ("**predicted**".to_owned(), ladder.predicted, explained, "the four parts".to_owned()),
        ("**measured**".to_owned(), ladder.measured, "100 %".to_owned(), format!("{workload} over HTTP")),
        row("**unexplained**", &ladder.unexplained, "measured less predicted".to_owned()),
    ];
    let table = Columns::of(1, parts.chain(rest)).column("part", |(name, ..)| name.clone());
    both_sides(table, summary, |(_, row, ..)| *row)
        .column("of the difference", |(_, _, of, _)| of.clone())
        .column("measured on", |(.., from)| from.clone())
        .markdown()
}

/// The columns of the two servers and their difference.
fn both_sides<T>(table: Columns<T>, summary: &WhySummary, row: impl Fn(&T) -> LadderRow) -> Columns<T> {
    table
        .column(&summary.server, |of| estimate(row(of).a, significant))
        .column(&summary.over, |of| estimate(row(of).b, significant))
        .column("difference", |of| difference(row(of).difference))
}

/// What a page quotes: the sentences, the ladder and the charts; `folder` is the way from the page to the run's folder.
pub(crate) fn quotation(why: &WhyRun, folder: &str) -> String {
    let summary = &why.shown;
    let mut out = headline(summary);
    if let Ok(ladder) = &summary.ladder {
        let table = ladder_table(summary, ladder);
        out += &format!("\n![CPU time for a request, by part]({folder}/ladder.svg)\n\n{table}");
    }
    if !summary.instructions.is_empty() {
        let table = functions::table(&summary.instructions);
        out += &format!("\nInstructions for a request in process, by function:\n\n{table}");
    }
    if summary.slope.is_some() {
        out += &format!("\n![CPU time for a request against the length of its answer]({folder}/slope.svg)\n");
    }
    out
}

fn measured_alone(summary: &WhySummary) -> String {
    let Some(rows) = summary.measured else { return "Nothing.\n".to_owned() };
    let rows = ["all", "user", "system"].into_iter().zip(rows);
    let table = Columns::of(1, rows).column("CPU µs/request", |(name, _)| *name);
    both_sides(table, summary, |(_, row)| *row).column("", |_| "").markdown()
}

fn counts(summary: &WhySummary) -> String {
    let outcome = |side: &Side, kind: CountKind| {
        let count = summary.counts.iter().find(|count| count.server == side.server && count.kind == kind);
        count.map(|count| &count.outcome)
    };
    let each = |side: &Side, kind: CountKind, place: usize| match outcome(side, kind) {
        None => "not counted yet".to_owned(),
        Some(outcome) => known(per_request(outcome).get(place).copied(), "unavailable", significant),
    };
    let table = Columns::of(1, &summary.sides)
        .column("server", |side| &side.server)
        .column("context switches", |side| show(side.switches, significant))
        .column("allocations", |side| each(side, CountKind::Allocations, 0))
        .column("bytes allocated", |side| each(side, CountKind::Allocations, 1))
        .column("system calls", |side| each(side, CountKind::Syscalls, 0))
        .column("counted by", |side| match outcome(side, CountKind::Syscalls) {
            Some(CountOutcome::Syscalls { tool, .. }) => tool,
            _ => "",
        });
    let all = summary.sides.iter().flat_map(|side| CountKind::ALL.map(|kind| (side, kind)));
    let reasons = bullets(all.filter_map(|(side, kind)| {
        let CountOutcome::Unavailable { reason } = outcome(side, kind)? else { return None };
        let what = match kind {
            CountKind::Allocations => "allocations",
            CountKind::Syscalls => "system calls",
            CountKind::Instructions => "instructions by function",
        };
        Some(format!("{what} of {}: {reason}", side.server))
    }));
    let reasons = if reasons.is_empty() { reasons } else { format!("\nUnavailable:\n\n{reasons}") };
    format!(
        "## Counts for a request\n\n{}{reasons}\nContext switches are of the timed trials. The rest was counted in \
         runs that are not timed, under the same load: allocations by a build that counts them, system calls by a \
         tracer, which slows the server down, so that it finds more requests waiting each time it reads.\n{}",
        table.markdown(),
        calls_by_name(summary)
    )
}

/// What was counted, for a request: allocations and their bytes, or system calls.
fn per_request(outcome: &CountOutcome) -> Vec<f64> {
    let (requests, sums) = match outcome {
        CountOutcome::Allocations { requests, allocations, bytes } => (*requests, vec![*allocations, *bytes]),
        CountOutcome::Syscalls { requests, calls, .. } => (*requests, vec![calls.values().sum()]),
        CountOutcome::Instructions { .. } | CountOutcome::Unavailable { .. } => return Vec::new(),
    };
    sums.into_iter().map(|sum| sum as f64 / requests as f64).collect()
}

/// System calls for a request, by name and server.
fn calls_by_name(summary: &WhySummary) -> String {
    let counted = || {
        summary.counts.iter().filter_map(|count| match &count.outcome {
            CountOutcome::Syscalls { requests, calls, .. } => {
                Some((&count.server, (*requests as f64, calls)))
            }
            _ => None,
        })
    };
    let often = counted().flat_map(|(_, (requests, calls))| {
        calls.iter().filter(move |(_, calls)| **calls as f64 / requests >= RARE).map(|(name, _)| name)
    });
    Columns::of(1, often.collect::<BTreeSet<_>>())
        .column("system call", |name| *name)
        .columns(counted(), |name, (requests, calls)| {
            significant(calls.get(*name).copied().unwrap_or(0) as f64 / requests)
        })
        .column("", |_| "")
        .within(|table| format!("\nSystem calls for a request:\n\n{table}"))
}

fn slope(summary: &WhySummary) -> String {
    let Some(slope) = &summary.slope else {
        return format!(
            "## The answer's length\n\nNot measured: why.toml names no request like {} with answers of several \
             lengths.\n",
            summary.workload
        );
    };
    let element = &slope.element;
    let part = |line: &Line, of: fn(&PartsNs) -> Estimate| {
        known(line.parts_ns.as_ref(), "unavailable", |parts| estimate(of(parts), significant))
    };
    let table = Columns::of(1, &slope.lines)
        .column("server", |line| &line.server)
        .column(format!("a {element} more, ns"), |line| show(line.slope_ns, significant))
        .column("of it the method", |line| part(line, |parts| parts.state))
        .column("serialising", |line| part(line, |parts| parts.serialising))
        .column("HTTP in the program", |line| part(line, |parts| parts.http_user))
        .column("kernel", |line| part(line, |parts| parts.system))
        .column("a request of none, µs", |line| show(line.intercept_us, significant))
        .column("largest miss of the line", |line| dash(line.misfit, percent));
    let connections = counted(slope.connections.into(), "connection");
    format!(
        "## The answer's length\n\n![CPU time for a request against the length of its answer](slope.svg)\n\n{}\nServer \
         CPU time for a request against the {element}s that it returns, at {connections}: a straight line for each \
         block by least squares, weighted so that each length counts by its relative miss; figures are medians over \
         blocks. The parts are fitted with the same weights and add up to the slope in every block.\n\n{}",
        table.markdown(),
        points(slope)
    )
}

/// What was measured at each length.
fn points(SlopeSummary { lines, element, .. }: &SlopeSummary) -> String {
    let lengths: BTreeSet<u64> =
        lines.iter().flat_map(|line| &line.points).map(|point| point.slots).collect();
    let table = Columns::of(0, lengths).column(format!("{element}s returned"), |slots| count(*slots));
    let of_line = |table: Columns<u64>, line: &Line| {
        let at = |slots: &u64| line.points.iter().find(|point| point.slots == *slots);
        table
            .column(format!("{}, µs", line.server), |slots| show(at(slots).map(|at| at.cpu_us), significant))
            .column("in process, µs", |slots| show(at(slots).and_then(|at| at.dispatch_us), significant))
    };
    lines.iter().fold(table, of_line).column("", |_| "").markdown()
}

fn distrust() -> String {
    "## What to distrust\n\n\
     - In process a request finds its code and data in the caches; over HTTP the kernel and the framework's other \
     work have pushed some of it out. That makes the prediction too small, for both servers.\n\
     - The kernel divides user from system time by ticks, about a hundred a second and core: in one window the split \
     is known to a few percent, and the intervals hold that.\n\
     - The parts say where the time goes, not what it would cost to do without them.\n\
     - Intervals are right by themselves with 95 % confidence each; of twenty one may well be wrong.\n"
        .to_owned()
}

fn failed(summary: &WhySummary) -> String {
    fn line<Kind>(trial: &Uncounted<Kind>, how: &str) -> String {
        let Uncounted { block, server, workload, reason, .. } = trial;
        format!("block {block}, {server} {workload}: {how}{}", reason.replace('\n', " "))
    }
    let failed = summary.failed.iter().map(|trial| line(trial, ""));
    let lines = bullets(failed.chain(summary.invalid.iter().map(|trial| line(trial, "invalid, "))));
    let nothing = "Nothing: every trial that ran was measured.\n";
    format!("## What failed\n\n{}", if lines.is_empty() { nothing } else { &lines })
}
