//! The report's sections, in the order in which a reader needs them.

use std::fmt::Write;

use super::format::{Table, at, bytes, ratio};
use super::tables::{comparisons, rates, resources};
use super::{
    Run, causes, commands, crossed, duets, headline, open, original, quantile_chart, resource_chart, slo,
    stores, terms, threshold,
};
use crate::analysis::{Mark, SamplingCores};
use crate::config::Placement;
use crate::figure::Figure;
use crate::load::toolchain::Tool;
use crate::workload::Workload;

/// The whole report.
pub fn markdown(run: &Run) -> String {
    let campaign = &run.plan.campaign;
    let sections = [
        format!("# Benchmark report: {}\n\n{}\n", campaign.name, campaign.why),
        format!("## Headline\n\n{}", headline(run)),
        charts(run),
        bounds(run),
        crossed::section(run),
        if is_duet(run) { duets::section(run) } else { String::new() },
        run.duets.as_deref().map_or_else(String::new, duets::section),
        causes::section(run),
        original::section(run),
        run.measured_workloads().map(|workload| tables(run, workload)).collect::<Vec<_>>().join("\n"),
        open::beside(run),
        threshold::section(run),
        slo::section(run),
        stores::section(run),
        if open::of(run).is_some() || is_duet(run) { String::new() } else { terms::section(run) },
        distrust(run),
        failed(run),
        environment(run),
        by_hand(run),
    ];
    sections.into_iter().filter(|section| !section.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Whether its servers all run in pairs, at the same time on one core: then only CPU time compares.
pub(super) fn is_duet(run: &Run) -> bool {
    run.plan.campaign.environment.placement == Placement::Duet
}

fn charts(run: &Run) -> String {
    if !run.has_sweep() || is_duet(run) {
        return String::new();
    }
    if original::is_headline(run) {
        return original::charts(run);
    }
    if open::of(run).is_some() {
        return open::charts(run);
    }
    let mut out = "## Charts\n\n\
         ![Successful requests a second against connections](throughput.svg)\n\n\
         ![99th percentile of latency against connections](p99.svg)\n\n\
         Points are medians over blocks, bars their 95 % intervals; servers stand side by side at each connection count. Both \
         axes are logarithmic.\n"
        .to_owned();
    if quantile_chart::is_drawn(run) {
        out.push_str(
            "\n![Quantile function of latency](quantiles.svg)\n\n\
             Read it upwards: at 99, one request in a hundred took longer than the line's height; from 90 on each step to the \
             right leaves a tenth of the requests. Points are medians over blocks of that percentile, at the headline's \
             load.\n",
        );
    }
    if resource_chart::is_drawn(run) {
        out.push_str(
            "\n![Each server's resources through the window](resources.svg)\n\n\
             Read it downwards, at one moment of the window: what a server used and held there, as the median over blocks at \
             the headline's load. A line that is not level says that the window was not steady.\n",
        );
    }
    out
}

fn bounds(run: &Run) -> String {
    if run.summary.bounds.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["figure", "at", "ratio", "must be", "bound"], 2);
    for bound in &run.summary.bounds {
        let rule = &bound.rule;
        let figure = match rule.figure {
            Figure::CpuUsPerRequest => "server CPU per request",
            Figure::RequestsPerSecond => "successful requests/s",
            _ => "figure",
        };
        table.row(vec![
            format!("{figure}, {} over {}", run.label(&rule.server), run.label(&rule.over)),
            at(&bound.workload, bound.level),
            bound.ratio.map_or_else(|| "not measured".to_owned(), ratio),
            rule.words(),
            if bound.holds { "holds" } else { "**broken**" }.to_owned(),
        ]);
    }
    format!(
        "## Bounds\n\nA bound holds where the whole interval lies within it, and not only its middle.\n\n{}",
        table.markdown()
    )
}

fn tables(run: &Run, workload: &Workload) -> String {
    if open::of(run).is_some() {
        return open::tables(run, workload);
    }
    let name = &workload.name;
    let cells = || run.summary.cells.iter().filter(|cell| &cell.workload == name);
    let mut out = format!("## {name}\n\n{}\n", workload.why.trim());
    if workload.is_mix() {
        let _ = writeln!(out, "\nIt asks: {}.", workload.words());
    }
    if !run.has_sweep() {
        return out;
    }
    out.push('\n');
    if let Some(size) = cells().find_map(|cell| cell.answer_bytes) {
        let _ = writeln!(out, "One answer holds {} of JSON.\n", bytes(size as f64));
    }
    if !is_duet(run) {
        out.push_str("### Rate and latency\n\n");
        out.push_str(&rates(run, cells()).markdown());
        out.push('\n');
    }
    out.push_str("### What the server and the load generator used\n\n");
    out.push_str(&resources(run, cells()).markdown());
    if !is_duet(run) && run.summary.comparisons.iter().any(|comparison| &comparison.workload == name) {
        out.push_str("\n### Comparisons\n\n");
        out.push_str(&comparisons(run, name));
    }
    out
}

fn distrust(run: &Run) -> String {
    let mut out = "## What to distrust\n\n".to_owned();
    if open::of(run).is_some() {
        return out + &open::distrust(run) + &failed_requests(run);
    }
    if run.plan.campaign.slo.is_some() {
        return out + &slo::distrust(run);
    }
    let cores = run.conditions.host.cores;
    let _ = writeln!(
        out,
        "- Server and load generator share {cores} cores: a rate is what both reach together. CPU per request is the \
         server's own."
    );
    for mark in Mark::ALL {
        let cells: Vec<String> = run
            .summary
            .cells
            .iter()
            .filter(|cell| cell.marks.contains(&mark))
            .map(|cell| format!("{} {}", run.cell_name(cell), at(&cell.workload, cell.level)))
            .collect();
        if !cells.is_empty() {
            let _ = writeln!(out, "- **{}** {}: {}.", mark.letter(), mark.meaning(), cells.join(", "));
        }
    }
    out.push_str(&failed_requests(run));
    if !run.plan.left_out_connections.is_empty() {
        let counts: Vec<String> = run.plan.left_out_connections.iter().map(ToString::to_string).collect();
        let counts = counts.join(", ");
        let _ = writeln!(out, "- Left out, since this machine can't hold that many connections: {counts}.");
    }
    out.push_str(
        "- Each interval of a rate, a latency or a CPU time is right by itself with 95 % confidence; of twenty of them one \
         may well be wrong. Those of comparisons are wider, so that all verdicts hold together.\n\
         - All intervals are about this run. Another run, of another hour, kernel or build, may lie outside of them: \
         `just compare --all` pools the kept runs and says how far apart they are and what one more may give.\n\
         - Latencies are those of a closed loop: a connection asks again only when it has its answer, so waiting that an \
         independent user would see is not in them.\n",
    );
    out
}

/// The kinds of failed requests, a line for each cell that has any.
fn failed_requests(run: &Run) -> String {
    let mut out = String::new();
    for cell in run.summary.cells.iter().filter(|cell| !cell.failed_requests.is_empty()) {
        let kinds: Vec<String> =
            cell.failed_requests.iter().map(|(kind, count)| format!("{count} times {kind:?}")).collect();
        let at = format!("{} {}", run.cell_name(cell), at(&cell.workload, cell.level));
        let _ = writeln!(out, "- Failed requests of {at}: {}.", kinds.join(", "));
    }
    out
}

fn failed(run: &Run) -> String {
    let mut out = "## What failed\n\n".to_owned();
    if !run.has_sweep() && run.stores.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["trial", "block", "server", "request", "why"], 4);
    let mut row = |number: u32, block: u32, server: String, request: String, why: String| {
        table.row(vec![number.to_string(), block.to_string(), server, request, why.replace('\n', " ")]);
    };
    let name = |server: &str, beside: Option<&String>| match beside {
        Some(other) => format!("{server} beside {other}"),
        None => server.to_owned(),
    };
    for trial in run.failed() {
        let server = name(&trial.server, trial.beside.as_ref());
        row(trial.number, trial.block, server, at(&trial.workload, trial.level), trial.reason.clone());
    }
    for trial in run.invalid() {
        let server = name(&trial.server, trial.beside.as_ref());
        let why = format!("invalid: {}", trial.reason);
        row(trial.number, trial.block, server, at(&trial.workload, trial.level), why);
    }
    if run.failed().next().is_none() {
        let observed = run.observed();
        let _ = writeln!(
            out,
            "Nothing: all {observed} trials that ran were measured, and each server's answer was the true one before and after \
             each window."
        );
    }
    if run.invalid().next().is_some() {
        out.push_str(
            "\nInvalid trials were measured and are in no comparison, since the machine spoiled them.\n\n",
        );
    }
    if run.failed().next().is_some() || run.invalid().next().is_some() {
        out.push_str(&table.markdown());
    }
    out
}

/// What a load tool is known by.
fn identity(tool: &Tool) -> String {
    format!("{} {} ({:?}), SHA-256 {}", tool.name, tool.version, tool.source, tool.sha256)
}

pub(super) fn environment(run: &Run) -> String {
    let conditions = &run.conditions;
    let host = &conditions.host;
    let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "unavailable".to_owned());
    let ports = host
        .client_ports
        .map_or_else(|| "unavailable".to_owned(), |(first, last)| format!("{first} to {last}"));
    let rows = [
        ("run", conditions.history()),
        ("commit", known(&host.commit)),
        ("processor", format!("{}, {} cores", host.cpu, host.cores)),
        ("placement", placement(run)),
        ("memory", host.memory_bytes.map_or_else(|| "unavailable".to_owned(), |size| bytes(size as f64))),
        ("kernel", known(&host.kernel)),
        ("governor", known(&host.governor)),
        ("compiler", known(&host.rustc)),
        ("open files, client ports", format!("{}, {ports}", host.open_files)),
        ("load tool", identity(&conditions.tool)),
        ("order of trials", format!("drawn from seed {}; see plan.json", run.plan.campaign.seed)),
    ];
    let sampling =
        run.summary.sampling_cores.map(|cost| ("cost of reading resources", sampling(cost, host.cores)));
    let open_loop = conditions.open_loop_tools.iter().map(|tool| ("open-loop load tool", identity(tool)));
    let mut table = Table::new(&["what", "value"], 2);
    for (what, value) in rows.into_iter().chain(open_loop).chain(sampling) {
        table.row(vec![what.to_owned(), value]);
    }
    let mut out = format!("## Environment\n\n{}", table.markdown());
    if !run.has_sweep() {
        return out;
    }
    out.push_str("\nEach server's effective settings:\n\n```json\n");
    for ready in conditions.servers.values() {
        let _ = writeln!(out, "{ready}");
    }
    out.push_str("```\n");
    out
}

/// Which cores server and load generator used.
fn placement(run: &Run) -> String {
    match run.plan.campaign.environment.placement {
        Placement::Free => "server and load generator on all cores, as the kernel puts them".to_owned(),
        Placement::OneCore => "server and load generator together on one core".to_owned(),
        Placement::Duet => {
            "both servers and their load generators together on one core, at the same time".to_owned()
        }
    }
}

/// What it cost to read the servers' resources, as a share of the machine that was measured on.
fn sampling(cost: SamplingCores, cores: usize) -> String {
    let share = |used: f64| format!("{:.2} %", used / cores as f64 * 100.0);
    format!(
        "{} of the {cores} cores' time in the window (median trial; at most {})",
        share(cost.median),
        share(cost.most)
    )
}

fn by_hand(run: &Run) -> String {
    let campaign = &run.plan.campaign;
    if let (false, Some(summary)) = (run.has_sweep(), &run.summary.slo) {
        return slo::by_hand(run, summary, &servers_by_hand(run));
    }
    if !run.has_sweep() {
        return format!("## By hand\n\nThe whole run: `{}`.\n", run.conditions.command);
    }
    if open::of(run).is_some() {
        return open::by_hand(run, &servers_by_hand(run));
    }
    let mut out = format!(
        "## By hand\n\n`just bombard SERVER REQUEST CONNECTIONS` makes one trial's figures again. To the letter, with two \
         terminals: start a server,\n\n```sh\n{}```\n\nand put the load of a row on it. The rate is the 2xx count over the \
         time taken, p99 the 99 % line; CPU per request is the growth of user and system time in `/proc/PID/stat` over the \
         requests.\n\n```sh\n",
        servers_by_hand(run)
    );
    for workload in &run.plan.workloads {
        for connections in run.plan.connections() {
            let _ = writeln!(
                out,
                "# {} at {connections}\n{}",
                workload.name,
                commands::load(run, workload, connections)
            );
        }
    }
    let _ = writeln!(out, "```\n\nThe whole run: `just bench-all {}`.", campaign.name);
    out
}

/// One command a server; one a workload where the command holds the request.
fn servers_by_hand(run: &Run) -> String {
    let mut out = String::new();
    for server in &run.plan.servers {
        let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
        for workload in &run.plan.workloads {
            let command = commands::server(run, server, workload);
            match lines.iter_mut().find(|(known, _)| *known == command) {
                Some((_, names)) => names.push(&workload.name),
                None => lines.push((command, vec![&workload.name])),
            }
        }
        for (command, names) in lines {
            let _ = writeln!(out, "# {}, for {}\n{command}", server.name, names.join(" and "));
        }
    }
    out
}
