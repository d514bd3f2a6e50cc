//! Where servers answer otherwise than their reference, of workloads that count it: a differential test.

use super::Run;
use super::format::{Table, bullets, count};
use bench_model::observation::{Difference, Differences};
use bench_model::workload::Workload;

/// What a server's answers to a workload were compared with, and what came of it.
struct Compared<'a> {
    server: &'a str,
    workload: &'a str,
    references: String,
    differences: Differences,
}

/// Every server and workload whose differences are counted, over all loads.
fn compared(run: &Run) -> Vec<Compared<'_>> {
    let mut found = Vec::new();
    for workload in run.measured_workloads() {
        for server in &run.plan.campaign.servers {
            let cells = run.summary.cells.iter();
            let own = cells.filter(|cell| cell.server == *server && cell.workload == workload.name);
            let Some(differences) = Differences::of_all(own.filter_map(|cell| cell.differences.as_ref()))
            else {
                continue;
            };
            let references = references(run, workload);
            found.push(Compared {
                server: run.label(server),
                workload: &workload.name,
                references,
                differences,
            });
        }
    }
    found
}

fn references(run: &Run, workload: &Workload) -> String {
    let names = workload.counted_references();
    names.iter().map(|name| run.label(name)).collect::<Vec<_>>().join(" and ")
}

/// Whether answers were compared with a reference's, and differences only counted.
pub(super) fn is_counted(run: &Run) -> bool {
    run.summary.cells.iter().any(|cell| cell.differences.is_some())
}

/// How many answers differ, one line for each server and workload; empty where none are counted.
pub(super) fn headline(run: &Run) -> String {
    let line = |of: &Compared<'_>| {
        let Differences { compared, differing, places } = &of.differences;
        let place = if places.len() == 1 { "place" } else { "places" };
        let differ = match differing {
            0 => "none differs".to_owned(),
            some => format!("{} differ, at {} {place}", count(*some), count(places.len() as u64)),
        };
        format!(
            "**{}**, {}: of {} answers, compared with those of {}, {differ}.",
            of.server,
            of.workload,
            count(*compared),
            of.references
        )
    };
    let lines: Vec<String> = compared(run).iter().map(line).collect();
    if lines.is_empty() { String::new() } else { format!("{}\n", bullets(lines)) }
}

/// The list of places; empty where no answer differs.
pub(super) fn section(run: &Run) -> String {
    let found = compared(run);
    let rows = found.iter().flat_map(|of| {
        let row = |place: &Difference| {
            vec![
                of.server.to_owned(),
                code(&place.method),
                code(&place.pointer),
                code(&place.here),
                code(&place.there),
                code(&place.request),
                count(place.answers),
            ]
        };
        of.differences.places.iter().map(row).collect::<Vec<_>>()
    });
    let table = Table::of(
        "server | method | where | its value | the reference's | first request | answers that differ",
        6,
        rows,
    );
    if table.is_empty() {
        return String::new();
    }
    let references: Vec<&str> = found.iter().map(|of| of.references.as_str()).collect();
    let first = references.first().copied().unwrap_or_default();
    format!(
        "## Where answers differ from those of {first}\n\nBoth servers got each request at about the same time, \
         before, in and after each window. A place is a JSON pointer, with `*` for any item of an array; the values \
         are those of the first answer that differed there.\n\n{}",
        table.markdown()
    )
}

/// A foreign text in a table.
fn code(text: &str) -> String {
    format!("`{}`", text.replace(['`', '|', '\n'], " "))
}
