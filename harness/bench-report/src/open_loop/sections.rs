//! What only an open loop shows next to its tables: isolation from a background load, recovery from an overload, and
//! whether the load tools agree.

use std::fmt::Write;

use super::super::Run;
use super::super::format::{
    Table, at, bullets, count, counted, dash, known, ratio, sections as joined, thousands, time_us,
};
use bench_analysis::open_loop::{AGREEMENT, Agreement, Recovery};
use bench_model::config::Background;
use bench_model::figure::Figure;
use bench_model::load::Level;
use bench_stats::{Estimate, median};

/// All of them that the campaign measures.
pub(crate) fn sections(run: &Run) -> String {
    joined([stalls(run), isolation(run), recovery(run), agreement(run)])
}

/// One line for each server that another load disturbs, or that comes back from an overload.
pub(super) fn headline(run: &Run) -> String {
    let Some(other) = background(run) else { return String::new() };
    let is_measured = |server: &String| !run.plan.is_ceiling(server);
    let isolation = run.summary.isolation.iter().filter(|found| is_measured(&found.server));
    let isolation = isolation.filter(|found| found.p99_from_send_ratio.is_some()).map(|found| {
        let answered = found.other_answered.filter(|share| share.value < 0.99);
        format!(
            "**{}** on {}: p99 from the send is **{} times** as long with {} in the background.{}",
            at(&found.workload, found.level),
            run.label(&found.server),
            known(found.p99_from_send_ratio, "not measured", ratio),
            other.workload,
            known(answered, "", |share| format!(" Of that load it answers {}.", percent(share)))
        )
    });
    let recovery = run.summary.recovery.iter().filter(|found| is_measured(&found.server));
    let recovery = recovery.filter(|found| !found.after_ms.is_empty()).map(|found| {
        format!(
            "**{}** on {}: p99 is back at its old level **{}**.",
            at(&found.workload, found.level),
            run.label(&found.server),
            after(found)
        )
    });
    bullets(isolation.chain(recovery))
}

fn background(run: &Run) -> Option<&Background> {
    super::of(run)?.background.as_ref()
}

/// The other load, in words.
fn other_load(background: &Background) -> String {
    let (workload, connections) =
        (&background.workload, counted(background.connections.into(), "connection"));
    match background.rate {
        Some(rate) => {
            format!("{workload} at {} requests/s by {}", count(rate.into()), background.tool.name())
        }
        None => format!("{workload} by {connections} in a closed loop (bombardier)"),
    }
}

fn isolation(run: &Run) -> String {
    let (found, Some(other)) = (&run.summary.isolation, background(run)) else { return String::new() };
    if found.is_empty() {
        return String::new();
    }
    let headers = "request | server | median from the send, times | p99 from the send, times | \
                   p99 from the intended send, times | other load sent/s | of it answered";
    let shown = |estimate: Option<Estimate>| known(estimate, "not measured", ratio);
    let rows = found.iter().map(|found| {
        vec![
            at(&found.workload, found.level),
            run.label(&found.server).to_owned(),
            shown(found.p50_from_send_ratio),
            shown(found.p99_from_send_ratio),
            shown(found.p99_ratio),
            dash(found.other_per_s, |rate| thousands(rate.value)),
            dash(found.other_answered, percent),
        ]
    });
    format!(
        "## Isolation\n\nHow many times as long a request takes with {} in the background on the same server; paired \
         by block, each interval is right by itself with 95 %. What the load tool is late by is in both latencies \
         from the intended send and draws their ratio towards 1; those from the send are without it.{}\n\n{}",
        other_load(other),
        of_ceiling(run),
        Table::of(headers, 2, rows).markdown()
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
    let least = if least < most { format!("{least:.0} to ") } else { String::new() };
    format!(
        "## Stops\n\nThe kernel held the server still for {} every {}: {least}{most:.0} times in a window of {}.\n",
        time_us(stall.for_ms as f64 * 1e3),
        time_us(stall.every_ms as f64 * 1e3),
        time_us(run.plan.campaign.window_ms as f64 * 1e3)
    )
}

/// What the ceiling's row is for, with a background load.
fn of_ceiling(run: &Run) -> String {
    known(run.plan.campaign.ceiling.as_ref().filter(|name| run.plan.is_ceiling(name)), "", |name| {
        format!(
            " {name} answers at once, whatever the request, so its row shows what the load tools do to each other."
        )
    })
}

fn percent(share: Estimate) -> String {
    super::super::format::percent(share.value)
}

fn recovery(run: &Run) -> String {
    let (found, Some(other)) = (&run.summary.recovery, background(run)) else { return String::new() };
    if found.is_empty() {
        return String::new();
    }
    let headers = "request | server | highest p99 before | overload, requests/s | of the overload answered in time | \
                   connections held at most | turned away by a full listen queue | highest p99 in the overload | \
                   of its requests answered in time | back at its old level after | trials";
    let time = |estimate: Option<Estimate>| dash(estimate, |estimate| time_us(estimate.value));
    let rows = found.iter().map(|recovery| {
        let cell = run.summary.cell(&recovery.server, &recovery.workload, recovery.level);
        let held = cell.and_then(|cell| cell.figure(Figure::EstablishedConnections));
        let turned_away =
            cell.and_then(|cell| Some(cell.listen_overflows? as f64 / cell.completed.max(1) as f64));
        vec![
            at(&recovery.workload, recovery.level),
            run.label(&recovery.server).to_owned(),
            time(recovery.before_us),
            dash(recovery.overload_per_s, |rate| thousands(rate.value)),
            dash(recovery.overload_answered, percent),
            dash(held, |held| thousands(held.value)),
            dash(turned_away, thousands),
            time(recovery.peak_us),
            dash(recovery.answered, percent),
            after(recovery),
            recovery.after_ms.len().to_string(),
        ]
    });
    let ended_ms = other.from_ms + other.for_ms.unwrap_or_default();
    format!(
        "## Recovery\n\nFrom {} to {} of the window the same server also gets {}. A server is back where p99 is no \
         higher than it was at any time before, and stays so for a second. Connections that found the listen queue \
         full are a trial's, on average; they count each try. *Of its requests* are those of {} that were due in the \
         overload.{}\n\n{}\n![p99 through the window](recovery.svg)\n\n\
         99th percentile of each part of the window, by when requests were to be sent; medians over trials.\n",
        time_us(other.from_ms as f64 * 1e3),
        time_us(ended_ms as f64 * 1e3),
        other_load(other),
        found.first().map_or("the measured load", |found| &found.workload),
        of_ceiling(run),
        Table::of(headers, 2, rows).markdown()
    )
}

/// How long after the overload: the median of the trials in which it came back, and their ends.
fn after(recovery: &Recovery) -> String {
    let known: Vec<f64> = recovery.after_ms.iter().copied().flatten().collect();
    let never = recovery.after_ms.len() - known.len();
    let mut text = match median(&known) {
        None if recovery.after_ms.is_empty() => "not measured".to_owned(),
        None => "not within the window".to_owned(),
        Some(middle) => {
            let low = known.iter().copied().fold(f64::INFINITY, f64::min);
            let high = known.iter().copied().fold(0.0, f64::max);
            format!("after {} ({} to {})", ms(middle.value), ms(low), ms(high))
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
    let headers = "request | server | tool | median from the send | ratio of medians | agree | median on the wire | \
                   ratio on the wire | the tool adds | ratio of rates sent";
    let shown = |estimate: Option<Estimate>| known(estimate, "not measured", ratio);
    let time = |estimate: Option<Estimate>| dash(estimate, |time| time_us(time.value));
    let rows = found.iter().map(|agreement| {
        let agree = match agreement.holds() {
            _ if agreement.level.tool == agreement.against => "reference",
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "not measured",
        };
        vec![
            at(&agreement.workload, agreement.level),
            run.label(&agreement.server).to_owned(),
            agreement.level.tool.name().to_owned(),
            time(agreement.p50_us),
            shown(agreement.ratio),
            agree.to_owned(),
            time(agreement.wire_us),
            shown(agreement.wire_ratio),
            time(agreement.tool_us),
            shown(agreement.rate_ratio),
        ]
    });
    format!(
        "## Do the load tools agree?\n\nThe same server at the same rate, loaded by each tool in turn. The median \
         from the send is what all of them know; tools agree where it differs by no more than {:.0} %. *On the wire* \
         is from a request's first segment on the loopback interface to its answer's first, by a clock that is no \
         tool's; what a tool's median has beyond that it adds itself. bombardier held to a rate stays a closed loop: \
         it does not report when a request was to be sent.\n\n{}{}",
        AGREEMENT * 100.0,
        Table::of(headers, 3, rows).markdown(),
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
    let line = |agreement: &Agreement| {
        let Agreement { server, workload, level, against, .. } = agreement;
        let reference = found.iter().find(|other| {
            other.level == Level { tool: *against, ..*level }
                && (&other.server, &other.workload) == (server, workload)
        });
        let (tool, other) = (level.tool.name(), against.name());
        let why = reference.and_then(|reference| parts(agreement, reference)).unwrap_or_else(|| {
            format!(
                "whose time it is was not measured, because the loopback interface was not captured ({}). The server \
                 is the same, so the tools make the difference.",
                agreement.unseen.as_deref().unwrap_or("the campaign does not request it: open.wire")
            )
        });
        format!("**{tool} against {other}**, {}, {}: {why}", run.label(server), at(workload, *level))
    };
    format!(
        "\nWhere they don't agree:\n\n{}\nMedians of different tools don't compare where they don't agree.\n",
        bullets(differ.into_iter().map(line))
    )
}

/// The difference of two tools' medians in its two parts: on the wire, and the tools' own work. `None` where the wire
/// was not captured.
fn parts(agreement: &Agreement, reference: &Agreement) -> Option<String> {
    let (median_us, other_us) = (agreement.p50_us?.value, reference.p50_us?.value);
    let wire_us = agreement.wire_us?.value - reference.wire_us?.value;
    let (adds_us, other_adds_us) = (agreement.tool_us?.value, reference.tool_us?.value);
    let (tool, other) = (agreement.level.tool.name(), reference.level.tool.name());
    let sign = |us: f64, more: &'static str, less: &'static str| {
        format!("{} {}", time_us(us.abs()), if us < 0.0 { less } else { more })
    };
    let mostly = if wire_us.abs() > (adds_us - other_adds_us).abs() {
        format!("mostly that {tool} sends in another rhythm, or takes the server's processors")
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
