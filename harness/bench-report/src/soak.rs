//! The section on soaks: whether memory and latency stayed where they were through a long window.

use super::Run;
use super::format::{Table, bullets, bytes, count, dash, significant, time_us};
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
    let soaks = &run.summary.soaks;
    if soaks.is_empty() {
        return String::new();
    }
    let row = |soak: &Soak| {
        let [memory, p99] =
            [(soak.memory, signed(bytes)), (soak.p99, signed(time_us))].map(|(drift, unit)| {
                [
                    dash(drift, |drift| unit(drift.level)),
                    dash(drift, |drift| {
                        let ends = drift.per_hour.interval;
                        let [low, high] = ends
                            .map_or(["-".to_owned(), "-".to_owned()], |(low, high)| [low, high].map(&unit));
                        format!("{} [{low}, {high}]", unit(drift.per_hour.value))
                    }),
                    said(drift).to_owned(),
                ]
            });
        let server = [
            run.label(&soak.server).to_owned(),
            format!("{} at {}/s", soak.workload, count(soak.rate.into())),
        ];
        server.into_iter().chain(memory).chain(p99).chain([count(soak.failed)]).collect()
    };
    let headers =
        "server | request | memory | memory an hour | it is | p99 | p99 an hour | it is | failed requests";
    let table = Table::of(headers, 2, soaks.iter().map(row));
    format!(
        "## Soak\n\n{}\nA line through the means of twelve parts of the window, without its first tenth; the interval \
         is Student's. It stands for the change through the window: *flat* where the whole interval is within 2 % of \
         memory, or 20 % of p99; *growing* and *falling* where the whole interval is beyond that, but *one step* \
         where two levels fit the parts better than a line; otherwise inconclusive, and a longer soak may show \
         more.\n",
        table.markdown()
    )
}

/// A unit's words, also of what is below zero.
fn signed(unit: fn(f64) -> String) -> impl Fn(f64) -> String {
    move |value| if value < 0.0 { format!("-{}", unit(-value)) } else { unit(value) }
}
