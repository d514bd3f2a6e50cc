//! Connections in boxes: the memory of each server's group against the connections that it holds, a panel for each
//! transport and box.

use super::super::Run;
use super::super::arms;
use super::super::format::{bytes, thousands};
use super::series::style;
use super::{Axis, Chart, Key, Mark, Panel, Plot, Point, Row, Series, short};
use bench_analysis::boxed::{Boxed, is_fitted};

const MIB: f64 = 1024.0 * 1024.0;

/// The chart; `None` where nothing was held in a box.
pub(crate) fn chart(run: &Run) -> Option<Chart> {
    let boxed = &run.summary.boxed;
    boxed.first()?;
    let title = |of: &Boxed| {
        let transport = arms::transport(run, &of.server).name();
        format!("{transport}, a box of {}", bytes(of.memory_max_bytes as f64))
    };
    let mut titles: Vec<String> = boxed.iter().map(title).collect();
    titles.sort();
    titles.dedup();
    let panel = |wanted: &String| {
        let own = || boxed.iter().filter(|of| title(of) == *wanted);
        let lines = own().filter_map(|of| line(run, of));
        let limit = own().next().map(|of| of.memory_max_bytes as f64 / MIB);
        let series = lines.chain(own().map(|of| held(run, of))).chain(own().map(|of| killed(run, of)));
        Panel {
            title: wanted.clone(),
            series: series.collect(),
            level: limit,
            empty: "not measured",
            ..Panel::default()
        }
    };
    let mut servers: Vec<&str> = Vec::new();
    for of in boxed {
        let server = arms::name(run, &of.server);
        if !servers.contains(&server) {
            servers.push(server);
        }
    }
    let key = |server: &&str| {
        let label = arms::named(run, server).map_or(*server, |server| server.label());
        (Key::Line(style(run, server), 2.0, Mark::Full), label.to_owned())
    };
    let plot = Plot {
        title: String::new(),
        axes: [Axis::linear("connections", thousands), Axis::linear("group's memory, MiB", short)],
        panels: titles.iter().map(panel).collect(),
        columns: 2,
        height: 280.0,
    };
    Some(Chart { legend: servers.iter().map(key).collect(), rows: vec![Row::Plot(plot)], ..Chart::default() })
}

/// From no connections to the limit.
fn line(run: &Run, of: &Boxed) -> Option<Series> {
    let ((at_0, each), at) = of.line.zip(of.predicted)?;
    let points = [(0.0, at_0), (at.value, at_0 + each * at.value)].map(|(x, y)| (x, y / MIB));
    Some(Series::line(style(run, arms::name(run, &of.server)), 1.5, &points))
}

fn held(run: &Run, of: &Boxed) -> Series {
    let points = of.levels.iter().filter_map(|level| {
        let memory = level.memory_bytes?;
        let mark = if is_fitted(memory, of.memory_max_bytes) { Mark::Full } else { Mark::Hollow };
        Some(Point { x: level.connections.into(), y: memory / MIB, interval: None, mark })
    });
    Series { style: style(run, arms::name(run, &of.server)), width: 0.0, points: points.collect() }
}

/// Crossed on the limit.
fn killed(run: &Run, of: &Boxed) -> Series {
    let limit = of.memory_max_bytes as f64 / MIB;
    // More connections than the fewest say nothing more.
    let point = of.least_killed.map(|x| Point { x: x.into(), y: limit, interval: None, mark: Mark::Crossed });
    Series { style: style(run, arms::name(run, &of.server)), width: 0.0, points: point.into_iter().collect() }
}
