//! Measured points of servers against what was varied, a panel for each way to reach them, with straight lines where
//! they were fitted.

use super::super::Run;
use super::super::arms;
use super::super::format::{bytes, thousands};
use super::series::style;
use super::{Axis, Chart, Key, Mark, Panel, Plot, Point, Row, Series, time_tick};
use bench_stats::Estimate;

/// Points that a fitted line, which is a curve on logarithmic axes, is drawn through.
const STEPS: u32 = 60;

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

/// What the axes show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scales {
    /// Numbers and times, both logarithmic.
    Log,
    /// Bytes and times, both logarithmic.
    LogBytes,
    /// Numbers, both linear.
    Linear,
}

/// The chart; `None` where nothing was measured. `names` are those of the horizontal and the vertical axis.
pub(crate) fn curves(run: &Run, curves: &[Curve], scales: Scales, names: [&str; 2]) -> Option<Chart> {
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
        axes: axes(scales, names, curves),
        panels: titles.iter().map(panel).collect(),
        columns: 2,
        height: 280.0,
    };
    Some(Chart { legend: legend.collect(), rows: vec![Row::Plot(plot)], ..Chart::default() })
}

fn axes(scales: Scales, [x, y]: [&str; 2], curves: &[Curve]) -> [Axis; 2] {
    let mut ticks: Vec<f64> = curves.iter().flat_map(|curve| &curve.points).map(|(x, _)| *x).collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    match scales {
        Scales::Log => [Axis { ticks, ..Axis::log(x, thousands) }, Axis::log(y, time_tick)],
        Scales::LogBytes => [Axis { ticks, ..Axis::log(x, bytes) }, Axis::log(y, time_tick)],
        Scales::Linear => [Axis::linear(x, thousands), Axis::linear(y, thousands)],
    }
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
    let at = |step: u32| {
        let x = low * (high / low).powf(f64::from(step) / f64::from(STEPS));
        (x, at_0 + slope * x)
    };
    (0..=STEPS).map(at).filter(|(_, y)| *y > 0.0).collect()
}
