//! The section on transports: what WebSocket saves or costs a server against HTTP, where a campaign compares the two.

use super::format::{Table, bytes, count, dash, known, load, ratio, time_us};
use super::{Run, duets};
use bench_analysis::{Comparison, Finding};
use bench_model::figure::Figure;
use bench_model::transport::Transport;

/// The comparisons of a server over WebSocket with itself over HTTP.
fn compared(run: &Run) -> impl Iterator<Item = &Comparison> {
    let is_over = |name: &str, transport: Transport| {
        let server = run.plan.servers.iter().find(|server| server.name == name);
        server.is_some_and(|server| run.plan.environment_of(server).transport() == transport)
    };
    run.summary.comparisons.iter().filter(move |pair| {
        is_over(&pair.server, Transport::WebSocket) && is_over(&pair.over, Transport::Http)
    })
}

/// A ratio with its interval, bold where it is decided that the two differ.
fn judged(finding: &Finding) -> String {
    let text = ratio(finding.ratio);
    if finding.verdict.claims_difference() { format!("**{text}**") } else { text }
}

/// The whole section; empty where no server is compared with itself over another transport.
pub(super) fn section(run: &Run) -> String {
    let rows: Vec<Vec<String>> = compared(run).map(|pair| row(run, pair)).collect();
    let Some(first) = compared(run).next() else { return String::new() };
    let rate = if first.level.rate.is_some() { "sent" } else { "requests/s" };
    // One after the other on all cores too, where both ran at the same time on one.
    let cpu = if run.duets.is_some() {
        "CPU per request on one core | CPU per request on all cores"
    } else {
        "CPU per request"
    };
    let headers = format!(
        "server | request | {cpu} | {rate} | p99 | p99 of HTTP | of WebSocket | memory per connection of HTTP | of \
         WebSocket | blocks"
    );
    let side_by_side = known(run.duets.as_ref(), "", |duets| {
        let each = known(duets.plan.levels().first().copied(), "-", load);
        format!(
            " CPU per request on one core is of both at the same time, at {each} each; on all cores it is of one \
             after the other."
        )
    });
    format!(
        "## WebSocket over HTTP\n\nEach ratio is a server's figure over WebSocket, divided by its own over HTTP, at \
         {} and by the same load tool; below 1, WebSocket takes less. In bold: the difference is \
         decided.{side_by_side} The ratio of p99s is not judged. Memory per connection is the growth of the server's \
         memory from its start to its peak, divided by the connections held.\n\n{}",
        load(first.level),
        Table::of(&headers, 2, rows).markdown()
    )
}

/// The server; where it is compared over WebSocket in several ways, with which one it is.
fn row_name(run: &Run, pair: &Comparison) -> String {
    let is_another = |other: &&Comparison| {
        (&other.over, &other.workload, other.level) == (&pair.over, &pair.workload, pair.level)
    };
    let ways = compared(run).filter(is_another).count();
    if ways > 1 { run.label(&pair.server).to_owned() } else { pair.over.clone() }
}

fn row(run: &Run, pair: &Comparison) -> Vec<String> {
    let on_one_core = run.duets.as_ref().map(|duets| {
        dash(duets::of(duets, &pair.server, &pair.over, &pair.workload), |duet| judged(&duet.cpu))
    });
    let cell = |server: &str| run.summary.cell(server, &pair.workload, pair.level);
    let of = |server: &str, figure: Figure, write: fn(f64) -> String| {
        dash(cell(server).and_then(|cell| cell.figure(figure)), |estimate| write(estimate.value))
    };
    let names = [row_name(run, pair), pair.workload.clone()];
    let figures = [
        judged(&pair.cpu),
        judged(&pair.rate),
        dash(pair.p99_ratio, ratio),
        of(&pair.over, Figure::P99Us, time_us),
        of(&pair.server, Figure::P99Us, time_us),
        of(&pair.over, Figure::ConnectionMemoryBytes, bytes),
        of(&pair.server, Figure::ConnectionMemoryBytes, bytes),
        count(pair.rate.blocks as u64),
    ];
    names.into_iter().chain(on_one_core).chain(figures).collect()
}
