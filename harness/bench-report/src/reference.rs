//! Where servers answer otherwise than their reference, of workloads that count it: a differential test.

use minijinja::{Value, context};
use serde::Serialize;

use super::Run;
use super::format::joined;
use super::templates::data;
use bench_core::observation::Differences;

/// What a server's answers to a workload were compared with, and what came of it.
#[derive(Serialize)]
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
pub(super) fn headline(run: &Run) -> Vec<Value> {
    let line = |of: Compared<'_>| {
        let places = of.differences.places.len();
        context! { differing => of.differences.differing, compared => of.differences.compared, places, ..data(of) }
    };
    compared(run).map(line).collect()
}

/// The places where answers differ, with those that they were compared with; none where no answer differs.
pub(super) fn places(run: &Run) -> Option<Value> {
    let found: Vec<Compared<'_>> = compared(run).collect();
    let places = found.iter().flat_map(|of| {
        of.differences.places.iter().map(|place| context! { server => of.server, place => data(place) })
    });
    let places: Vec<Value> = places.collect();
    (!places.is_empty()).then(|| context! { of => &*found[0].references, places })
}
