//! The original test beside its repetition: figure by figure, then with one thing changed at a time, and what four workers would do.

use std::fmt::Write;

use anyhow::Result;

use super::format::{Table, load, ratio, significant, thousands, time_us};
use super::{Run, original_chart};
use crate::analysis::original::{Printed, Reproduced};
use crate::config::{Branch, CampaignArm, Environment, Original, Overrides};
use crate::load::Level;

/// Whether a run repeats the original test, so that its headline is these tables.
pub(super) fn is_headline(run: &Run) -> bool {
    run.plan.campaign.arms.iter().any(|arm| arm.branch.is_some())
}

/// All tables of such a run.
pub(super) fn tables(run: &Run) -> String {
    let original = match Original::read() {
        Ok(original) => original,
        Err(error) => return format!("> **{error:#}**\n"),
    };
    let mut out = settings(run);
    for (workload, level) in loads(run) {
        let _ = write!(out, "\n### {workload} at {}\n", load(level));
        let _ = write!(out, "\n{}", beside(run, &original, workload, level));
        let _ = write!(out, "\n{}", changes(run, workload, level));
    }
    out + "\n" + &predicted(run, &original)
}

/// The charts, one a load.
pub(super) fn charts(run: &Run) -> String {
    let mut out = "## Charts\n".to_owned();
    for (workload, level) in loads(run) {
        let file = original_chart::file(workload, level);
        let _ = write!(out, "\n![{workload} at {}: the original test and here]({file})\n", load(level));
    }
    out
}

/// The loads that were measured, in the campaign's order.
pub(super) fn loads(run: &Run) -> Vec<(&str, Level)> {
    let mut loads: Vec<(&str, Level)> = Vec::new();
    for found in &run.summary.original {
        let load = (found.workload.as_str(), found.level);
        if loads.last() != Some(&load) {
            loads.push(load);
        }
    }
    loads
}

/// Arms that repeat a branch.
fn bases<'a>(run: &'a Run, original: &'a Original) -> impl Iterator<Item = (&'a CampaignArm, &'a Branch)> {
    let arms = run.plan.campaign.arms.iter();
    arms.filter_map(|arm| Some((arm, original.branch(arm.branch.as_deref()?)?)))
}

pub(super) fn found<'a>(run: &'a Run, arm: &str, workload: &str, level: Level) -> Option<&'a Reproduced> {
    let is_it = |found: &&Reproduced| {
        (found.server.as_str(), found.workload.as_str(), found.level) == (arm, workload, level)
    };
    run.summary.original.iter().find(is_it)
}

/// What each arm runs with.
fn settings(run: &Run) -> String {
    let mut table = Table::new(&["arm", "server", "settings of its own"], 3);
    for arm in &run.plan.campaign.arms {
        let server = run.plan.campaign.base(arm).server.clone().unwrap_or_default();
        let of = arm.of.as_ref().map_or_else(String::new, |of| format!("as {of}, but "));
        let own = if arm.settings.is_empty() { "none".to_owned() } else { arm.settings.words() };
        table.row(vec![arm.name.clone(), server, format!("{of}{own}")]);
    }
    format!(
        "Each arm is a server with settings of its own; all others are the environment's: {}. One slot of a chain in twenty is \
         skipped. The walk of a block store is *simulated*: the thread that answers is kept busy for that time.\n\n{}",
        common(&run.plan.campaign.environment, run.plan.threads),
        table.markdown()
    )
}

/// The environment's settings, in the words of an arm's.
fn common(environment: &Environment, threads: u32) -> String {
    let Environment { slots, global_queue_interval, walk_ns_per_slot, tool_niceness, .. } = *environment;
    let (interval, walk) = (global_queue_interval.unwrap_or(0), walk_ns_per_slot.unwrap_or(0));
    let all = Overrides {
        threads: Some(threads),
        slots: Some(slots),
        global_queue_interval: Some(interval),
        walk_ns_per_slot: Some(walk),
        tool_niceness,
    };
    all.words()
}

const COLUMNS: [&str; 9] =
    ["requests/s", "timeouts", "mean", "p50", "p95", "p99", "slowest", "MB/s", "connections at work"];

fn cells(printed: &Printed) -> Vec<String> {
    let time = |us: Option<f64>| us.map_or_else(unknown, time_us);
    vec![
        thousands(printed.requests_per_second),
        printed.timeouts.map_or_else(unknown, thousands),
        time_us(printed.mean_us),
        time(printed.p50_us),
        time(printed.p95_us),
        time_us(printed.p99_us),
        time_us(printed.max_us),
        printed.bytes_per_second.map_or_else(unknown, |bytes| format!("{:.2}", bytes / 1024.0 / 1024.0)),
        printed.at_work().map_or_else(unknown, thousands),
    ]
}

fn unknown() -> String {
    "-".to_owned()
}

/// Here over there, figure by figure.
fn quotients(here: &Printed, there: &Printed) -> Vec<String> {
    let quotient = |of: fn(&Printed) -> Option<f64>| match (of(here), of(there)) {
        (Some(here), Some(there)) if there > 0.0 => format!("{:.2}", here / there),
        _ => unknown(),
    };
    vec![
        quotient(|printed| Some(printed.requests_per_second)),
        quotient(|printed| printed.timeouts),
        quotient(|printed| Some(printed.mean_us)),
        quotient(|printed| printed.p50_us),
        quotient(|printed| printed.p95_us),
        quotient(|printed| Some(printed.p99_us)),
        quotient(|printed| Some(printed.max_us)),
        quotient(|printed| printed.bytes_per_second),
        quotient(Printed::at_work),
    ]
}

/// Each branch and the arms that repeat it.
fn beside(run: &Run, original: &Original, workload: &str, level: Level) -> String {
    let headers: Vec<&str> = ["branch", "where"].into_iter().chain(COLUMNS).collect();
    let mut table = Table::new(&headers, 2);
    for branch in &original.branches {
        let mut row = |place: String, cells: Vec<String>| {
            table.row([branch.title.clone(), place].into_iter().chain(cells).collect());
        };
        let arms = bases(run, original).filter(|(_, of)| of.name == branch.name);
        let here: Vec<&Reproduced> =
            arms.filter_map(|(arm, _)| found(run, &arm.name, workload, level)).collect();
        let there = branch.run(workload, level.connections).map(Printed::of_original);
        if let (Some(there), false) = (&there, here.is_empty()) {
            row("the original".to_owned(), cells(there));
        }
        for here in here {
            let label = run.label(&here.server);
            row(format!("here: {label}"), cells(&here.printed));
            if let Some(there) = &there {
                row(format!("{label} / the original"), quotients(&here.printed, there));
            }
        }
    }
    format!(
        "{}\nRequests/s hold those that failed, as bombardier prints them. Connections at work are answers a second times the \
         median latency (Little's law): so many were served all the time, and the others waited.\n",
        table.markdown()
    )
}

/// Each arm and those that differ from it by one setting.
fn changes(run: &Run, workload: &str, level: Level) -> String {
    let headers: Vec<&str> = ["arm", "change"].into_iter().chain(COLUMNS).chain(["CPU us/request"]).collect();
    let mut table = Table::new(&headers, 2);
    let mut said = String::new();
    let campaign = &run.plan.campaign;
    for arm in &campaign.arms {
        let Some(here) = found(run, &arm.name, workload, level) else { continue };
        let base = campaign.base(arm);
        let change = if arm.of.is_some() { arm.settings.words() } else { "none".to_owned() };
        let before = found(run, &base.name, workload, level).filter(|_| arm.of.is_some());
        if let Some(before) = before {
            // Writing to a String can't fail.
            let _ = writeln!(
                said,
                "- {}, {change}: {}.",
                run.label(&base.name),
                effect(&before.printed, &here.printed)
            );
        }
        let own = significant(here.cpu_us_per_request);
        let cells = cells(&here.printed).into_iter().chain([own]);
        table.row([run.label(&base.name).to_owned(), change].into_iter().chain(cells).collect());
    }
    if said.is_empty() { said } else { format!("#### One change at a time\n\n{}\n{said}", table.markdown()) }
}

/// What a change does, in a few words.
fn effect(before: &Printed, after: &Printed) -> String {
    let time = |us: Option<f64>| us.map_or_else(unknown, time_us);
    let count = |count: Option<f64>| count.map_or_else(unknown, thousands);
    format!(
        "{:.2} times the requests/s, timeouts {} to {}, p50 {} to {}, p99 {} to {}",
        after.requests_per_second / before.requests_per_second,
        count(before.timeouts),
        count(after.timeouts),
        time(before.p50_us),
        time(after.p50_us),
        time_us(before.p99_us),
        time_us(after.p99_us),
    )
}

/// What as many workers as the original's would answer, each on a core of its own.
fn predicted(run: &Run, original: &Original) -> String {
    let headers = [
        "arm",
        "request",
        "CPU us/request here",
        "workers there",
        "predicted answers/s",
        "the original's answers/s",
        "original / predicted",
        "of a gigabit line",
    ];
    let mut table = Table::new(&headers, 2);
    for (arm, branch) in bases(run, original) {
        for there in &branch.runs {
            let Some(here) = found(run, &arm.name, &there.workload, there.connections.into()) else {
                continue;
            };
            let answered = Printed::of_original(there).answered_per_second;
            let predicted = f64::from(branch.workers) * 1e6 / here.cpu_us_per_request;
            let bytes = there.mb_per_second * 1024.0 * 1024.0;
            table.row(vec![
                run.label(&arm.name).to_owned(),
                format!("{} at {}", there.workload, thousands(there.connections.into())),
                significant(here.cpu_us_per_request),
                branch.workers.to_string(),
                thousands(predicted),
                thousands(answered),
                format!("{:.2}", answered / predicted),
                format!("{:.0} %", bytes / original.line_bytes_per_second * 100.0),
            ]);
        }
    }
    format!(
        "### Predicted\n\nThis machine has {} cores for server and load generator together, so what more workers do is **predicted and \
         not measured**: workers over the CPU time that a request takes here, as if each worker had a core like these to itself and \
         nothing else held it back. The workers of the original are inferred. Its bytes a second are set against what a gigabit \
         line carries one way; where they come close, the line was the limit.\n\n{}",
        run.conditions.host.cores,
        table.markdown()
    )
}

/// Our ratios beside those of the original test, in a campaign that compares the same frameworks at its loads.
pub(super) fn section(run: &Run) -> String {
    ratios(run).unwrap_or_else(|error| format!("## Beside the original test\n\n{error:#}\n"))
}

fn ratios(run: &Run) -> Result<String> {
    let original = Original::read()?;
    let mut table = Table::new(&["request", "ratio", "original test", "here", "verdict here"], 2);
    let mut compared = false;
    let mut said: Vec<String> = Vec::new();
    let base = original.branches.first();
    for there in base.into_iter().flat_map(|base| &base.runs) {
        let (workload, connections) = (there.workload.as_str(), there.connections);
        let mut rates = vec![thousands(there.requests_per_second)];
        for branch in original.branches.iter().skip(1) {
            let then = branch.run(workload, connections);
            rates.extend(then.map(|run| thousands(run.requests_per_second)));
            let Some(found) = run.summary.comparison(&branch.server, "legacy", workload, connections) else {
                continue;
            };
            let then = then.map(|run| format!("{:.2}", run.requests_per_second / there.requests_per_second));
            table.row(vec![
                format!("{workload} at {connections}"),
                format!("{} / legacy", branch.server),
                then.unwrap_or_else(|| "failed".to_owned()),
                ratio(found.rate.ratio),
                found.rate.words(),
            ]);
            compared = true;
        }
        said.push(format!("{} for {workload} at {connections} connections", rates.join(", ")));
    }
    if !compared {
        return Ok(String::new());
    }
    Ok(format!(
        "## Beside the original test\n\n{}\n\
         The original test gave these requests/s: {}; in the order legacy, jsonrpsee, actix. Only ratios compare: two \
         machines were used there, and branches of a real validator answered from its block store; here server and load \
         generator share one machine, and every server reads the same ledger in memory. `just original` \
         repeats it with what its figures say that it ran on.\n",
        table.markdown(),
        said.join("; ")
    ))
}
