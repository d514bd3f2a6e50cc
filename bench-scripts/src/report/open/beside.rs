//! What only an open loop shows beside its tables: isolation from another load, recovery from an overload, and whether the load
//! tools agree.

use std::fmt::Write;

use super::super::Run;
use super::super::format::{Table, at, ratio, thousands, time_us};
use crate::analysis::open_loop::{AGREEMENT, Agreement, Recovery};
use crate::config::Background;
use crate::figure::Figure;
use crate::load::Level;
use crate::stats::{Estimate, median};

/// All of them that the campaign asks for.
pub(in crate::report) fn sections(run: &Run) -> String {
    let parts = [stalls(run), isolation(run), recovery(run), agreement(run)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// One line for each server that another load disturbs, or that comes back from an overload.
pub(super) fn headline(run: &Run) -> String {
    let Some(other) = background(run) else { return String::new() };
    let is_measured = |server: &String| run.plan.campaign.ceiling.as_ref() != Some(server);
    let mut out = String::new();
    for found in run.summary.isolation.iter().filter(|found| is_measured(&found.server)) {
        let p99 = found.p99_from_send_ratio.map_or_else(|| "not measured".to_owned(), ratio);
        let _ = writeln!(
            out,
            "- **{}** on {}: p99 from the send is **{p99} times** as long while it is also asked {}{}.",
            at(&found.workload, found.level),
            run.label(&found.server),
            other_load(other),
            match found.other_answered {
                Some(share) if share.value < 0.99 => format!(", of which it answers {}", percent(share)),
                _ => String::new(),
            }
        );
    }
    for found in run.summary.recovery.iter().filter(|found| is_measured(&found.server)) {
        let _ = writeln!(
            out,
            "- **{}** on {}: after the overload p99 is back at its old level **{}**.",
            at(&found.workload, found.level),
            run.label(&found.server),
            after(found)
        );
    }
    out
}

fn background(run: &Run) -> Option<&Background> {
    super::of(run)?.background.as_ref()
}

/// The other load, in words.
fn other_load(background: &Background) -> String {
    let connections = thousands(f64::from(background.connections));
    match background.rate {
        Some(rate) => {
            format!(
                "{} at {} requests/s by {}",
                background.workload,
                thousands(f64::from(rate)),
                background.tool.name()
            )
        }
        None => {
            format!(
                "{} by {connections} connections that ask again once they are answered (bombardier)",
                background.workload
            )
        }
    }
}

fn isolation(run: &Run) -> String {
    let (found, Some(other)) = (&run.summary.isolation, background(run)) else { return String::new() };
    if found.is_empty() {
        return String::new();
    }
    let headers = [
        "request",
        "server",
        "median from the send, times",
        "p99 from the send, times",
        "p99 from the intended send, times",
        "other load sent/s",
        "of it answered",
    ];
    let mut table = Table::new(&headers, 2);
    let shown = |estimate: Option<Estimate>| estimate.map_or_else(|| "not measured".to_owned(), ratio);
    for found in found {
        table.row(vec![
            at(&found.workload, found.level),
            run.label(&found.server).to_owned(),
            shown(found.p50_from_send_ratio),
            shown(found.p99_from_send_ratio),
            shown(found.p99_ratio),
            found.other_per_s.map_or_else(|| "-".to_owned(), |rate| thousands(rate.value)),
            found.other_answered.map_or_else(|| "-".to_owned(), percent),
        ]);
    }
    format!(
        "## Isolation\n\nHow many times as long a request takes while the same server is also asked {}; paired by block, each \
         interval is right by itself with 95 %. What the load tool is late by is in both latencies from the intended send and draws \
         their ratio towards 1; those from the send are without it.{}\n\n{}",
        other_load(other),
        of_ceiling(run),
        table.markdown()
    )
}

/// How a window's stops went, where there are any.
fn stalls(run: &Run) -> String {
    let Some(stall) = super::of(run).and_then(|open| open.stall) else { return String::new() };
    let counts =
        run.summary.cells.iter().filter_map(|cell| cell.figure(Figure::Stalls)).map(|count| count.value);
    let (least, most) =
        counts.fold((f64::INFINITY, 0.0_f64), |(least, most), count| (least.min(count), most.max(count)));
    if most < 1.0 {
        return String::new();
    }
    let times = if least < most { format!("{least:.0} to {most:.0}") } else { format!("{most:.0}") };
    format!(
        "## Stops\n\nThe kernel held the server still for {} every {}: {times} times in a window of {}.\n",
        time_us(stall.for_ms as f64 * 1e3),
        time_us(stall.every_ms as f64 * 1e3),
        time_us(run.plan.campaign.window_ms as f64 * 1e3)
    )
}

/// What the ceiling's row is for, beside another load.
fn of_ceiling(run: &Run) -> String {
    run.plan.campaign.ceiling.as_ref().map_or_else(String::new, |name| {
        format!(" {name} answers at once, whatever it is asked, so its row shows what the load tools do to each other.")
    })
}

fn percent(share: Estimate) -> String {
    format!("{:.0} %", share.value * 100.0)
}

fn recovery(run: &Run) -> String {
    let (found, Some(other)) = (&run.summary.recovery, background(run)) else { return String::new() };
    if found.is_empty() {
        return String::new();
    }
    let headers = [
        "request",
        "server",
        "highest p99 before",
        "overload, requests/s",
        "of the overload answered in time",
        "connections held at most",
        "turned away by a full listen queue",
        "highest p99 in the overload",
        "of its requests answered in time",
        "back at its old level after",
        "trials",
    ];
    let mut table = Table::new(&headers, 2);
    for recovery in found {
        let time = |estimate: Option<Estimate>| {
            estimate.map_or_else(|| "-".to_owned(), |estimate| time_us(estimate.value))
        };
        let count = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), thousands);
        let cell = run.summary.cell(&recovery.server, &recovery.workload, recovery.level);
        let held = cell.and_then(|cell| cell.figure(Figure::EstablishedConnections));
        let turned_away =
            cell.and_then(|cell| Some(cell.listen_overflows? as f64 / cell.completed.max(1) as f64));
        table.row(vec![
            at(&recovery.workload, recovery.level),
            run.label(&recovery.server).to_owned(),
            time(recovery.before_us),
            count(recovery.overload_per_s.map(|rate| rate.value)),
            recovery.overload_answered.map_or_else(|| "-".to_owned(), percent),
            count(held.map(|held| held.value)),
            count(turned_away),
            time(recovery.peak_us),
            recovery.answered.map_or_else(|| "-".to_owned(), percent),
            after(recovery),
            recovery.after_ms.len().to_string(),
        ]);
    }
    let ended_ms = other.from_ms + other.for_ms.unwrap_or_default();
    format!(
        "## Recovery\n\nFrom {} to {} of the window the same server is also asked {}. A server is back where p99 is no higher \
         than it was at any time before, and stays so for a second. Connections that found the listen queue full are a trial's, on \
         average; they count each try. *Of its requests* are those of {} that were due in the overload.{}\n\n{}\n![p99 through the window](recovery.svg)\n\n\
         99th percentile of each part of the window, by when requests were to be sent; medians over trials.\n",
        time_us(other.from_ms as f64 * 1e3),
        time_us(ended_ms as f64 * 1e3),
        other_load(other),
        found.first().map_or("the measured load", |found| &found.workload),
        of_ceiling(run),
        table.markdown()
    )
}

/// How long after the overload: the median of the trials, and their ends.
fn after(recovery: &Recovery) -> String {
    let known: Vec<f64> = recovery.after_ms.iter().copied().flatten().collect();
    let never = recovery.after_ms.len() - known.len();
    let mut text = match median(&known) {
        None => "not within the window".to_owned(),
        Some(middle) => {
            let ends =
                |low: f64, high: f64| format!("after {} ({} to {})", ms(middle.value), ms(low), ms(high));
            let low = known.iter().copied().fold(f64::INFINITY, f64::min);
            ends(low, known.iter().copied().fold(0.0, f64::max))
        }
    };
    if never > 0 && !known.is_empty() {
        let _ = write!(text, "; not within the window in {never} of {}", recovery.after_ms.len());
    }
    text
}

fn ms(value: f64) -> String {
    if value <= 0.0 {
        return "0 ms".to_owned();
    }
    time_us(value * 1e3)
}

fn agreement(run: &Run) -> String {
    let found = &run.summary.agreement;
    if found.is_empty() {
        return String::new();
    }
    let headers = [
        "request",
        "server",
        "tool",
        "median from the send",
        "ratio of medians",
        "agree",
        "median on the wire",
        "ratio on the wire",
        "the tool adds",
        "ratio of rates sent",
    ];
    let mut table = Table::new(&headers, 3);
    for agreement in found {
        let Agreement { server, workload, level, against, p50_us, wire_us, wire_ratio, tool_us, .. } =
            agreement;
        let shown = |estimate: Option<Estimate>| estimate.map_or_else(|| "not measured".to_owned(), ratio);
        let time =
            |estimate: &Option<Estimate>| estimate.map_or_else(|| "-".to_owned(), |time| time_us(time.value));
        table.row(vec![
            at(workload, *level),
            run.label(server).to_owned(),
            level.tool.name().to_owned(),
            time(p50_us),
            shown(agreement.ratio),
            if level.tool == *against {
                "reference"
            } else {
                match agreement.holds() {
                    Some(true) => "yes",
                    Some(false) => "**no**",
                    None => "not measured",
                }
            }
            .to_owned(),
            time(wire_us),
            shown(*wire_ratio),
            time(tool_us),
            shown(agreement.rate_ratio),
        ]);
    }
    format!(
        "## Do the load tools agree?\n\nThe same server at the same rate, asked by each tool in turn. The median from the send is what \
         all of them know; tools agree where it differs by no more than {:.0} %. *On the wire* is from a request's first segment on the \
         loopback interface to its answer's first, by a clock that is no tool's; what a tool's median has beyond that it adds itself. \
         bombardier held to a rate stays a closed loop: it does not tell when a request was to be sent.\n\n{}{}",
        AGREEMENT * 100.0,
        table.markdown(),
        why_they_differ(run, found)
    )
}

/// Where tools don't agree, what the wire says of it.
fn why_they_differ(run: &Run, found: &[Agreement]) -> String {
    let differ: Vec<&Agreement> = found
        .iter()
        .filter(|agreement| agreement.level.tool != agreement.against && agreement.holds() == Some(false))
        .collect();
    if differ.is_empty() {
        return String::new();
    }
    let mut out = "\nWhere they don't agree:\n\n".to_owned();
    for agreement in differ {
        let Agreement { server, workload, level, against, .. } = agreement;
        let reference = found.iter().find(|other| {
            other.level == Level { tool: *against, ..*level }
                && (&other.server, &other.workload) == (server, workload)
        });
        let (tool, other) = (level.tool.name(), against.name());
        let why = reference.and_then(|reference| parts(agreement, reference)).unwrap_or_else(|| {
            format!(
                "whose time it is was not measured, since the loopback interface was not captured ({}). The server is the same, so the \
                 tools make the difference.",
                agreement.unseen.as_deref().unwrap_or("the campaign does not ask for it: open.wire")
            )
        });
        let _ = writeln!(
            out,
            "- **{tool} against {other}**, {}, {}: {why}",
            run.label(server),
            at(workload, *level)
        );
    }
    out.push_str("\nMedians of different tools don't compare where they don't agree.\n");
    out
}

/// The difference of two tools' medians in its two parts: on the wire, and the tools' own work. `None` where the wire was not
/// captured.
fn parts(agreement: &Agreement, reference: &Agreement) -> Option<String> {
    let (median_us, other_us) = (agreement.p50_us?.value, reference.p50_us?.value);
    let wire_us = agreement.wire_us?.value - reference.wire_us?.value;
    let (adds_us, other_adds_us) = (agreement.tool_us?.value, reference.tool_us?.value);
    let (tool, other) = (agreement.level.tool.name(), reference.level.tool.name());
    let sign = |us: f64, more: &'static str, less: &'static str| {
        format!("{} {}", time_us(us.abs()), if us < 0.0 { less } else { more })
    };
    let mostly = if wire_us.abs() > (adds_us - other_adds_us).abs() {
        format!("mostly that {tool} asks in another rhythm, or takes the server's processors")
    } else {
        "mostly the tools' own work".to_owned()
    };
    Some(format!(
        "its median is {}. On the wire the server answers it {}; {tool} itself adds {}, {other} {}: {mostly}.",
        sign(median_us - other_us, "longer", "shorter"),
        sign(wire_us, "later", "sooner"),
        time_us(adds_us),
        time_us(other_adds_us)
    ))
}
