//! The original test and its repetition: figure by figure, then with one thing changed at a time, and what four workers
//! would do.

use anyhow::Result;

use super::Run;
use super::format::{
    Table, bullets, counted, dash, known, load, percent, ratio, significant, thousands, time_us,
};
use super::headline::compares_nothing;
use bench_analysis::original::{Printed, Reproduced};
use bench_model::config::{Branch, CampaignArm, Environment, Original, Overrides};
use bench_model::load::Level;

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
    let of_load = |(workload, level): (&str, Level)| {
        let repeated = repeated(run, &original, workload, level);
        format!("\n### {workload} at {}\n\n{repeated}\n{}", load(level), changes(run, workload, level))
    };
    let loads: String = loads(run).into_iter().map(of_load).collect();
    format!("{}{loads}\n{}", settings(run), predicted(run, &original))
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
    let campaign = &run.plan.campaign;
    let rows = campaign.arms.iter().map(|arm| {
        let server = campaign.base(arm).server.clone().unwrap_or_default();
        let of = known(arm.of.as_ref(), "", |of| format!("as {of}, but "));
        let own = if arm.settings.is_empty() { "none".to_owned() } else { arm.settings.words() };
        vec![arm.name.clone(), server, format!("{of}{own}")]
    });
    format!(
        "Each arm is a server with settings of its own; all others are the environment's: {}. One slot of a chain in \
         twenty is skipped. The walk of a block store is *simulated*: the thread that answers is kept busy for that \
         time.\n\n{}",
        common(&campaign.environment, run.plan.threads),
        Table::of("arm | server | settings of its own", 3, rows).markdown()
    )
}

/// The environment's settings, in the words of an arm's.
fn common(environment: &Environment, threads: u32) -> String {
    let all = Overrides {
        threads: Some(threads),
        global_queue_interval: Some(environment.global_queue_interval.unwrap_or(0)),
        walk_ns_per_slot: Some(environment.walk_ns_per_slot.unwrap_or(0)),
        ..environment.settings()
    };
    all.words()
}

/// A column of the tables: its name, its figure and how that is written.
pub(super) type Column = (&'static str, fn(&Printed) -> Option<f64>, fn(f64) -> String);

pub(super) const COLUMNS: [Column; 10] = [
    ("requests/s", |printed| Some(printed.requests_per_second), thousands),
    ("answered/s", |printed| Some(printed.answered_per_second), thousands),
    ("timeouts", |printed| printed.timeouts, thousands),
    ("mean", |printed| Some(printed.mean_us), time_us),
    ("p50", |printed| printed.p50_us, time_us),
    ("p95", |printed| printed.p95_us, time_us),
    ("p99", |printed| Some(printed.p99_us), time_us),
    ("slowest", |printed| Some(printed.max_us), time_us),
    ("MB/s", |printed| printed.bytes_per_second, |bytes| format!("{:.2}", bytes / 1024.0 / 1024.0)),
    ("connections at work", Printed::at_work, thousands),
];

/// Headers of a table with these before and behind the columns.
fn headers(before: [&'static str; 2], behind: Option<&'static str>) -> Vec<&'static str> {
    before.into_iter().chain(COLUMNS.map(|(name, ..)| name)).chain(behind).collect()
}

fn cells(printed: &Printed) -> impl Iterator<Item = String> {
    COLUMNS.into_iter().map(|(_, figure, write)| dash(figure(printed), write))
}

/// Here over there, figure by figure.
fn quotients(here: &Printed, there: &Printed) -> impl Iterator<Item = String> {
    COLUMNS.into_iter().map(|(_, figure, _)| {
        let both = figure(here).zip(figure(there).filter(|there| *there > 0.0));
        dash(both, |(here, there)| format!("{:.2}", here / there))
    })
}

/// Each branch and the arms that repeat it.
fn repeated(run: &Run, original: &Original, workload: &str, level: Level) -> String {
    let mut table = Table::new(&headers(["branch", "where"], None), 2);
    for branch in &original.branches {
        let row = |place: String, cells: Vec<String>| {
            [branch.title.clone(), place].into_iter().chain(cells).collect()
        };
        let arms = bases(run, original).filter(|(_, of)| of.name == branch.name);
        let here: Vec<&Reproduced> =
            arms.filter_map(|(arm, _)| found(run, &arm.name, workload, level)).collect();
        let there = branch.run(workload, level.connections).map(Printed::of_original);
        if let (Some(there), false) = (&there, here.is_empty()) {
            table.row(row("the original".to_owned(), cells(there).collect()));
        }
        for here in here {
            let label = run.label(&here.server);
            table.row(row(format!("here: {label}"), cells(&here.printed).collect()));
            if let Some(there) = &there {
                table.row(row(format!("{label} / the original"), quotients(&here.printed, there).collect()));
            }
        }
    }
    format!(
        "{}\nRequests/s hold those that failed, as bombardier prints them; answered/s do not. Connections at work are \
         answers a second times the median latency (Little's law): that many were served all the time, and the others \
         waited.\n",
        table.markdown()
    )
}

/// Each arm and those that differ from it by one setting.
fn changes(run: &Run, workload: &str, level: Level) -> String {
    let mut table = Table::new(&headers(["arm", "change"], Some("CPU µs/request")), 2);
    let mut effects = Vec::new();
    let campaign = &run.plan.campaign;
    for arm in &campaign.arms {
        let Some(here) = found(run, &arm.name, workload, level) else { continue };
        let base = campaign.base(arm);
        let label = run.label(&base.name);
        let change = if arm.of.is_some() { arm.settings.words() } else { "none".to_owned() };
        if let Some(before) = found(run, &base.name, workload, level).filter(|_| arm.of.is_some()) {
            effects.push(format!("{label}, {change}: {}.", effect(&before.printed, &here.printed)));
        }
        let own = significant(here.cpu_us_per_request);
        table.row([label.to_owned(), change].into_iter().chain(cells(&here.printed)).chain([own]).collect());
    }
    if effects.is_empty() {
        return String::new();
    }
    format!("#### One change at a time\n\n{}\n{}", table.markdown(), bullets(effects))
}

/// What a change does, in a few words.
fn effect(before: &Printed, after: &Printed) -> String {
    let time = |us: Option<f64>| dash(us, time_us);
    let count = |count: Option<f64>| dash(count, thousands);
    format!(
        "{:.2} times the answers/s, timeouts {} to {}, p50 {} to {}, p99 {} to {}",
        after.answered_per_second / before.answered_per_second,
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
    let headers = "arm | request | CPU µs/request here | workers there | predicted answers/s | the original's \
        answers/s | original / predicted | of a gigabit line";
    let mut table = Table::of(headers, 2, []);
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
                percent(bytes / original.line_bytes_per_second),
            ]);
        }
    }
    format!(
        "### Predicted\n\nThis machine has {} cores for server and load generator together, so what more workers do \
         is **predicted and not measured**: workers over the CPU time that a request takes here, as if each worker \
         had a core like these to itself and nothing else held it back. The workers of the original are inferred. Its \
         bytes a second are compared with what a gigabit line carries one way; where they come close, the line was \
         the limit.\n\n{}",
        run.conditions.host.cores,
        table.markdown()
    )
}

/// Our ratios next to those of the original test, in a campaign that compares the same frameworks at its loads.
pub(super) fn section(run: &Run) -> String {
    if compares_nothing(run) {
        return String::new();
    }
    ratios(run).unwrap_or_else(|error| format!("## Compared with the original test\n\n{error:#}\n"))
}

fn ratios(run: &Run) -> Result<String> {
    let original = Original::read()?;
    let mut table = Table::of("request | ratio | original test | here | verdict here", 2, []);
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
        }
        said.push(format!(
            "{} for {workload} at {}",
            rates.join(", "),
            counted(connections.into(), "connection")
        ));
    }
    if table.is_empty() {
        return Ok(String::new());
    }
    Ok(format!(
        "## Compared with the original test\n\n{}\n\
         The original test gave these requests/s: {}; in the order legacy, jsonrpsee, actix. Only ratios compare: two \
         machines were used there, and branches of a real validator answered from its block store; here server and \
         load generator share one machine, and every server reads the same ledger in memory. `just original` repeats \
         it with what its figures say that it ran on.\n",
        table.markdown(),
        said.join("; ")
    ))
}
