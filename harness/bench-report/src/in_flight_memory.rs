//! The section on what memory a request in flight takes.

use std::collections::BTreeSet;

use super::Run;
use super::arms::{name, named, transport};
use super::charts::{self, Picture, Scales};
use super::format::{Table, bytes, count, dash, estimate, list, percent};
use super::idle_connections;
use bench_analysis::in_flight_memory::InFlightMemory;

/// The chart's file.
const FILE: &str = "in-flight-memory.svg";

/// The largest distance of a line from a point above which the first screen states it.
const FAR: f64 = 0.1;

/// A row for each server and a column for each request and way to send it; empty where the campaign does not want to
/// know it.
pub(super) fn headline(run: &Run) -> String {
    let found = &run.summary.in_flight_memory;
    let mut ways: Vec<String> = found.iter().map(|of| way(run, of)).collect();
    let mut servers: Vec<&str> = found.iter().map(|of| name(run, &of.server)).collect();
    distinct(&mut ways);
    distinct(&mut servers);
    if servers.is_empty() {
        return String::new();
    }
    let row = |server: &&str| {
        let cell = |wanted: &String| {
            let of = found.iter().find(|of| name(run, &of.server) == *server && way(run, of) == *wanted);
            dash(of.and_then(|of| Some((of.line.slope?, of.line.misfit?))), |(slope, misfit)| {
                let far = if misfit > FAR {
                    format!("; the line is up to {} off", percent(misfit))
                } else {
                    String::new()
                };
                estimate(slope, bytes) + &far
            })
        };
        std::iter::once(run.label(server).to_owned()).chain(ways.iter().map(cell)).collect()
    };
    let table = Table::of(&format!("server | {}", ways.join(" | ")), 1, servers.iter().map(row));
    format!(
        "Memory of the server for each request in flight, with a 95 % interval. One on a connection: the connection is in the figure.\n\n{}",
        table.markdown()
    )
}

/// Each value once, where it stands first.
fn distinct<T: Clone + Ord>(values: &mut Vec<T>) {
    let mut seen = BTreeSet::new();
    values.retain(|value| seen.insert(value.clone()));
}

/// A request and the way in which it is sent.
fn way(run: &Run, of: &InFlightMemory) -> String {
    let on_each = count(in_flight(run, &of.server).into());
    format!("{} over {}, {on_each} on a connection", of.workload, transport(run, &of.server).name())
}

/// The whole section; empty likewise.
pub(super) fn section(run: &Run) -> String {
    let found = &run.summary.in_flight_memory;
    let Some(first) = found.first() else { return String::new() };
    let numbers = list(first.line.points.iter().map(|point| count(point.x as u64)));
    let headers = "server | transport | in flight on a connection | request | memory for a request in flight | memory without any, by the line | \
                   largest distance from the line | blocks";
    let rows = found.iter().map(|of| row(run, of));
    let picture = chart(run).map_or_else(String::new, |picture| picture.markdown() + "\n");
    format!(
        "## Memory for a request in flight\n\n{numbers} requests in flight, each number on a server of its own that was started for it. Memory is the server's \
         resident memory at its highest in a window; what the kernel holds for a connection is not in it. In flight is all between a request that the load tool \
         sent and its answer: most of it waits. A connection has its share in the figure: all of one where a connection carries a single request. A \
         line goes through the memory by relative error in each block: its rise is the memory for a request, as a median over blocks with a 95 % interval. A \
         line that is far from its points does not describe the server, so the distance is stated.\n\n{picture}{}",
        Table::of(headers, 4, rows).markdown()
    )
}

fn in_flight(run: &Run, server: &str) -> u32 {
    named(run, server).map_or(1, |server| run.plan.environment_of(server).in_flight())
}

fn row(run: &Run, of: &InFlightMemory) -> Vec<String> {
    let line = &of.line;
    let names = [
        name(run, &of.server).to_owned(),
        transport(run, &of.server).name().to_owned(),
        count(in_flight(run, &of.server).into()),
        of.workload.clone(),
    ];
    let sizes = [line.slope, line.intercept].map(|size| dash(size, |size| estimate(size, bytes)));
    let ends = [dash(line.misfit, percent), line.blocks.to_string()];
    names.into_iter().chain(sizes).chain(ends).collect()
}

/// A server's memory against requests in flight, a panel for each request and way to send it.
pub(super) fn chart(run: &Run) -> Option<Picture> {
    let found = run.summary.in_flight_memory.iter();
    let curves: Vec<_> =
        found.map(|of| idle_connections::memory_curve(run, &of.server, way(run, of), &of.line)).collect();
    Some(Picture {
        file: FILE.to_owned(),
        alt: "A server's memory against requests in flight, with fitted lines".to_owned(),
        note: String::new(),
        chart: charts::curves(run, &curves, Scales::Linear, ["requests in flight", "memory, MiB"])?,
    })
}
