//! Connections in boxes: the memory of each server's group against the connections that it holds, a panel for each
//! transport and box.

use super::super::Run;
use super::super::boxed::transport;
use super::super::format::{bytes, thousands};
use super::series::style;
use super::{Axis, Chart, Key, Mark, Panel, Plot, Point, Row, Series, Style, short};
use bench_analysis::boxed::{Boxed, is_fitted};

const MIB: f64 = 1024.0 * 1024.0;

/// The chart; `None` where nothing was held in a box.
pub(crate) fn chart(run: &Run) -> Option<Chart> {
    let boxed = &run.summary.boxed;
    boxed.first()?;
    let title = |of: &Boxed| {
        let transport = transport(run, &of.server).name();
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
        let server = run.plan.campaign.entry_of(&of.server);
        if !servers.contains(&server) {
            servers.push(server);
        }
    }
    let key =
        |server: &&str| (Key::Line(style_of(run, server), 2.0, Mark::Full), run.plan.label_of_entry(server));
    let plot = Plot {
        title: String::new(),
        axes: [Axis::linear("connections", thousands), Axis::linear("group's memory, MiB", short)],
        panels: titles.iter().map(panel).collect(),
        columns: 2,
        height: 280.0,
    };
    Some(Chart { legend: servers.iter().map(key).collect(), rows: vec![Row::Plot(plot)], ..Chart::default() })
}

/// The style of a server, by its name or that of one of its arms: it is the same in each panel.
fn style_of(run: &Run, server: &str) -> Style {
    let entry = |name| run.plan.campaign.entry_of(name);
    let first = run.plan.servers.iter().find(|known| entry(&known.name) == entry(server));
    style(run, first.map_or(server, |first| &first.name))
}

/// From no connections to the limit.
fn line(run: &Run, of: &Boxed) -> Option<Series> {
    let ((at_0, each), at) = of.line.zip(of.predicted)?;
    let points = [(0.0, at_0), (at.value, at_0 + each * at.value)].map(|(x, y)| (x, y / MIB));
    Some(Series::line(style_of(run, &of.server), 1.5, &points))
}

fn held(run: &Run, of: &Boxed) -> Series {
    let points = of.levels.iter().filter_map(|level| {
        let memory = level.memory_bytes?;
        let mark = if is_fitted(memory, of.memory_max_bytes) { Mark::Full } else { Mark::Hollow };
        Some(Point { x: level.connections.into(), y: memory / MIB, interval: None, mark })
    });
    Series { style: style_of(run, &of.server), width: 0.0, points: points.collect() }
}

/// Crossed on the limit.
fn killed(run: &Run, of: &Boxed) -> Series {
    let limit = of.memory_max_bytes as f64 / MIB;
    // More connections than the fewest say nothing more.
    let point = of.least_killed.map(|x| Point { x: x.into(), y: limit, interval: None, mark: Mark::Crossed });
    Series { style: style_of(run, &of.server), width: 0.0, points: point.into_iter().collect() }
}
