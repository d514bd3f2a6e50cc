//! Gateways by rate: CPU and memory of each, and of the server behind it.

use super::super::Run;
use super::super::format::thousands;
use super::series::styles;
use super::{Axis, Chart, Key, Mark, Panel, Plot, Point, Row, Series, Style, short};
use bench_analysis::Cell;
use bench_model::config::Server;
use bench_model::figure::Figure;

/// Whose process is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Gateway,
    /// The server behind a gateway, or one that is reached directly.
    Behind,
}

/// What is drawn of a cell.
type Value = fn(&Cell, Part) -> Option<f64>;

/// The chart of a request; `None` where it was not sent at several rates, or no gateway was measured.
pub(crate) fn chart(run: &Run, workload: &str) -> Option<Chart> {
    let is_measured = |cell: &&Cell| cell.workload == workload && cell.level.rate.is_some();
    let cells: Vec<&Cell> = run.summary.cells.iter().filter(is_measured).collect();
    let mut rates: Vec<f64> = cells.iter().map(|cell| f64::from(cell.level.amount())).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let has_gateway = run.plan.servers.iter().any(|server| server.upstream.is_some());
    if rates.len() < 2 || !has_gateway {
        return None;
    }
    let shown: Vec<(&Server, Style)> = run
        .plan
        .servers
        .iter()
        .zip(styles(&run.plan.servers))
        .filter(|(server, _)| !run.plan.is_ceiling(&server.name))
        .collect();
    let plot = |what: &str, x: &str, y: Axis, value: Value| {
        let panel = |(part, name): (Part, &str)| Panel {
            title: format!("{name}: {what}"),
            series: shown.iter().filter_map(|server| series(&cells, *server, part, value)).collect(),
            empty: "not measured",
            ..Panel::default()
        };
        let x = Axis { name: x.to_owned(), ticks: rates.clone(), ..Axis::log("", thousands) };
        let panels = [(Part::Gateway, "gateway"), (Part::Behind, "server behind it")].map(panel).into();
        Row::Plot(Plot { title: String::new(), axes: [x, y], panels, columns: 2, height: 180.0 })
    };
    let rows = vec![
        plot("CPU", "", Axis::linear("cores", short), cores),
        plot("peak memory", "requests/s (log scale)", Axis::linear("MiB", short), memory_mib),
    ];
    let key =
        |(server, style): &(&Server, Style)| (Key::Line(*style, 2.0, Mark::Full), server.label().to_owned());
    Some(Chart { rows, legend: shown.iter().map(key).collect(), ..Chart::default() })
}

/// The line of a server; `None` of one that has no such part.
fn series(cells: &[&Cell], (server, style): (&Server, Style), part: Part, value: Value) -> Option<Series> {
    let is_gateway = server.upstream.is_some();
    if part == Part::Gateway && !is_gateway {
        return None;
    }
    // What is reached directly is what stands behind the others.
    let of = if is_gateway { part } else { Part::Gateway };
    let point = |cell: &&&Cell| {
        let y = value(cell, of)?;
        Some(Point { x: f64::from(cell.level.amount()), y, interval: None, mark: Mark::Full })
    };
    let own = cells.iter().filter(|cell| cell.server == server.name);
    let mut points: Vec<Point> = own.filter_map(|cell| point(&cell)).collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    Some(Series { style, width: 2.0, points })
}

/// Processors that a process used.
fn cores(cell: &Cell, part: Part) -> Option<f64> {
    let figure = |figure| Some(cell.figure(figure)?.value);
    match part {
        Part::Gateway => figure(Figure::ServerCores),
        // Its time for a request of the load, as many a second as were sent.
        Part::Behind => Some(figure(Figure::UpstreamCpuUsPerRequest)? * figure(Figure::AchievedRate)? / 1e6),
    }
}

fn memory_mib(cell: &Cell, part: Part) -> Option<f64> {
    let figure = match part {
        Part::Gateway => Figure::PeakMemoryBytes,
        Part::Behind => Figure::UpstreamMemoryBytes,
    };
    Some(cell.figure(figure)?.value / 1024.0 / 1024.0)
}
