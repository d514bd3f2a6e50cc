//! Connections in boxes: the memory of each server's group against the connections that it holds, a panel for each
//! transport and box.

use std::collections::BTreeSet;

use super::super::Run;
use super::super::boxed::transport;
use super::super::format::{bytes, distinct, thousands};
use super::series::style;
use super::{Axis, Chart, Key, Mark, Panel, Point, Row, Series, Style, short};
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
    let titles: BTreeSet<String> = boxed.iter().map(title).collect();
    let panel = |wanted: &String| {
        let own = || boxed.iter().filter(|of| title(of) == *wanted);
        let lines = own().filter_map(|of| line(run, of));
        let level = own().next().map(|of| of.memory_max_bytes as f64 / MIB);
        let series = lines.chain(own().map(|of| held(run, of))).chain(own().map(|of| killed(run, of)));
        Panel { level, ..Panel::new(wanted.clone(), series, "not measured") }
    };
    let servers = distinct(boxed.iter().map(|of| run.plan.campaign.entry_of(&of.server)));
    let key =
        |server: &&str| (Key::Line(style_of(run, server), 2.0, Mark::Full), run.plan.label_of_entry(server));
    let axes = [Axis::linear("connections", thousands), Axis::linear("group's memory, MiB", short)];
    let rows = vec![Row::plot(axes, titles.iter().map(panel).collect(), 2, 280.0)];
    Some(Chart { legend: servers.iter().map(key).collect(), rows, ..Chart::default() })
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
        Some(Point::at(level.connections, memory / MIB, mark))
    });
    Series::scattered(style_of(run, &of.server), points)
}

/// Crossed on the limit.
fn killed(run: &Run, of: &Boxed) -> Series {
    let limit = of.memory_max_bytes as f64 / MIB;
    // More connections than the fewest say nothing more.
    let point = of.least_killed.map(|connections| Point::at(connections, limit, Mark::Crossed));
    Series::scattered(style_of(run, &of.server), point)
}
