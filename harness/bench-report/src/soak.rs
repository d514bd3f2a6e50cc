//! The section on soaks: whether memory and latency stayed where they were through a long window.

use super::Run;
use super::columns::Columns;
use super::format::{bullets, bytes, count, dash, estimate, significant, time_us};
use bench_analysis::soak::{Course, Drift, Soak};

/// A line for each server; empty where the run has no soak.
pub(super) fn headline(run: &Run) -> String {
    bullets(run.summary.soaks.iter().map(|soak| {
        format!(
            "**{}**, {} at {}/s for {} minutes: memory {}, p99 {}; {} failed requests.",
            run.label(&soak.server),
            soak.workload,
            count(soak.rate.into()),
            significant(soak.minutes),
            said(soak.memory),
            said(soak.p99),
            count(soak.failed)
        )
    }))
}

fn said(drift: Option<Drift>) -> &'static str {
    match drift.map(|drift| drift.course) {
        Some(Course::Flat) => "flat",
        Some(Course::Growing) => "**growing**",
        Some(Course::Falling) => "falling",
        Some(Course::Step) => "one step",
        Some(Course::Inconclusive) => "inconclusive",
        None => "not known",
    }
}

/// The whole section; empty where the run has no soak.
pub(super) fn section(run: &Run) -> String {
    let table = Columns::of(2, &run.summary.soaks)
        .column("server", |soak| run.label(&soak.server))
        .column("request", |soak| format!("{} at {}/s", soak.workload, count(soak.rate.into())));
    let table = drift(table, "memory", |soak| soak.memory, bytes);
    let table = drift(table, "p99", |soak| soak.p99, time_us);
    table.column("failed requests", |soak| count(soak.failed)).within(|table| {
        format!(
            "## Soak\n\n{table}\nA line through the means of twelve parts of the window, without its first tenth; the \
             interval is Student's. It stands for the change through the window: *flat* where the whole interval is \
             within 2 % of memory, or 20 % of p99; *growing* and *falling* where the whole interval is beyond that, \
             but *one step* where two levels fit the parts better than a line; otherwise inconclusive, and a longer \
             soak may show more.\n"
        )
    })
}

/// The columns of a figure's change.
fn drift<'a>(
    table: Columns<&'a Soak>,
    figure: &str,
    of: fn(&Soak) -> Option<Drift>,
    unit: fn(f64) -> String,
) -> Columns<&'a Soak> {
    // The units are of what is above zero.
    let signed = |value: f64| if value < 0.0 { format!("-{}", unit(-value)) } else { unit(value) };
    table
        .column(figure, |soak| dash(of(soak), |drift| signed(drift.level)))
        .column(format!("{figure} an hour"), |soak| dash(of(soak), |drift| estimate(drift.per_hour, signed)))
        .column("it is", |soak| said(of(soak)))
}
