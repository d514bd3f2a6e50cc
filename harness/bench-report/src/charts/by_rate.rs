//! What servers use against the rate: a panel for each server, a row for each resource.

use super::super::Run;
use super::super::format::thousands;
use super::series;
use super::{Axis, Chart, Mark, Panel, Plot, Point, Row, Series, Style, short};
use bench_analysis::by_rate::{ByRate, RatePoint, Spread};

/// Panels side by side at most; more would leave no room for ticks.
const COLUMNS: usize = 4;

const MIB: f64 = 1024.0 * 1024.0;

/// What is drawn of a point, in the axis' unit.
type Value = fn(&RatePoint) -> Option<Spread>;

/// The chart; `None` without servers.
pub(crate) fn chart(run: &Run, servers: &[&ByRate]) -> Option<Chart> {
    servers.first()?;
    let rates = "requested requests/s";
    let of = |title: &str, axes: [Axis; 2], value: Value| {
        let panel = |of: &&ByRate| Panel {
            title: run.label(&of.server).to_owned(),
            series: vec![line(style(run, of), &of.points, value)],
            empty: "not read, or unavailable here",
            ..Panel::default()
        };
        let panels = servers.iter().map(panel).collect();
        Row::Plot(Plot { title: title.to_owned(), axes, panels, columns: COLUMNS, height: 170.0 })
    };
    let linear = |name: &str| Axis::linear(name, thousands);
    let rows = vec![
        of("CPU of the server", [linear(""), Axis::linear("cores", short)], |point| point.cores),
        of("resident memory of the server", [linear(rates), Axis::linear("MiB", short)], |point| {
            point.memory_bytes.map(|bytes| bytes.map(|bytes| bytes / MIB))
        }),
        of(
            "CPU time of the server for a request",
            [Axis::log(rates, thousands), Axis::linear("µs/request", short)],
            |point| point.cpu_us,
        ),
    ];
    let note =
        "Hollow: the rate was not held in every block. Vertical lines: lowest to highest block.".to_owned();
    Some(Chart { rows, note, ..Chart::default() })
}

/// A server's line: hollow marks where it did not hold the rate.
fn line(style: Style, points: &[RatePoint], value: Value) -> Series {
    let point = |point: &RatePoint| {
        let Spread { median, low, high } = value(point)?;
        let mark = if point.is_held() { Mark::Full } else { Mark::Hollow };
        // A single block has no range.
        let interval = (point.trials > 1).then_some((low, high));
        Some(Point { x: point.requested.into(), y: median, interval, mark })
    };
    Series { style, width: 2.0, points: points.iter().filter_map(point).collect() }
}

fn style(run: &Run, of: &ByRate) -> Style {
    // Each has a panel of its own, so a full mark can stand for a rate that was held also for a variant of a server.
    Style { variant: 0, ..series::style(run, &of.server) }
}
