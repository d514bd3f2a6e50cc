//! Where servers answer otherwise than their reference, of workloads that count it: a differential test.

use super::Run;
use super::columns::Columns;
use super::format::{bullets, count, counted, joined, known};
use bench_model::observation::Differences;

/// What a server's answers to a workload were compared with, and what came of it.
struct Compared<'a> {
    server: &'a str,
    workload: &'a str,
    references: String,
    differences: Differences,
}

/// Every server and workload whose differences are counted, over all loads.
fn compared(run: &Run) -> impl Iterator<Item = Compared<'_>> {
    let servers = &run.plan.campaign.servers;
    let all =
        run.measured_workloads().flat_map(|workload| servers.iter().map(move |server| (workload, server)));
    all.filter_map(|(workload, server)| {
        let cells = run.summary.cells.iter();
        let own = cells.filter(|cell| cell.server == *server && cell.workload == workload.name);
        let differences = Differences::of_all(own.filter_map(|cell| cell.differences.as_ref()))?;
        let references = workload.counted_references();
        let references = joined(references.iter().map(|name| run.label(name)), " and ");
        Some(Compared { server: run.label(server), workload: &workload.name, references, differences })
    })
}

/// Whether answers were compared with a reference's, and differences only counted.
pub(super) fn is_counted(run: &Run) -> bool {
    run.summary.cells.iter().any(|cell| cell.differences.is_some())
}

/// How many answers differ, one line for each server and workload; empty where none are counted.
pub(super) fn headline(run: &Run) -> String {
    let lines = bullets(compared(run).map(|of| {
        let Differences { compared, differing, places } = &of.differences;
        let differ = match differing {
            0 => "none differs".to_owned(),
            some => format!("{} differ, at {}", count(*some), counted(places.len() as u64, "place")),
        };
        format!(
            "**{}**, {}: of {} answers, compared with those of {}, {differ}.",
            of.server,
            of.workload,
            count(*compared),
            of.references
        )
    }));
    if lines.is_empty() { lines } else { lines + "\n" }
}

/// The list of places; empty where no answer differs.
pub(super) fn section(run: &Run) -> String {
    let found: Vec<Compared<'_>> = compared(run).collect();
    let places = found.iter().flat_map(|of| of.differences.places.iter().map(|place| (of.server, place)));
    Columns::of(6, places)
        .column("server", |(server, _)| *server)
        .column("method", |(_, place)| code(&place.method))
        .column("where", |(_, place)| code(&place.pointer))
        .column("its value", |(_, place)| code(&place.here))
        .column("the reference's", |(_, place)| code(&place.there))
        .column("first request", |(_, place)| code(&place.request))
        .column("answers that differ", |(_, place)| count(place.answers))
        .within(|table| {
            format!(
                "## Where answers differ from those of {}\n\nBoth servers got each request at about the same time, \
                 before, in and after each window. A place is a JSON pointer, with `*` for any item of an array; the \
                 values are those of the first answer that differed there.\n\n{table}",
                known(found.first(), "", |of| of.references.clone())
            )
        })
}

/// A foreign text in a table.
fn code(text: &str) -> String {
    format!("`{}`", text.replace(['`', '|', '\n'], " "))
}
