//! What only an open loop shows beside its tables: isolation from another load, recovery from an overload, and whether the load
//! tools agree.

use std::fmt::Write;

use super::super::Run;
use super::super::format::{Table, at, ratio, thousands, time_us};
use crate::analysis::open::{AGREEMENT, Agreement, Recovery};
use crate::analysis::stats::{Estimate, median};
use crate::config::Background;
use crate::load::Level;

/// All of them that the campaign asks for.
pub(in crate::report) fn sections(run: &Run) -> String {
    let parts = [isolation(run), recovery(run), agreement(run)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// One line for each server that another load disturbs, or that comes back from an overload.
pub(super) fn headline(run: &Run) -> String {
    let Some(other) = background(run) else { return String::new() };
    let is_measured = |server: &String| run.plan.campaign.ceiling.as_ref() != Some(server);
    let mut out = String::new();
    for found in run.summary.isolation.iter().filter(|found| is_measured(&found.server)) {
        let p99 = found.p99_ratio.map_or_else(|| "not measured".to_owned(), ratio);
        let _ = writeln!(
            out,
            "- **{}** on {}: p99 is **{p99} times** as long while it also answers {}.",
            at(&found.workload, found.level),
            found.server,
            other_load(other)
        );
    }
    for found in run.summary.recovery.iter().filter(|found| is_measured(&found.server)) {
        let _ = writeln!(
            out,
            "- **{}** on {}: after the overload p99 is back at its old level **{}**.",
            at(&found.workload, found.level),
            found.server,
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
    let mut table = Table::new(&["request", "server", "median, times", "p99, times"], 2);
    let shown = |estimate: Option<Estimate>| estimate.map_or_else(|| "not measured".to_owned(), ratio);
    for found in found {
        table.row(vec![
            at(&found.workload, found.level),
            found.server.clone(),
            shown(found.p50_ratio),
            shown(found.p99_ratio),
        ]);
    }
    format!(
        "## Isolation\n\nHow many times as long a request takes while the same server also answers {}. Latency counts from the \
         moment at which a request was to be sent; paired by block, each interval is right by itself with 95 %.\n\n{}",
        other_load(other),
        table.markdown()
    )
}

fn recovery(run: &Run) -> String {
    let (found, Some(other)) = (&run.summary.recovery, background(run)) else { return String::new() };
    if found.is_empty() {
        return String::new();
    }
    let headers = [
        "request",
        "server",
        "p99 before",
        "overload, requests/s",
        "answered in time",
        "highest p99 in the overload",
        "back at its old level after",
        "trials",
    ];
    let mut table = Table::new(&headers, 2);
    for recovery in found {
        let time = |estimate: Option<Estimate>| {
            estimate.map_or_else(|| "-".to_owned(), |estimate| time_us(estimate.value))
        };
        table.row(vec![
            at(&recovery.workload, recovery.level),
            recovery.server.clone(),
            time(recovery.before_us),
            recovery.overload_per_s.map_or_else(|| "-".to_owned(), |rate| thousands(rate.value)),
            recovery
                .overload_answered
                .map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", share.value * 100.0)),
            time(recovery.peak_us),
            after(recovery),
            recovery.after_ms.len().to_string(),
        ]);
    }
    let ended_ms = other.from_ms + other.for_ms.unwrap_or_default();
    format!(
        "## Recovery\n\nFrom {} to {} of the window the same server also answers {}. A server is back where p99 is no higher \
         than it was at any time before, and stays so for a second.\n\n{}\n![p99 through the window](recovery.svg)\n\n\
         99th percentile of each part of the window, by when requests were to be sent; medians over trials.\n",
        time_us(other.from_ms as f64 * 1e3),
        time_us(ended_ms as f64 * 1e3),
        other_load(other),
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
            server.clone(),
            level.tool.name().to_owned(),
            time(p50_us),
            shown(agreement.ratio),
            if level.tool == *against {
                "reference"
            } else if agreement.holds() {
                "yes"
            } else {
                "**no**"
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
        why_they_differ(found)
    )
}

/// Where tools don't agree, what the wire says of it.
fn why_they_differ(found: &[Agreement]) -> String {
    let differ: Vec<&Agreement> = found
        .iter()
        .filter(|agreement| agreement.level.tool != agreement.against && !agreement.holds())
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
        let adds = |agreement: Option<&Agreement>| {
            let adds = agreement.and_then(|agreement| agreement.tool_us);
            adds.map_or_else(|| "an unknown time".to_owned(), |adds| time_us(adds.value))
        };
        let (tool, other) = (level.tool.name(), against.name());
        let added = format!("{tool} adds {}, {other} {}", adds(Some(agreement)), adds(reference));
        let why = match (agreement.holds_on_the_wire(), agreement.wire_ratio) {
            (Some(true), Some(wire)) => format!(
                "the server answers both alike ({} times as late on the wire), so the difference is the tools' own work: {added}.",
                ratio(wire)
            ),
            (Some(false), Some(wire)) => format!(
                "on the wire already the server answers {} times as late, so {tool} asks it in another rhythm, or takes its processors; \
                 and {added}.",
                ratio(wire)
            ),
            _ => format!(
                "whose time it is was not measured, since the loopback interface was not captured ({}). The server is the same, so the \
                 tools make the difference.",
                agreement.unseen.as_deref().unwrap_or("the campaign does not ask for it: open.wire")
            ),
        };
        let _ = writeln!(out, "- **{tool} against {other}**, {server}, {}: {why}", at(workload, *level));
    }
    out.push_str("\nMedians of different tools don't compare where they don't agree.\n");
    out
}
