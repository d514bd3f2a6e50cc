//! The report of an open loop: latency from the moment at which a request was to be sent, at rates that are the same for all.
//!
//! No figure of a closed loop stands here, and none of these stands among those: the two answer different questions.

mod beside;
mod recovery_chart;

use std::fmt::Write;

use super::format::{
    NEVER_SENT, PAIRED_RATIOS, Table, at, bytes, estimate, load, ratio, significant, thousands, time_us,
};
use super::headline::{by_cpu, used_marks, warnings, with_marks};
use super::tables::resolution;
use super::{Run, commands, lost, quantile_chart, resource_chart};
use crate::analysis::ceilings::Ceiling;
use crate::analysis::{Cell, Comparison, Mark, Verdict};
use crate::config::{Open, Percent};
use crate::figure::Figure;
use crate::load::Level;
use crate::observation::Checked;
use crate::workload::Workload;

pub(super) use beside::sections as beside;
pub(super) use recovery_chart::svg as recovery_chart;

/// The campaign's open loop, where it is one.
pub(super) fn of(run: &Run) -> Option<&Open> {
    run.plan.campaign.open.as_ref()
}

/// The headline: at each rate that all share, who needs less CPU for a request, and what latency each shows.
pub(super) fn headline(run: &Run) -> String {
    let mut out = warnings(run);
    for workload in &run.plan.campaign.workloads {
        let level = run.plan.headline_level(workload);
        for pair in compared(run, workload).filter(|pair| pair.level == level) {
            let _ = writeln!(out, "- {}", sentence(run, pair));
        }
    }
    out.push_str(&beside::headline(run));
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(&latencies(run, headline_cells(run)).markdown());
    let marks = used_marks(headline_cells(run));
    if !marks.is_empty() {
        out.push('\n');
        for mark in marks {
            let _ = writeln!(out, "- **{}**: {}", mark.letter(), mark.meaning());
        }
    }
    out
}

fn headline_cells(run: &Run) -> impl Iterator<Item = &Cell> + Clone {
    let is_shown = |cell: &&Cell| {
        cell.level.amount() == run.plan.headline_level(&cell.workload).amount()
            && run.plan.campaign.ceiling.as_ref() != Some(&cell.server)
    };
    run.summary.cells.iter().filter(is_shown)
}

/// The comparisons of a workload that say something: beside another load the CPU time is that of both loads.
fn compared<'a>(run: &'a Run, workload: &'a str) -> impl Iterator<Item = &'a Comparison> {
    run.summary.comparisons.iter().filter(move |pair| pair.workload == workload && !pair.level.disturbed)
}

fn sentence(run: &Run, pair: &Comparison) -> String {
    let Comparison { workload, level, cpu, .. } = pair;
    let cells = [&pair.server, &pair.over].map(|name| run.summary.cell(name, workload, *level));
    let (server, over) = (run.label(&pair.server), run.label(&pair.over));
    let both = |figure: Figure| {
        let [a, b] = cells.map(|cell| {
            cell.and_then(|cell| cell.figure(figure)).map_or_else(|| "-".to_owned(), |p99| time_us(p99.value))
        });
        format!("{a} and {b}")
    };
    let is_late = cells.iter().flatten().any(|cell| cell.marks.contains(&Mark::SentLate));
    let from_send = if is_late {
        format!(", much of it the load tool's own lateness: from the send {}", both(Figure::P99FromSendUs))
    } else {
        String::new()
    };
    format!(
        "**{workload}** at {}: {server} needs **{} times the CPU** of {over} for a request ({}); p99 from the intended send is \
         {}{from_send}.",
        load(*level),
        ratio(cpu.ratio),
        by_cpu(cpu, run.plan.campaign.margin),
        both(Figure::P99Us),
    )
}

/// The tables of a workload.
pub(super) fn tables(run: &Run, workload: &Workload) -> String {
    let name = &workload.name;
    let cells = || run.summary.cells.iter().filter(|cell| &cell.workload == name);
    let mut out = format!("## {name}\n\n{}\n", workload.why.trim());
    if workload.is_mix() {
        let _ = writeln!(out, "\nIt asks: {}.", workload.words());
    }
    out.push_str(&held_against_the_truth(cells()));
    out.push_str("\n### Latency at a rate\n\n");
    out.push_str(&latencies(run, cells()).markdown());
    out.push_str(
        "\nLatency counts from the moment at which a request was to be sent, so what it waited for its turn is in it; \"from the \
         send\" leaves that out. The send lag is by how much it was sent late: the tool was slow, or all of its connections waited for \
         the server; where it was the tool by itself, **g** says so. bombardier does not know when a request was to be sent, so it has \
         figures from the send alone.\n\n### What the server used\n\n",
    );
    out.push_str(&resources(run, cells()).markdown());
    if compared(run, name).next().is_some() {
        out.push_str("\n### Comparisons\n\n");
        out.push_str(&comparisons(run, name));
    }
    out
}

/// How many answers were looked at while the load was on. A trial with a wrong one gives no figure and stands under what failed.
fn held_against_the_truth<'a>(cells: impl Iterator<Item = &'a Cell>) -> String {
    let checked: Vec<&Checked> = cells.filter_map(|cell| cell.checked.as_ref()).collect();
    if checked.is_empty() {
        return String::new();
    }
    let asked: u64 = checked.iter().map(|checked| checked.asked).sum();
    let unanswered: u64 = checked.iter().map(|checked| checked.unanswered).sum();
    let but = match unanswered {
        0 => String::new(),
        count => format!(", but for {} that had no answer in time or were refused", thousands(count as f64)),
    };
    format!(
        "\nWhile the load was on, {} more questions were asked on a connection of their own, and each answer was held against the \
         truth: all were true{but}.\n",
        thousands(asked as f64)
    )
}

fn requested(level: Level) -> String {
    let beside = if level.disturbed { ", disturbed" } else { "" };
    format!("{}{beside}", thousands(f64::from(level.amount())))
}

fn latencies<'a>(run: &Run, cells: impl Iterator<Item = &'a Cell> + Clone) -> Table {
    let headers = [
        "request",
        "requested/s",
        "server",
        "sent by",
        "achieved/s",
        "p50",
        "p99",
        "p99.9",
        "slowest",
        "p99 from the send",
        "p99 of the send lag",
        "failed requests",
        "trials",
    ];
    let mut table = Table::new(&headers, 4);
    for cell in cells {
        let bare = |figure: Figure, format: fn(f64) -> String| {
            cell.figure(figure).map_or_else(|| "-".to_owned(), |value| format(value.value))
        };
        let from_due = |figure: Figure| cell.figure(figure).filter(|_| cell.level.tool.tells_when_due());
        let time = |figure: Figure| from_due(figure).map_or_else(|| "-".to_owned(), |us| time_us(us.value));
        table.row(vec![
            cell.workload.clone(),
            requested(cell.level),
            run.cell_name(cell),
            cell.level.tool.name().to_owned(),
            with_marks(bare(Figure::AchievedRate, thousands), &cell.marks),
            time(Figure::P50Us),
            from_due(Figure::P99Us).map_or_else(|| "-".to_owned(), |value| estimate(value, time_us)),
            time(Figure::P999Us),
            time(Figure::MaxUs),
            bare(Figure::P99FromSendUs, time_us),
            bare(Figure::SendLagP99Us, time_us),
            thousands(cell.failed_requests.values().sum::<u64>() as f64),
            cell.completed.to_string(),
        ]);
    }
    table
}

fn resources<'a>(run: &Run, cells: impl Iterator<Item = &'a Cell>) -> Table {
    let headers = [
        "requested/s",
        "server",
        "sent by",
        "CPU us/request",
        "of it in the kernel",
        "server cores",
        "load tool's cores",
        "peak memory",
        "connections held",
    ];
    let mut table = Table::new(&headers, 3);
    for cell in cells {
        let bare = |figure: Figure, format: fn(f64) -> String| {
            cell.figure(figure).map_or_else(|| "-".to_owned(), |value| format(value.value))
        };
        let cpu = cell.figure(Figure::CpuUsPerRequest).filter(|_| !cell.level.disturbed);
        table.row(vec![
            requested(cell.level),
            run.cell_name(cell),
            cell.level.tool.name().to_owned(),
            cpu.map_or_else(|| "-".to_owned(), |value| estimate(value, significant)),
            bare(Figure::SystemShare, |share| format!("{:.0} %", share * 100.0)),
            bare(Figure::ServerCores, |cores| format!("{cores:.2}")),
            bare(Figure::ClientCores, |cores| format!("{cores:.2}")),
            bare(Figure::PeakMemoryBytes, bytes),
            bare(Figure::EstablishedConnections, thousands),
        ]);
    }
    table
}

fn comparisons(run: &Run, workload: &str) -> String {
    let headers = [
        "requested/s",
        "servers",
        "ratio of CPU per request",
        "by CPU per request",
        "ratio of p99",
        "ratio of p99 from the send",
        "blocks",
        "resolves",
    ];
    let mut table = Table::new(&headers, 2);
    for pair in compared(run, workload) {
        table.row(vec![
            requested(pair.level),
            run.pair(pair),
            ratio(pair.cpu.ratio),
            cost(pair, run.plan.campaign.margin),
            pair.p99_ratio.map_or_else(|| "-".to_owned(), ratio),
            pair.p99_from_send_ratio.map_or_else(|| "-".to_owned(), ratio),
            pair.cpu.blocks.to_string(),
            resolution(&pair.cpu),
        ]);
    }
    let looks: Vec<String> = run.summary.looks.iter().map(ToString::to_string).collect();
    format!(
        "{}\n{PAIRED_RATIOS} At a rate that all servers hold none is saturated, so CPU time for a request is the fairest comparison. It is judged \
         after {} valid blocks, with a margin of {}; all {} comparisons of the run and all looks share an error of 5 %. The ratios of p99s \
         are not judged; each interval is right by itself with 95 %. What the load tool is late by is in both p99s and draws \
         their ratio towards 1; those from the send are without it.\n{}",
        table.markdown(),
        looks.join(", "),
        run.plan.campaign.margin,
        run.summary.comparisons.len(),
        compared(run, workload).map(lost::blocks).collect::<String>(),
    )
}

/// What is known of the cost of a request, or how many blocks would tell.
fn cost(pair: &Comparison, margin: Percent) -> String {
    match pair.cpu.verdict {
        Verdict::Inconclusive => pair.cpu.words(),
        _ => by_cpu(&pair.cpu, margin),
    }
}

/// What the charts show and how they are read.
pub(super) fn charts(run: &Run) -> String {
    let mut out = "## Charts\n\n\
        ![99th percentile of latency against the rate](p99.svg)\n\n\
        ![Server CPU against the rate](cpu.svg)\n\n\
        ![Server memory against the rate](memory.svg)\n\n\
        Points are medians over blocks, bars their 95 % intervals; servers stand side by side at each rate. Axes are \
        logarithmic.\n"
        .to_owned();
    if quantile_chart::is_drawn(run) {
        out.push_str(
            "\n![Latency by percentile](quantiles.svg)\n\n\
             Read it upwards: at 99, one request in a hundred took longer than the line's height, counted from the moment at which \
             it was to be sent (by bombardier from the send); from 90 on each step to the right leaves a tenth of the requests. \
             Medians over blocks, at the headline's rate; at 99.99 a trial of fewer than 10,000 requests has only its slowest.\n",
        );
    }
    if resource_chart::is_drawn(run) {
        out.push_str(
            "\n![Each server's resources through the window](resources.svg)\n\n\
             What a server used and held at one moment of the window, medians over blocks, at the headline's rate.\n",
        );
    }
    if resource_chart::has_steps(run) {
        for Workload { name, .. } in run.measured_workloads() {
            let file = resource_chart::steps_file(name);
            let _ = writeln!(
                out,
                "\n![{name}: CPU, memory and latency through the window, rate by rate]({file})"
            );
        }
        out.push_str(
            "\nEach row has one scale, so that the steps of the rate compare. A part of the window holds few requests at a low rate; \
             of fewer than a hundred the 99th percentile is the slowest.\n",
        );
    }
    out
}

/// What a reader of an open loop must know before he believes it.
pub(super) fn distrust(run: &Run) -> String {
    let cores = run.conditions.host.cores;
    let mut out = format!(
        "- Server and load tool share {cores} cores, so a request may wait for a core that the load tool has.\n- {NEVER_SENT}\n"
    );
    for Ceiling { tool, held, not_held } in &run.ceilings {
        let rate =
            |rate: &Option<u32>| rate.map_or_else(|| "none".to_owned(), |rate| thousands(f64::from(rate)));
        let _ = writeln!(
            out,
            "- {} sent {} requests/s here in time, to the server that answers at once{}. No server is measured at a rate that its \
             tool can't send.",
            tool.name(),
            rate(held),
            not_held.map_or_else(String::new, |_| format!(", and not {}", rate(not_held)))
        );
    }
    if !run.plan.left_out_rates.is_empty() {
        let rates: Vec<String> =
            run.plan.left_out_rates.iter().map(|rate| thousands(f64::from(*rate))).collect();
        let _ = writeln!(
            out,
            "- Left out, since no load tool could send so much here: {} requests/s.",
            rates.join(", ")
        );
    }
    for mark in Mark::ALL {
        let marked = run.summary.cells.iter().filter(|cell| cell.marks.contains(&mark));
        let cells: Vec<String> = marked
            .map(|cell| format!("{} {}", run.cell_name(cell), place(&cell.workload, cell.level)))
            .collect();
        if !cells.is_empty() {
            let _ = writeln!(out, "- **{}** {}: {}.", mark.letter(), mark.meaning(), cells.join(", "));
        }
    }
    out.push_str(
        "- The rate is held whatever the server does, so latency has the waiting that users see. It does not compare with a \
         closed loop's.\n",
    );
    out
}

/// A request at a load, with the tool that sends it and whether another load is beside it.
fn place(workload: &str, level: Level) -> String {
    let beside = if level.disturbed { ", disturbed" } else { "" };
    format!("{} by {}{beside}", at(workload, level), level.tool.name())
}

/// The commands that make a row's figures again.
pub(super) fn by_hand(run: &Run, servers: &str) -> String {
    let mut out = format!(
        "## By hand\n\nTo the letter, with two terminals: start a server,\n\n```sh\n{servers}```\n\nand put the load of a row on it. \
         The tools' own reports count from the send (vegeta) or from the intended send (oha); `just tools oha` builds them and says \
         where they are.\n\n```sh\n"
    );
    let window_ms = run.plan.campaign.window_ms;
    let mix = |workload: &Workload| format!("# a mix, drawn as it is sent: {}", workload.words());
    for workload in run.measured_workloads() {
        let mut shown = Vec::new();
        for level in run.plan.levels() {
            let alone = Level { disturbed: false, ..level };
            if !shown.contains(&alone) {
                let command =
                    commands::open_load(run, workload, alone, window_ms).unwrap_or_else(|| mix(workload));
                let _ = writeln!(out, "# {}\n{command}", place(&workload.name, alone));
                shown.push(alone);
            }
        }
    }
    let background = of(run).and_then(|open| open.background.as_ref());
    let other = background.and_then(|other| {
        Some((other, run.plan.workloads.iter().find(|workload| workload.name == other.workload)?))
    });
    if let Some((other, workload)) = other {
        let duration_ms = other.for_ms.unwrap_or(window_ms - other.from_ms);
        let level =
            Level { connections: other.connections, rate: other.rate, tool: other.tool, disturbed: false };
        let command = match other.rate {
            Some(_) => {
                commands::open_load(run, workload, level, duration_ms).unwrap_or_else(|| mix(workload))
            }
            None => commands::load(run, workload, other.connections),
        };
        let _ = writeln!(
            out,
            "# beside it, from {} of the window for {}: {}\n{command}",
            time_us(other.from_ms as f64 * 1e3),
            time_us(duration_ms as f64 * 1e3),
            workload.name
        );
    }
    let _ = writeln!(out, "```\n\nThe whole run: `{}`.", run.conditions.command);
    out
}
