//! The report of an open loop: latency from the moment at which a request was to be sent, at rates that are the same
//! for all.
//!
//! It holds no figure of a closed loop: the two answer different questions.

use super::columns::Columns;
use super::commands::two_terminals;
use super::format::{
    NEVER_SENT, PAIRED_RATIOS, at, bullets, bytes, count, dash, estimate, known, list, ratio, significant,
    spanned, thousands, time_ms, time_us,
};
use super::headline::{by_cpu, marked, marks_used, with_marks};
use super::tables::{bare, by_method, cores, failed_requests, resolution, share_in_kernel};
use super::{Run, commands, invalid_trials};
use bench_analysis::ceilings::Ceiling;
use bench_analysis::{Cell, Comparison, Verdict};
use bench_model::config::{Background, Open, Percent};
use bench_model::figure::Figure;
use bench_model::load::Level;
use bench_model::observation::Checked;
use bench_model::workload::Workload;

/// The campaign's open loop, where it is one.
pub(super) fn of(run: &Run) -> Option<&Open> {
    run.plan.campaign.open.as_ref()
}

/// What is shown below the answer: the latencies at the headline's rates.
pub(super) fn headline(run: &Run) -> String {
    latencies(run, headline_cells(run)) + &marks_used(headline_cells(run))
}

fn headline_cells(run: &Run) -> impl Iterator<Item = &Cell> + Clone {
    let is_shown = |cell: &&Cell| {
        let levels = run.plan.headline_levels(&cell.workload);
        levels.iter().any(|level| level.amount() == cell.level.amount()) && !run.plan.is_ceiling(&cell.server)
    };
    run.summary.cells.iter().filter(is_shown)
}

/// How a window's stops went, where there are any.
pub(super) fn stalls(run: &Run) -> String {
    let Some(stall) = of(run).and_then(|open| open.stall) else { return String::new() };
    let counts = run.summary.cells.iter().filter_map(|cell| cell.figure(Figure::Stalls));
    let (least, most) = counts.fold((f64::INFINITY, 0.0_f64), |(least, most), count| {
        (least.min(count.value), most.max(count.value))
    });
    if most < 1.0 {
        return String::new();
    }
    format!(
        "## Stops\n\nThe kernel held the server still for {} every {}: {} times in a window of {}.\n",
        time_ms(stall.for_ms),
        time_ms(stall.every_ms),
        spanned((least, most), |count| format!("{count:.0}")),
        time_ms(run.plan.campaign.window_ms)
    )
}

/// The tables of a workload, below its heading.
pub(super) fn tables(run: &Run, workload: &Workload) -> String {
    let name = &workload.name;
    let cells = || run.summary.cells.iter().filter(|cell| &cell.workload == name);
    format!(
        "{}\n### Latency at a rate\n\n{}\nLatency counts from the moment at which a request was to be sent, so what \
         it waited for its turn is in it; \"from the send\" leaves that out. The send lag is by how much it was sent \
         late: the tool was slow, or all of its connections waited for the server; where it was the tool by itself, \
         **g** says so. bombardier does not know when a request was to be sent, so it has figures from the send \
         alone.\n\n### What the server used\n\n{}{}",
        checked_answers(run, cells()),
        latencies(run, cells()),
        resources(run, cells()),
        known(Some(by_method(run, cells())).filter(|table| !table.is_empty()), "", |table| format!(
            "\n{table}"
        )) + &comparisons(run, name)
    )
}

/// How many answers were checked while the load was on. A trial with a wrong one gives no figure and stands under what
/// failed.
fn checked_answers<'a>(run: &Run, mut cells: impl Iterator<Item = &'a Cell> + Clone) -> String {
    let checked: Vec<&Checked> = cells.clone().filter_map(|cell| cell.checked.as_ref()).collect();
    // Where differences are counted, the headline says how many answers differ.
    if checked.is_empty() || cells.any(|cell| cell.differences.is_some()) {
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
    count(level.amount().into()) + disturbed(level)
}

/// Behind a load that has another one in the background.
pub(super) const fn disturbed(level: Level) -> &'static str {
    if level.disturbed { ", disturbed" } else { "" }
}

fn latencies<'a>(run: &Run, cells: impl Iterator<Item = &'a Cell>) -> String {
    let from_due = |cell: &Cell, figure| cell.figure(figure).filter(|_| cell.level.tool.can().tells_when_due);
    let time = |cell: &Cell, figure| dash(from_due(cell, figure), |us| time_us(us.value));
    let rate = |cell: &Cell| with_marks(bare(cell, Figure::RequestsPerSecond, thousands), &cell.marks);
    Columns::of(4, cells)
        .column("request", |cell| &cell.workload)
        .column("requested/s", |cell| requested(cell.level))
        .column("server", |cell| run.cell_name(cell))
        .column("sent by", |cell| cell.level.tool.name())
        .column("answered/s", |cell| rate(cell))
        .column("p50", |cell| time(cell, Figure::P50Us))
        .column("p99", |cell| dash(from_due(cell, Figure::P99Us), |us| estimate(us, time_us)))
        .column("p99.9", |cell| time(cell, Figure::P999Us))
        .column("slowest", |cell| time(cell, Figure::MaxUs))
        .column("p99 from the send", |cell| bare(cell, Figure::P99FromSendUs, time_us))
        .column("p99 of the send lag", |cell| bare(cell, Figure::SendLagP99Us, time_us))
        .column("failed requests", |cell| failed_requests(cell))
        .column("trials", |cell| cell.completed)
        .markdown()
}

fn resources<'a>(run: &Run, cells: impl Iterator<Item = &'a Cell>) -> String {
    let cpu = |cell: &Cell| cell.figure(Figure::CpuUsPerRequest).filter(|_| !cell.level.disturbed);
    Columns::of(3, cells)
        .column("requested/s", |cell| requested(cell.level))
        .column("server", |cell| run.cell_name(cell))
        .column("sent by", |cell| cell.level.tool.name())
        .column("CPU µs/request", |cell| dash(cpu(cell), |value| estimate(value, significant)))
        .column("of it in the kernel", |cell| bare(cell, Figure::SystemShare, share_in_kernel))
        .column("server cores", |cell| bare(cell, Figure::ServerCores, cores))
        .column("load tool's cores", |cell| bare(cell, Figure::ClientCores, cores))
        .column("peak memory", |cell| bare(cell, Figure::PeakMemoryBytes, bytes))
        .column("connections held", |cell| bare(cell, Figure::EstablishedConnections, thousands))
        .markdown()
}

/// The comparisons of a workload that say something: with a background load the CPU time is that of both loads.
fn comparisons(run: &Run, workload: &str) -> String {
    let compared = run.summary.comparisons.iter();
    let compared = compared.filter(|pair| pair.workload == workload && !pair.level.disturbed);
    Columns::of(2, compared.clone())
        .column("requested/s", |pair| requested(pair.level))
        .column("servers", |pair| run.pair(pair))
        .column("ratio of CPU per request", |pair| ratio(pair.cpu.ratio))
        .column("by CPU per request", |pair| cost(pair, run.plan.campaign.margin))
        .column("ratio of p99", |pair| dash(pair.p99_ratio, ratio))
        .column("ratio of p99 from the send", |pair| dash(pair.p99_from_send_ratio, ratio))
        .column("blocks", |pair| pair.cpu.blocks)
        .column("resolves", |pair| resolution(&pair.cpu))
        .within(|table| {
            format!(
                "\n### Comparisons\n\n{table}\n{PAIRED_RATIOS} At a rate that all servers hold none is saturated, so \
                 CPU time for a request is the fairest comparison. It is judged after {} valid blocks, with a margin \
                 of {}; all {} comparisons of the run and all interim analyses share an error of 5 %. The ratios of \
                 p99s are not judged; each interval is right by itself with 95 %. What the load tool is late by is in \
                 both p99s and draws their ratio towards 1; those from the send are without it.\n{}",
                list(&run.summary.block_counts),
                run.plan.campaign.margin,
                run.summary.comparisons.len(),
                compared.map(invalid_trials::blocks).collect::<String>(),
            )
        })
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
    format!("{} by {}{}", at(workload, level), level.tool.name(), disturbed(level))
}

/// The commands that make a row's figures again.
pub(super) fn by_hand(run: &Run, servers: &str) -> String {
    let window_ms = run.plan.campaign.window_ms;
    let mix = |workload: &Workload| format!("# a mix, drawn as it is sent: {}", workload.words());
    let alone = run.plan.levels().into_iter().map(|level| Level { disturbed: false, ..level });
    let mut levels: Vec<Level> = Vec::new();
    for level in alone {
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    let mut loads = Vec::new();
    for workload in run.measured_workloads() {
        for level in &levels {
            for (of, server) in commands::loaded_alike(run) {
                let command = commands::open_load(run, server, workload, *level, window_ms);
                let what = format!("{}{of}", place(&workload.name, *level));
                loads.push((what, command.unwrap_or_else(|| mix(workload))));
            }
        }
    }
    let background = run.plan.campaign.background();
    let background = background.and_then(|other| {
        let workload = run.plan.workloads.iter().find(|workload| workload.name == other.workload)?;
        let duration_ms = other.for_ms.unwrap_or(window_ms - other.from_ms);
        let Background { connections, rate, tool, .. } = *other;
        let level = Level { connections, rate, tool, ..Level::default() };
        let command = match rate {
            Some(_) => commands::open_load(run, None, workload, level, duration_ms),
            None => Some(commands::load(run, None, workload, connections)),
        };
        let (from, length) = (time_ms(other.from_ms), time_ms(duration_ms));
        let what = format!("in the background, from {from} of the window for {length}: {}", workload.name);
        Some((what, command.unwrap_or_else(|| mix(workload))))
    });
    let load = "and put the load of a row on it. The tools' own reports count from the send (vegeta) or from the \
        intended send (rpc-load); `just tools rpc-load` builds it and says where it is.";
    two_terminals(run, servers, load, loads.into_iter().chain(background))
}
