//! Measured points of servers against what was varied, a panel for each way to reach them, with straight lines where
//! they were fitted.

use super::super::Run;
use super::super::arms;
use super::super::format::thousands;
use super::series::style;
use super::{Axis, Chart, Key, Mark, Panel, Plot, Point, Row, Series};
use bench_stats::Estimate;

/// One server in one panel.
pub(crate) struct Curve {
    /// The panel's title.
    pub panel: String,
    /// The server, by name: its colour.
    pub server: String,
    /// By rising place.
    pub points: Vec<(f64, Estimate)>,
    /// The value at 0 and the rise of a line through them.
    pub fitted: Option<(f64, f64)>,
}

/// The chart; `None` where nothing was measured. `names` are those of the horizontal and the vertical axis.
pub(crate) fn curves(run: &Run, curves: &[Curve], names: [&str; 2]) -> Option<Chart> {
    curves.iter().find(|curve| !curve.points.is_empty())?;
    let mut titles: Vec<&str> = Vec::new();
    let mut servers: Vec<&str> = Vec::new();
    for curve in curves {
        if !titles.contains(&curve.panel.as_str()) {
            titles.push(&curve.panel);
        }
        if !servers.contains(&curve.server.as_str()) {
            servers.push(&curve.server);
        }
    }
    let panel = |title: &&str| {
        let here = || curves.iter().filter(|curve| curve.panel == *title);
        let lines = here().filter(|curve| curve.fitted.is_some());
        let lines = lines.map(|curve| Series::line(style(run, &curve.server), 2.0, &fitted(curve)));
        let points = here().map(|curve| measured(run, curve));
        let series = lines.chain(points).collect();
        Panel { title: (*title).to_owned(), series, empty: "not measured", ..Panel::default() }
    };
    let legend = servers.iter().map(|server| {
        let label = arms::named(run, server).map_or(*server, |server| server.label());
        (Key::Line(style(run, server), 2.0, Mark::Full), label.to_owned())
    });
    let plot = Plot {
        title: String::new(),
        axes: names.map(|name| Axis::linear(name, thousands)),
        panels: titles.iter().map(panel).collect(),
        columns: 2,
        height: 280.0,
    };
    Some(Chart { legend: legend.collect(), rows: vec![Row::Plot(plot)], ..Chart::default() })
}

/// The points; joined by a line where none was fitted.
fn measured(run: &Run, curve: &Curve) -> Series {
    let point =
        |(x, y): &(f64, Estimate)| Point { x: *x, y: y.value, interval: y.interval, mark: Mark::Full };
    let width = if curve.fitted.is_some() { 0.0 } else { 2.0 };
    Series { style: style(run, &curve.server), width, points: curve.points.iter().map(point).collect() }
}

fn fitted(curve: &Curve) -> Vec<(f64, f64)> {
    let Some((at_0, slope)) = curve.fitted else { return Vec::new() };
    let (Some((low, _)), Some((high, _))) = (curve.points.first(), curve.points.last()) else {
        return Vec::new();
    };
    [low, high].into_iter().map(|x| (*x, at_0 + slope * x)).collect()
}
