//! Users in stages: the headline's sentences, and a section with HTTP and WebSocket next to each other in one chart and
//! one table.

use super::Run;
use super::charts::{self, Picture};
use super::format::{
    Table, bullets, bytes, count, dash, list, percent, ratio, significant, thousands, time_us,
};
use bench_analysis::stages::{BUSY_TOOL, StagedCell};
use bench_model::config::{Percent, Server, Stages};
use bench_model::transport::Transport;
use bench_model::workload::Workload;

/// The mark of latencies that may be the load tool's own.
const MARK: &str = "k";

/// The trials with users of a run, and their campaign's table; `None` where it has none, or they have not begun.
fn of(run: &Run) -> Option<(&Stages, &Run)> {
    run.plan.campaign.stages.as_ref().zip(run.stages.as_deref())
}

/// Whether the campaign has users and their trials have not begun.
pub fn not_begun(run: &Run) -> usize {
    // The part of a run that has the trials knows the stages, too.
    let is_outer = run.plan.trials.is_empty();
    usize::from(is_outer && run.plan.campaign.stages.is_some() && run.stages.is_none())
}

fn cell<'a>(users: &'a Run, server: &Server, transport: Transport, workload: &str) -> Option<&'a StagedCell> {
    let arm = Stages::arm(&server.name, transport);
    users.summary.stages.iter().find(|cell| cell.server == arm && cell.workload == workload)
}

/// A line for each server: what WebSocket changes.
pub fn headline(run: &Run) -> String {
    let Some((stages, users)) = of(run) else { return String::new() };
    let mut lines = Vec::new();
    for workload in &run.plan.campaign.workloads {
        lines.extend(run.plan.servers.iter().filter_map(|server| line(run, stages, users, server, workload)));
    }
    let busy: Vec<&str> = stages
        .transports
        .iter()
        .filter(|over| is_busy_over(run, users, **over))
        .map(|over| over.name())
        .collect();
    if !busy.is_empty() {
        lines.push(format!(
            "k6 used more than {} of the machine over {} (**{MARK}**): latencies there may be its own.",
            percent(BUSY_TOOL),
            busy.join(" and ")
        ));
    }
    bullets(lines)
}

fn is_busy_over(run: &Run, users: &Run, transport: Transport) -> bool {
    let cores = run.conditions.host.cores;
    let arms: Vec<String> =
        run.plan.servers.iter().map(|server| Stages::arm(&server.name, transport)).collect();
    users.summary.stages.iter().any(|cell| arms.contains(&cell.server) && cell.tool_share(cores) > BUSY_TOOL)
}

fn line(run: &Run, stages: &Stages, users: &Run, server: &Server, workload: &str) -> Option<String> {
    let transports: Vec<Transport> = stages.over_which(server).collect();
    let [first, others @ ..] = transports.as_slice() else { return None };
    let base = cell(users, server, *first, workload)?;
    let cores = run.conditions.host.cores;
    let mut parts = Vec::new();
    for other in others {
        let found = cell(users, server, *other, workload)?;
        let pair = users.summary.comparisons.iter().find(|pair| {
            pair.server == found.server && pair.over == base.server && pair.workload == workload
        });
        let cpu = pair.map_or_else(
            || "CPU per request not compared".to_owned(),
            |pair| {
                format!(
                    "CPU per request {} times that over {}, {}",
                    ratio(pair.cpu.ratio),
                    first.name(),
                    pair.cpu.cpu_words()
                )
            },
        );
        parts.push(format!(
            "over {}: {cpu}; p99 {} and not {}",
            other.name(),
            marked(time_us(found.p99_us), found, cores),
            marked(time_us(base.p99_us), base, cores)
        ));
    }
    let failed = |cell: &StagedCell| cell.failed.values().sum::<u64>();
    let mut all = vec![(*first, base)];
    all.extend(others.iter().filter_map(|over| Some((*over, cell(users, server, *over, workload)?))));
    let failures = all.iter().filter(|(_, cell)| failed(cell) > 0);
    let failures: Vec<String> =
        failures.map(|(over, cell)| format!("{} over {}", count(failed(cell)), over.name())).collect();
    parts.push(match failures.as_slice() {
        [] => "no request failed".to_owned(),
        some => format!("**failed requests: {}**", some.join(", ")),
    });
    if others.is_empty() {
        parts.insert(0, format!("p99 {} over {}", marked(time_us(base.p99_us), base, cores), first.name()));
    }
    Some(format!("**{}**, {workload}, {}.", server.label(), parts.join("; ")))
}

/// A latency with the mark where the load tool was busy.
fn marked(latency: String, cell: &StagedCell, cores: usize) -> String {
    if cell.tool_share(cores) > BUSY_TOOL { format!("{latency} **{MARK}**") } else { latency }
}

/// The section: the chart, the table, and what was done.
pub fn section(run: &Run) -> String {
    let Some((stages, users)) = of(run) else { return String::new() };
    let pictures: Vec<String> = pictures(run).iter().map(Picture::markdown).collect();
    let checked = match knows_answers(run) {
        true => "is compared with the true one (id and value)",
        false => "must have its id and no error, and its value where that is stated",
    };
    let mut notes = vec![
        format!(
            "Each user connects, sends one request a second and waits for its answer, which {checked}. Users come and go evenly within a stage: {}.",
            words(stages)
        ),
        "Latency counts from the send to the answer on k6's clock, the same for both transports, without connecting; \
         failed requests are in it. Connecting is TCP's handshake, and with WebSocket its own after that, which HTTP \
         does not have."
            .to_owned(),
        format!(
            "k6's share is that of the {} cores in the busiest twentieth of a trial; above {} its latencies are \
             marked **{MARK}**. k6 keeps some ten samples of each request over HTTP and fewer over WebSocket.",
            run.conditions.host.cores,
            percent(BUSY_TOOL)
        ),
        format!(
            "Figures are medians of {} valid trials at most; failed requests and those whose user left before they \
             ended are sums. What k6 printed, and its own dashboard, are in stages/tool-output until the run is \
             packed.",
            users.plan.campaign.max_blocks
        ),
    ];
    if let Some(note) = wrong(users) {
        notes.push(note);
    }
    notes.extend(users.summary.stages.iter().filter(|cell| !cell.failed.is_empty()).map(|cell| {
        let kinds = list(cell.failed.iter().map(|(kind, times)| format!("{} times {kind}", count(*times))));
        format!("Failed requests of {}, {}: {kinds}.", users.label(&cell.server), cell.workload)
    }));
    format!(
        "## Users in stages\n\n{}\n{}\n{}{}",
        pictures.join("\n"),
        table(run, stages, users).markdown(),
        compared(users),
        format_args!("\n{}", bullets(notes))
    )
}

/// Where each user has a request of its own: how many trials had wrong answers.
fn wrong(users: &Run) -> Option<String> {
    users.plan.workloads.iter().find(|workload| workload.is_mix())?;
    let wrong = users.summary.failed.iter().filter(|trial| trial.wrong_answer).count();
    let wrong = match wrong {
        0 => "no trial had one".to_owned(),
        some => format!("**trials that had one, and so give no figure: {some}**"),
    };
    let shows = match knows_answers(users) {
        true => "so that an answer to another user's shows as a wrong value",
        false => "and an answer to another user's shows where its value is stated",
    };
    Some(format!("In a mix each user has a request of its own, {shows}: {wrong}."))
}

/// Whether the values of all answers to users are known.
fn knows_answers(run: &Run) -> bool {
    run.measured_workloads().all(Workload::knows_whole_answers)
}

/// The stages in words, and their scale.
fn words(stages: &Stages) -> String {
    let each = stages.ramp.iter().zip(stages.scaled());
    let each = each.map(|(ramp, scaled)| {
        format!("{} after {} s", count(ramp.users.into()), significant(scaled.duration_ms as f64 / 1e3))
    });
    let scale = match stages.time_scale {
        Percent(all) if all >= 1.0 => "as long as the campaign states them".to_owned(),
        scale => format!("each {scale} as long as in the original test"),
    };
    format!("{}; stages are {scale}", list(each))
}

/// Every server over every transport, the transports of a server next to each other.
fn table(run: &Run, stages: &Stages, users: &Run) -> Table {
    let is_gateway = |server: &Server| server.upstream.is_some();
    let has_gateway = run.plan.servers.iter().any(is_gateway);
    let behind = if has_gateway { "CPU/request behind it | peak memory behind it | " } else { "" };
    let headers = format!(
        "server | transport | request | requests | failed | p50 | p99 | slowest | connect p50 | connect p99 | server \
         CPU/request | server's peak memory | {behind}k6's CPU | sent late, p99 | left | trials"
    );
    let cores = run.conditions.host.cores;
    let mut table = Table::of(&headers, 3, []);
    for workload in &run.plan.campaign.workloads {
        for server in &run.plan.servers {
            for transport in stages.over_which(server) {
                let found = cell(users, server, transport, workload);
                let of = |write: &dyn Fn(&StagedCell) -> String| dash(found, write);
                let time = |us: fn(&StagedCell) -> Option<f64>| of(&|cell| dash(us(cell), time_us));
                let latency = |us: fn(&StagedCell) -> f64| of(&|cell| marked(time_us(us(cell)), cell, cores));
                let mut row = vec![
                    server.label().to_owned(),
                    transport.name().to_owned(),
                    workload.clone(),
                    of(&|cell| thousands(cell.requests)),
                    of(&|cell| count(cell.failed.values().sum())),
                    latency(|cell| cell.p50_us),
                    latency(|cell| cell.p99_us),
                    latency(|cell| cell.max_us),
                    time(|cell| cell.connect_p50_us),
                    time(|cell| cell.connect_p99_us),
                    time(|cell| cell.cpu_us_per_request),
                    of(&|cell| dash(cell.peak_memory_bytes, bytes)),
                ];
                if has_gateway {
                    row.push(time(|cell| cell.upstream_cpu_us_per_request));
                    row.push(of(&|cell| dash(cell.upstream_memory_bytes, bytes)));
                }
                row.extend([
                    of(&|cell| percent(cell.tool_share(cores))),
                    time(|cell| cell.send_lag_p99_us),
                    of(&|cell| count(cell.left)),
                    found.map_or(0, |cell| cell.trials).to_string(),
                ]);
                table.row(row);
            }
        }
    }
    table
}

/// The comparisons of each server's transports; empty where there is only one.
fn compared(users: &Run) -> String {
    let rows = users.summary.comparisons.iter().map(|pair| {
        vec![
            users.pair(pair),
            pair.workload.clone(),
            ratio(pair.cpu.ratio),
            pair.cpu.cpu_words(),
            dash(pair.p99_ratio, ratio),
            count(pair.cpu.blocks as u64),
        ]
    });
    let table =
        Table::of("servers | request | ratio of CPU per request | verdict | ratio of p99 | blocks", 2, rows);
    if table.is_empty() {
        String::new()
    } else {
        format!("\n### One transport over the other\n\n{}", table.markdown())
    }
}

/// A chart for each request.
pub fn pictures(run: &Run) -> Vec<Picture> {
    let Some((_, users)) = of(run) else { return Vec::new() };
    let picture = |workload: &String| {
        Some(Picture {
            file: format!("stages-{workload}.svg"),
            alt: format!(
                "{workload}: users, requests/s, p50 and p99 over time, HTTP and WebSocket side by side"
            ),
            note: String::new(),
            chart: charts::stages(run, users, workload)?,
        })
    };
    run.plan.campaign.workloads.iter().filter_map(picture).collect()
}
