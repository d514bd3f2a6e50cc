//! The section on gateways: what a server in front of another one adds to each request.

use super::Run;
use super::format::{Table, at, bytes, count, dash, significant, time_us};
use super::tables::failed_requests;
use crate::analysis::Cell;
use crate::config::Server;
use crate::figure::Figure;

/// The whole section; empty where the run has no gateway.
pub(super) fn section(run: &Run) -> String {
    let gateways: Vec<&Server> = run.plan.servers.iter().filter(|server| server.upstream.is_some()).collect();
    if gateways.is_empty() {
        return String::new();
    }
    let is_compared = |server: &Server| gateways.iter().any(|gateway| is_direct(run, gateway, server));
    let rows = run.summary.cells.iter().filter_map(|cell| {
        let server = run.plan.servers.iter().find(|server| server.name == cell.server)?;
        (server.upstream.is_some() || is_compared(server)).then(|| row(run, server, cell))
    });
    let headers = "request | server | p50 | p99 | p50 above direct | p99 above direct | CPU µs/request | CPU µs/request behind it | \
                   peak memory | peak memory behind it | failed requests | trials";
    format!(
        "## What a gateway adds\n\nThe same requests to a server itself, and through a gateway in front of it. \"Above direct\" is the \
         difference of the two medians over trials; the server behind the gateway is started afresh for each trial too.\n\n{}",
        Table::of(headers, 2, rows).markdown()
    )
}

/// Whether a server is the one behind a gateway, reached as the gateway is.
fn is_direct(run: &Run, gateway: &Server, server: &Server) -> bool {
    let transport = |server: &Server| run.plan.environment_of(server).transport();
    let behind = gateway.upstream.as_ref().and_then(|upstream| upstream.entry.as_ref());
    behind.is_some_and(|behind| (&behind.program, &behind.args) == (&server.program, &server.args))
        && transport(gateway) == transport(server)
}

fn row(run: &Run, server: &Server, cell: &Cell) -> Vec<String> {
    let direct = run.plan.servers.iter().find(|direct| is_direct(run, server, direct));
    let direct = direct.and_then(|direct| run.summary.cell(&direct.name, &cell.workload, cell.level));
    let value = |cell: &Cell, figure: Figure| cell.figure(figure).map(|estimate| estimate.value);
    let above = |figure: Figure| {
        let added = value(cell, figure).zip(direct.and_then(|direct| value(direct, figure)));
        dash(added, |(through, direct)| {
            let sign = if through < direct { "-" } else { "+" };
            format!("{sign}{}", time_us((through - direct).abs()))
        })
    };
    let shown = |figure: Figure, write: fn(f64) -> String| dash(value(cell, figure), write);
    vec![
        at(&cell.workload, cell.level),
        run.label(&cell.server).to_owned(),
        shown(Figure::P50Us, time_us),
        shown(Figure::P99Us, time_us),
        above(Figure::P50Us),
        above(Figure::P99Us),
        shown(Figure::CpuUsPerRequest, significant),
        shown(Figure::UpstreamCpuUsPerRequest, significant),
        shown(Figure::PeakMemoryBytes, bytes),
        shown(Figure::UpstreamMemoryBytes, bytes),
        failed_requests(cell),
        count(cell.completed as u64),
    ]
}
