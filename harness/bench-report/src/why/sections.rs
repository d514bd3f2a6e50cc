//! The sections of a why run's report.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::sentences::{difference, headline, share};
use super::{WhyRun, functions, name};
use crate::format::{
    Table, bullets, counted, dash, estimate, known, percent, sections, significant, thousands,
};
use crate::sections::environment;
use bench_analysis::why::{Ladder, LadderRow, Part, PartsNs, SlopeSummary, WhySummary};
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
    let headers = "server | successful requests/s | server cores | CPU µs/request | of it user | of it system | \
        client cores";
    let rows = summary.sides.iter().map(|side| {
        let figures = [side.cores, side.cpu_us, side.user_us, side.system_us, side.client_cores];
        let words = [side.server.clone(), show(side.requests_per_second, thousands)];
        words.into_iter().chain(figures.map(|figure| show(figure, significant))).collect()
    });
    let three = |value: f64| format!("{value:.3}");
    format!(
        "## The two terms\n\nRequests a second are the cores that a server uses over the CPU time that it needs for a \
         request. So the ratio of rates, {}, is that of cores, {}, over that of CPU time, {}; each paired by block. \
         The servers ran one after the other, each with the machine to itself and the load generator.\n\n{}",
        estimate(terms.rate, three),
        estimate(terms.cores, three),
        estimate(terms.cpu, three),
        Table::of(headers, 1, rows).markdown()
    )
}

fn ladder(summary: &WhySummary) -> String {
    let WhySummary { server, over, workload, transport, .. } = summary;
    let ladder = match &summary.ladder {
        Ok(ladder) => ladder,
        Err(reason) => {
            let measured = measured_alone(summary);
            return format!(
                "## The ladder\n\nUnavailable: {reason}. What was measured over HTTP:\n\n{measured}"
            );
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
        ladder_table(summary, ladder).markdown()
    )
}

fn ladder_table(summary: &WhySummary, ladder: &Ladder) -> Table {
    let headers = ["part", &summary.server, &summary.over, "difference", "of the difference", "measured on"];
    let mut table = Table::new(&headers, 1);
    let whole = ladder.measured.difference.value;
    let mut add = |name: &str, row: &LadderRow, of: &str, from: &str| {
        table.row(vec![
            name.to_owned(),
            estimate(row.a, significant),
            estimate(row.b, significant),
            difference(row.difference),
            of.to_owned(),
            from.to_owned(),
        ]);
    };
    let of_whole = |row: &LadderRow| match ladder.explained {
        Some(_) => percent(row.difference.value / whole),
        None => "-".to_owned(),
    };
    let (workload, transport) = (summary.workload.as_str(), summary.transport.as_str());
    for part in Part::ALL {
        let Some(row) = ladder.part(part) else { continue };
        let from = match part {
            Part::State | Part::Framework => format!("{workload} in process"),
            Part::HttpUser => format!("{transport} over HTTP and in process"),
            Part::System => format!("{workload} over HTTP"),
        };
        add(name(part), row, &of_whole(row), &from);
    }
    let base = format!("- as for {transport}");
    add(&base, &ladder.system_base, &of_whole(&ladder.system_base), &format!("{transport} over HTTP"));
    add("- beyond it", &ladder.system_rest, &of_whole(&ladder.system_rest), "the two");
    let explained = dash(ladder.explained, share);
    add("**predicted**", &ladder.predicted, &explained, "the four parts");
    add("**measured**", &ladder.measured, "100 %", &format!("{workload} over HTTP"));
    add("**unexplained**", &ladder.unexplained, &of_whole(&ladder.unexplained), "measured less predicted");
    table
}

/// What a page quotes: the sentences, the ladder and the charts; `folder` is the way from the page to the run's folder.
pub(crate) fn quotation(why: &WhyRun, folder: &str) -> String {
    let summary = &why.shown;
    let mut out = headline(summary);
    if let Ok(ladder) = &summary.ladder {
        let table = ladder_table(summary, ladder).markdown();
        out += &format!("\n![CPU time for a request, by part]({folder}/ladder.svg)\n\n{table}");
    }
    if !summary.instructions.is_empty() {
        let table = functions::table(&summary.instructions).markdown();
        out += &format!("\nInstructions for a request in process, by function:\n\n{table}");
    }
    if summary.slope.is_some() {
        out += &format!("\n![CPU time for a request against the length of its answer]({folder}/slope.svg)\n");
    }
    out
}

fn measured_alone(summary: &WhySummary) -> String {
    let Some(rows) = &summary.measured else { return "Nothing.\n".to_owned() };
    let mut table = Table::new(&["CPU µs/request", &summary.server, &summary.over, "difference", ""], 1);
    for (name, row) in ["all", "user", "system"].into_iter().zip(rows) {
        table.row(vec![
            name.to_owned(),
            estimate(row.a, significant),
            estimate(row.b, significant),
            difference(row.difference),
            String::new(),
        ]);
    }
    table.markdown()
}

fn counts(summary: &WhySummary) -> String {
    let headers = "server | context switches | allocations | bytes allocated | system calls | counted by";
    let mut table = Table::of(headers, 1, []);
    let mut reasons = String::new();
    for side in &summary.sides {
        let outcome = |kind: CountKind| {
            summary.counts.iter().find(|count| count.server == side.server && count.kind == kind)
        };
        let [mut allocations, mut bytes, mut calls] = [(); 3].map(|()| "not counted yet".to_owned());
        let mut by = String::new();
        for count in CountKind::ALL.into_iter().filter_map(outcome) {
            match &count.outcome {
                CountOutcome::Allocations { requests, allocations: count, bytes: sum } => {
                    let each = |sum: u64| significant(sum as f64 / *requests as f64);
                    (allocations, bytes) = (each(*count), each(*sum));
                }
                CountOutcome::Syscalls { requests, calls: by_name, tool } => {
                    calls = significant(by_name.values().sum::<u64>() as f64 / *requests as f64);
                    by.clone_from(tool);
                }
                CountOutcome::Instructions { .. } => {}
                CountOutcome::Unavailable { reason } => {
                    let what = match count.kind {
                        CountKind::Allocations => {
                            (allocations, bytes) = ("unavailable".to_owned(), "unavailable".to_owned());
                            "allocations"
                        }
                        CountKind::Syscalls => {
                            calls = "unavailable".to_owned();
                            "system calls"
                        }
                        CountKind::Instructions => "instructions by function",
                    };
                    let _ = writeln!(reasons, "- {} of {}: {reason}", what, side.server);
                }
            }
        }
        table.row(vec![side.server.clone(), show(side.switches, significant), allocations, bytes, calls, by]);
    }
    let reasons = if reasons.is_empty() { String::new() } else { format!("\nUnavailable:\n\n{reasons}") };
    format!(
        "## Counts for a request\n\n{}{reasons}\nContext switches are of the timed trials. The rest was counted in \
         runs that are not timed, under the same load: allocations by a build that counts them, system calls by a \
         tracer, which slows the server down, so that it finds more requests waiting each time it reads.\n{}",
        table.markdown(),
        calls_by_name(summary)
    )
}

/// System calls for a request, by name and server.
fn calls_by_name(summary: &WhySummary) -> String {
    let counted: Vec<(&str, f64, _)> = summary
        .counts
        .iter()
        .filter_map(|count| match &count.outcome {
            CountOutcome::Syscalls { requests, calls, .. } => {
                Some((count.server.as_str(), *requests as f64, calls))
            }
            _ => None,
        })
        .collect();
    let often = |(_, requests, calls): &(&str, f64, &std::collections::BTreeMap<String, u64>)| {
        let requests = *requests;
        calls
            .iter()
            .filter(move |(_, count)| **count as f64 / requests >= RARE)
            .map(|(name, _)| name.clone())
            .collect::<Vec<_>>()
    };
    let names: BTreeSet<String> = counted.iter().flat_map(often).collect();
    if names.is_empty() {
        return String::new();
    }
    let mut headers = vec!["system call"];
    headers.extend(counted.iter().map(|(server, ..)| *server));
    headers.push("");
    let mut table = Table::new(&headers, 1);
    for name in names {
        let mut row = vec![name.clone()];
        row.extend(counted.iter().map(|(_, requests, calls)| {
            significant(calls.get(&name).copied().unwrap_or(0) as f64 / requests)
        }));
        row.push(String::new());
        table.row(row);
    }
    format!("\nSystem calls for a request:\n\n{}", table.markdown())
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
    let headers = format!(
        "server | a {element} more, ns | of it the method | serialising | HTTP in the program | kernel | \
                   a request of none, µs | largest miss of the line"
    );
    let rows = slope.lines.iter().map(|line| {
        let part = |of: fn(&PartsNs) -> Estimate| {
            known(line.parts_ns.as_ref(), "unavailable", |parts| estimate(of(parts), significant))
        };
        vec![
            line.server.clone(),
            show(line.slope_ns, significant),
            part(|parts| parts.state),
            part(|parts| parts.serialising),
            part(|parts| parts.http_user),
            part(|parts| parts.system),
            show(line.intercept_us, significant),
            dash(line.misfit, percent),
        ]
    });
    let connections = counted(slope.connections.into(), "connection");
    format!(
        "## The answer's length\n\n![CPU time for a request against the length of its answer](slope.svg)\n\n{}\nServer CPU \
         time for a request against the {element}s that it returns, at {connections}: a straight line for each block \
         by least squares, weighted so that each length counts by its relative miss; figures are medians over blocks. \
         The parts are fitted with the same weights and add up to the slope in every block.\n\n{}",
        Table::of(&headers, 1, rows).markdown(),
        points(slope).markdown()
    )
}

/// What was measured at each length.
fn points(slope: &SlopeSummary) -> Table {
    let SlopeSummary { lines, element, .. } = slope;
    let mut headers: Vec<String> = vec![format!("{element}s returned")];
    for line in lines {
        headers.push(format!("{}, µs", line.server));
        headers.push("in process, µs".to_owned());
    }
    headers.push(String::new());
    let mut table = Table::new(&headers.iter().map(String::as_str).collect::<Vec<_>>(), 0);
    let lengths: BTreeSet<u64> =
        lines.iter().flat_map(|line| &line.points).map(|point| point.slots).collect();
    for slots in lengths {
        let mut row = vec![thousands(slots as f64)];
        for line in lines {
            let point = line.points.iter().find(|point| point.slots == slots);
            row.push(show(point.map(|point| point.cpu_us), significant));
            row.push(show(point.and_then(|point| point.dispatch_us), significant));
        }
        row.push(String::new());
        table.row(row);
    }
    table
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
    if summary.failed.is_empty() && summary.invalid.is_empty() {
        return "## What failed\n\nNothing: every trial that ran was measured.\n".to_owned();
    }
    let line = |block: u32, server: &str, workload: &str, why: String| {
        format!("block {block}, {server} {workload}: {}", why.replace('\n', " "))
    };
    let failed = summary
        .failed
        .iter()
        .map(|trial| line(trial.block, &trial.server, &trial.workload, trial.reason.clone()));
    let invalid = summary
        .invalid
        .iter()
        .map(|trial| line(trial.block, &trial.server, &trial.workload, format!("invalid, {}", trial.reason)));
    format!("## What failed\n\n{}", bullets(failed.chain(invalid)))
}
