//! The original test and its repetition: figure by figure, then with one thing changed at a time, and what four workers
//! would do.

use super::Run;
use super::columns::Columns;
use super::format::{
    bullets, count, counted, dash, joined, known, list, load, percent, ratio, significant, thousands, time_us,
};
use super::headline::compares_nothing;
use bench_analysis::original::{Printed, Reproduced};
use bench_model::config::{Branch, CampaignArm, Environment, Original, OriginalRun, Overrides};
use bench_model::load::Level;

/// Whether a run repeats the original test, so that its headline is these tables.
pub(super) fn is_headline(run: &Run) -> bool {
    run.plan.campaign.arms.iter().any(|arm| arm.branch.is_some())
}

/// All tables of such a run.
pub(super) fn tables(run: &Run) -> String {
    let original = Original::read();
    let of_load = |(workload, level): (&str, Level)| {
        let repeated = repeated(run, &original, workload, level);
        format!("\n### {workload} at {}\n\n{repeated}\n{}", load(level), changes(run, workload, level))
    };
    let loads: String = loads(run).into_iter().map(of_load).collect();
    format!("{}{loads}\n{}", settings(run), predicted(run, &original))
}

/// The loads that were measured, in the campaign's order.
pub(super) fn loads(run: &Run) -> Vec<(&str, Level)> {
    let all = run.summary.original.iter().map(|found| (found.workload.as_str(), found.level));
    let mut loads: Vec<(&str, Level)> = all.collect();
    loads.dedup();
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
    let table = Columns::of(3, &campaign.arms)
        .column("arm", |arm| &arm.name)
        .column("server", |arm| campaign.base(arm).server.clone().unwrap_or_default())
        .column("settings of its own", |arm| {
            let of = known(arm.of.as_ref(), "", |of| format!("as {of}, but "));
            of + &if arm.settings.is_empty() { "none".to_owned() } else { arm.settings.words() }
        });
    format!(
        "Each arm is a server with settings of its own; all others are the environment's: {}. One slot of a chain in \
         twenty is skipped. The walk of a block store is *simulated*: the thread that answers is kept busy for that \
         time.\n\n{}",
        common(&campaign.environment, run.plan.threads),
        table.markdown()
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

/// The columns of figures: of one test, or of one over another.
fn figures<T>(table: Columns<T>, of: impl Fn(&T) -> (Printed, Option<Printed>)) -> Columns<T> {
    let columns = COLUMNS.into_iter().map(|(name, figure, write)| (name, (figure, write)));
    table.columns(columns, |row, (figure, write)| match of(row) {
        (printed, None) => dash(figure(&printed), write),
        (here, Some(there)) => {
            let both = figure(&here).zip(figure(&there).filter(|there| *there > 0.0));
            dash(both, |(here, there)| format!("{:.2}", here / there))
        }
    })
}

/// Each branch and the arms that repeat it.
fn repeated(run: &Run, original: &Original, workload: &str, level: Level) -> String {
    let rows = original.branches.iter().flat_map(|branch| {
        let arms = bases(run, original).filter(|(_, of)| of.name == branch.name);
        let here: Vec<_> = arms.filter_map(|(arm, _)| found(run, &arm.name, workload, level)).collect();
        let there = branch.run(workload, level.connections).map(Printed::of_original);
        let first = there.filter(|_| !here.is_empty());
        let first = first.map(|there| (branch, "the original".to_owned(), (there, None)));
        let here = here.into_iter().flat_map(move |here| {
            let label = run.label(&here.server);
            let over =
                there.map(|there| (branch, format!("{label} / the original"), (here.printed, Some(there))));
            [(branch, format!("here: {label}"), (here.printed, None))].into_iter().chain(over)
        });
        first.into_iter().chain(here)
    });
    let table = Columns::of(2, rows)
        .column("branch", |(branch, ..)| &branch.title)
        .column("where", |(_, place, _)| place.clone());
    format!(
        "{}\nRequests/s hold those that failed, as bombardier prints them; answered/s do not. Connections at work are \
         answers a second times the median latency (Little's law): that many were served all the time, and the others \
         waited.\n",
        figures(table, |(.., printed)| *printed).markdown()
    )
}

/// Each arm and those that differ from it by one setting.
fn changes(run: &Run, workload: &str, level: Level) -> String {
    let campaign = &run.plan.campaign;
    let rows = campaign.arms.iter().filter_map(|arm| {
        let here = found(run, &arm.name, workload, level)?;
        let base = &campaign.base(arm).name;
        let change = if arm.of.is_some() { arm.settings.words() } else { "none".to_owned() };
        let before = found(run, base, workload, level).filter(|_| arm.of.is_some());
        Some((run.label(base), change, here, before))
    });
    let rows: Vec<_> = rows.collect();
    let effects = bullets(rows.iter().filter_map(|(label, change, here, before)| {
        Some(format!("{label}, {change}: {}.", effect(&before.as_ref()?.printed, &here.printed)))
    }));
    if effects.is_empty() {
        return effects;
    }
    let table = Columns::of(2, rows)
        .column("arm", |(label, ..)| *label)
        .column("change", |(_, change, ..)| change.clone());
    let table = figures(table, |(_, _, here, _)| (here.printed, None))
        .column("CPU µs/request", |(_, _, here, _)| significant(here.cpu_us_per_request));
    format!("#### One change at a time\n\n{}\n{effects}", table.markdown())
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
    let rows = bases(run, original).flat_map(|(arm, branch)| {
        branch.runs.iter().filter_map(move |there| {
            let here = found(run, &arm.name, &there.workload, there.connections.into())?;
            let predicted = f64::from(branch.workers) * 1e6 / here.cpu_us_per_request;
            let answered = Printed::of_original(there).answered_per_second;
            Some((here, branch.workers, there, predicted, answered))
        })
    });
    let of_line =
        |there: &OriginalRun| there.mb_per_second * 1024.0 * 1024.0 / original.line_bytes_per_second;
    let table = Columns::of(2, rows)
        .column("arm", |(here, ..)| run.label(&here.server))
        .column("request", |(_, _, there, ..)| {
            format!("{} at {}", there.workload, count(there.connections.into()))
        })
        .column("CPU µs/request here", |(here, ..)| significant(here.cpu_us_per_request))
        .column("workers there", |(_, workers, ..)| *workers)
        .column("predicted answers/s", |(.., predicted, _)| thousands(*predicted))
        .column("the original's answers/s", |(.., answered)| thousands(*answered))
        .column("original / predicted", |(.., predicted, answered)| format!("{:.2}", answered / predicted))
        .column("of a gigabit line", |(_, _, there, ..)| percent(of_line(there)));
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
    let original = Original::read();
    let Some((base, others)) = original.branches.split_first() else { return String::new() };
    let mut rows = Vec::new();
    let said = base.runs.iter().map(|there| {
        let (workload, connections) = (there.workload.as_str(), there.connections);
        let mut rates = vec![there.requests_per_second];
        for branch in others {
            let then = branch.run(workload, connections).map(|run| run.requests_per_second);
            rates.extend(then);
            let found = run.summary.comparison(&branch.server, "legacy", workload, connections);
            rows.extend(found.map(|found| (there, branch, then, found.rate)));
        }
        let rates = list(rates.into_iter().map(thousands));
        format!("{rates} for {workload} at {}", counted(connections.into(), "connection"))
    });
    let said = joined(said, "; ");
    let table = Columns::of(2, rows)
        .column("request", |(there, ..)| format!("{} at {}", there.workload, there.connections))
        .column("ratio", |(_, branch, ..)| format!("{} / legacy", branch.server))
        .column("original test", |(there, _, then, _)| {
            known(*then, "failed", |then| format!("{:.2}", then / there.requests_per_second))
        })
        .column("here", |(.., rate)| ratio(rate.ratio))
        .column("verdict here", |(.., rate)| rate.words());
    let here = match &run.plan.hosts {
        None => "server and load generator share one machine",
        Some(_) => "load hosts put the load on",
    };
    table.within(|table| {
        format!(
            "## Compared with the original test\n\n{table}\nThe original test gave these requests/s: {said}; in the \
             order legacy, jsonrpsee, actix. Only ratios compare: two machines were used there, and branches of a \
             real validator answered from its block store; here {here}, and \
             every server reads the same ledger in memory. `just original` repeats it with what its figures say that \
             it ran on.\n"
        )
    })
}
