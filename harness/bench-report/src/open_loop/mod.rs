//! The report of an open loop: latency from the moment at which a request was to be sent, at rates that are the same
//! for all.
//!
//! It holds no figure of a closed loop: the two answer different questions.

mod sections;

use std::fmt::Write;

use super::format::{
    NEVER_SENT, PAIRED_RATIOS, Table, at, bullets, bytes, count, dash, estimate, known, list, ratio,
    significant, thousands, time_us,
};
use super::headline::{by_cpu, marked, marks_used, with_marks};
use super::tables::{bare, cores, failed_requests, resolution, share_in_kernel};
use super::{Run, commands, invalid_trials};
use bench_analysis::ceilings::Ceiling;
use bench_analysis::{Cell, Comparison, Verdict};
use bench_model::config::{Open, Percent};
use bench_model::figure::Figure;
use bench_model::load::Level;
use bench_model::observation::Checked;
use bench_model::workload::Workload;

pub(super) use sections::sections;

/// The campaign's open loop, where it is one.
pub(super) fn of(run: &Run) -> Option<&Open> {
    run.plan.campaign.open.as_ref()
}

/// What is shown below the answer: what the background load does to each server, and the latencies at the headline's
/// rates.
pub(super) fn headline(run: &Run) -> String {
    let mut out = sections::headline(run);
    if !out.is_empty() {
        out.push('\n');
    }
    out + &latencies(run, headline_cells(run)).markdown() + &marks_used(headline_cells(run))
}

fn headline_cells(run: &Run) -> impl Iterator<Item = &Cell> + Clone {
    let is_shown = |cell: &&Cell| {
        let levels = run.plan.headline_levels(&cell.workload);
        levels.iter().any(|level| level.amount() == cell.level.amount()) && !run.plan.is_ceiling(&cell.server)
    };
    run.summary.cells.iter().filter(is_shown)
}

/// The comparisons of a workload that say something: with a background load the CPU time is that of both loads.
fn compared<'a>(run: &'a Run, workload: &'a str) -> impl Iterator<Item = &'a Comparison> {
    run.summary.comparisons.iter().filter(move |pair| pair.workload == workload && !pair.level.disturbed)
}

/// The tables of a workload, below its heading.
pub(super) fn tables(run: &Run, workload: &Workload) -> String {
    let name = &workload.name;
    let cells = || run.summary.cells.iter().filter(|cell| &cell.workload == name);
    let mut out = format!(
        "{}\n### Latency at a rate\n\n{}\nLatency counts from the moment at which a request was to be sent, so what \
         it waited for its turn is in it; \"from the send\" leaves that out. The send lag is by how much it was sent \
         late: the tool was slow, or all of its connections waited for the server; where it was the tool by itself, \
         **g** says so. bombardier does not know when a request was to be sent, so it has figures from the send \
         alone.\n\n### What the server used\n\n{}",
        checked_answers(run, cells()),
        latencies(run, cells()).markdown(),
        resources(run, cells()).markdown()
    );
    if compared(run, name).next().is_some() {
        let _ = write!(out, "\n### Comparisons\n\n{}", comparisons(run, name));
    }
    out
}

/// How many answers were checked while the load was on. A trial with a wrong one gives no figure and stands under what
/// failed.
fn checked_answers<'a>(run: &Run, cells: impl Iterator<Item = &'a Cell>) -> String {
    let cells: Vec<&Cell> = cells.collect();
    if cells.iter().any(|cell| cell.differences.is_some()) {
        // The headline says how many differ.
        return String::new();
    }
    let checked: Vec<&Checked> = cells.into_iter().filter_map(|cell| cell.checked.as_ref()).collect();
    if checked.is_empty() {
        return String::new();
    }
    let requested: u64 = checked.iter().map(|checked| checked.asked).sum();
    let but = match checked.iter().map(|checked| checked.unanswered).sum::<u64>() {
        0 => String::new(),
        unanswered => format!(", but for {} that had no answer in time or were refused", count(unanswered)),
    };
    let compared = match run.knows_whole_answers() {
        true => "was compared with the true one",
        false => "must have its id, no error, and what its request states of it",
    };
    format!(
        "\nWhile the load was on, {} more requests were sent on a connection of their own, and each answer {compared}: \
         all were right{but}.\n",
        count(requested)
    )
}

fn requested(level: Level) -> String {
    let disturbed = if level.disturbed { ", disturbed" } else { "" };
    format!("{}{disturbed}", count(level.amount().into()))
}

fn latencies<'a>(run: &Run, cells: impl Iterator<Item = &'a Cell>) -> Table {
    let headers = "request | requested/s | server | sent by | achieved/s | p50 | p99 | p99.9 | slowest | p99 from the \
        send | p99 of the send lag | failed requests | trials";
    let row = |cell: &Cell| {
        let from_due = |figure: Figure| cell.figure(figure).filter(|_| cell.level.tool.can().tells_when_due);
        let time = |figure: Figure| dash(from_due(figure), |us| time_us(us.value));
        vec![
            cell.workload.clone(),
            requested(cell.level),
            run.cell_name(cell),
            cell.level.tool.name().to_owned(),
            with_marks(bare(cell, Figure::AchievedRate, thousands), &cell.marks),
            time(Figure::P50Us),
            dash(from_due(Figure::P99Us), |us| estimate(us, time_us)),
            time(Figure::P999Us),
            time(Figure::MaxUs),
            bare(cell, Figure::P99FromSendUs, time_us),
            bare(cell, Figure::SendLagP99Us, time_us),
            failed_requests(cell),
            cell.completed.to_string(),
        ]
    };
    Table::of(headers, 4, cells.map(row))
}

fn resources<'a>(run: &Run, cells: impl Iterator<Item = &'a Cell>) -> Table {
    let headers = "requested/s | server | sent by | CPU µs/request | of it in the kernel | server cores | load tool's \
        cores | peak memory | connections held";
    let row = |cell: &Cell| {
        let cpu = cell.figure(Figure::CpuUsPerRequest).filter(|_| !cell.level.disturbed);
        vec![
            requested(cell.level),
            run.cell_name(cell),
            cell.level.tool.name().to_owned(),
            dash(cpu, |value| estimate(value, significant)),
            bare(cell, Figure::SystemShare, share_in_kernel),
            bare(cell, Figure::ServerCores, cores),
            bare(cell, Figure::ClientCores, cores),
            bare(cell, Figure::PeakMemoryBytes, bytes),
            bare(cell, Figure::EstablishedConnections, thousands),
        ]
    };
    Table::of(headers, 3, cells.map(row))
}

fn comparisons(run: &Run, workload: &str) -> String {
    let headers = "requested/s | servers | ratio of CPU per request | by CPU per request | ratio of p99 | \
                   ratio of p99 from the send | blocks | resolves";
    let rows = compared(run, workload).map(|pair| {
        vec![
            requested(pair.level),
            run.pair(pair),
            ratio(pair.cpu.ratio),
            cost(pair, run.plan.campaign.margin),
            dash(pair.p99_ratio, ratio),
            dash(pair.p99_from_send_ratio, ratio),
            pair.cpu.blocks.to_string(),
            resolution(&pair.cpu),
        ]
    });
    format!(
        "{}\n{PAIRED_RATIOS} At a rate that all servers hold none is saturated, so CPU time for a request is the \
         fairest comparison. It is judged after {} valid blocks, with a margin of {}; all {} comparisons of the run \
         and all interim analyses share an error of 5 %. The ratios of p99s are not judged; each interval is right by \
         itself with 95 %. What the load tool is late by is in both p99s and draws their ratio towards 1; those from \
         the send are without it.\n{}",
        Table::of(headers, 2, rows).markdown(),
        list(&run.summary.block_counts),
        run.plan.campaign.margin,
        run.summary.comparisons.len(),
        compared(run, workload).map(invalid_trials::blocks).collect::<String>(),
    )
}

/// What is known of the cost of a request, or how many blocks would tell.
fn cost(pair: &Comparison, margin: Percent) -> String {
    match pair.cpu.verdict {
        Verdict::Inconclusive => pair.cpu.words(),
        _ => by_cpu(&pair.cpu, margin),
    }
}

/// What a reader of an open loop must know before he believes it.
pub(super) fn distrust(run: &Run) -> String {
    let cores = run.conditions.host.cores;
    let rate = |rate: u32| count(rate.into());
    let mut items = vec![
        format!(
            "Server and load tool share {cores} cores, so a request may wait for a core that the load tool has."
        ),
        NEVER_SENT.to_owned(),
    ];
    items.extend(run.ceilings.iter().map(|Ceiling { tool, held, not_held }| {
        format!(
            "{} sent {} requests/s here in time, to {}{}. No server is measured at a rate that its tool can't send.",
            tool.name(),
            known(*held, "none", rate),
            run.ceiling_words(),
            known(*not_held, "", |limit| format!(", and not {}", rate(limit)))
        )
    }));
    if !run.plan.left_out_rates.is_empty() {
        let rates = list(run.plan.left_out_rates.iter().copied().map(rate));
        items.push(format!("Left out, because no load tool could send so much here: {rates} requests/s."));
    }
    items.extend(marked(run, |cell| place(&cell.workload, cell.level)));
    items.push(
        "The rate is held whatever the server does, so latency has the waiting that users see. It does not compare \
         with a closed loop's."
            .to_owned(),
    );
    bullets(items)
}

/// A request at a load, with the tool that sends it and whether there is a background load.
fn place(workload: &str, level: Level) -> String {
    let disturbed = if level.disturbed { ", disturbed" } else { "" };
    format!("{} by {}{disturbed}", at(workload, level), level.tool.name())
}

/// The commands that make a row's figures again.
pub(super) fn by_hand(run: &Run, servers: &str) -> String {
    let mut out = format!(
        "## By hand\n\nTo the letter, with two terminals: start a server,\n\n```sh\n{servers}```\n\nand put the load \
         of a row on it. The tools' own reports count from the send (vegeta) or from the intended send (oha); `just \
         tools oha` builds them and says where they are.\n\n```sh\n"
    );
    let window_ms = run.plan.campaign.window_ms;
    let mix = |workload: &Workload| format!("# a mix, drawn as it is sent: {}", workload.words());
    for workload in run.measured_workloads() {
        let mut shown = Vec::new();
        for level in run.plan.levels() {
            let alone = Level { disturbed: false, ..level };
            if !shown.contains(&alone) {
                for (of, server) in commands::loaded_alike(run) {
                    let command = commands::open_load(run, server, workload, alone, window_ms);
                    let command = command.unwrap_or_else(|| mix(workload));
                    let _ = writeln!(out, "# {}{of}\n{command}", place(&workload.name, alone));
                }
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
            Level { connections: other.connections, rate: other.rate, tool: other.tool, ..Level::default() };
        let command = match other.rate {
            Some(_) => {
                commands::open_load(run, None, workload, level, duration_ms).unwrap_or_else(|| mix(workload))
            }
            None => commands::load(run, None, workload, other.connections),
        };
        let _ = writeln!(
            out,
            "# in the background, from {} of the window for {}: {}\n{command}",
            time_us(other.from_ms as f64 * 1e3),
            time_us(duration_ms as f64 * 1e3),
            workload.name
        );
    }
    let _ = writeln!(out, "```\n\nThe whole run: `{}`.", run.conditions.command);
    out
}
