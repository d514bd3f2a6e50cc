//! The section on what memory a request in flight takes.

use super::Run;
use super::arms::{name, named, transport};
use super::charts::{self, Picture, Scales};
use super::format::{Table, bullets, bytes, count, dash, estimate, list, percent};
use super::held;
use crate::analysis::in_flight_memory::InFlightMemory;

/// The chart's file.
const FILE: &str = "in-flight-memory.svg";

/// A line for each server and request; empty where the campaign does not want to know it.
pub(super) fn headline(run: &Run) -> String {
    bullets(run.summary.in_flight_memory.iter().map(|of| {
        format!(
            "**{}**, {}: {} of memory for each request in flight.",
            run.label(&of.server),
            of.workload,
            dash(of.line.slope, |slope| estimate(slope, bytes))
        )
    }))
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
    let curves: Vec<_> = run
        .summary
        .in_flight_memory
        .iter()
        .map(|of| {
            let way = transport(run, &of.server).name();
            let panel = match in_flight(run, &of.server) {
                1 => format!("{}, {way}", of.workload),
                several => format!("{}, {way}, {} on a connection", of.workload, count(several.into())),
            };
            held::memory_curve(run, &of.server, panel, &of.line)
        })
        .collect();
    Some(Picture {
        file: FILE.to_owned(),
        alt: "A server's memory against requests in flight, with fitted lines".to_owned(),
        note: String::new(),
        chart: charts::curves(run, &curves, Scales::Linear, ["requests in flight", "memory, MiB"])?,
    })
}
