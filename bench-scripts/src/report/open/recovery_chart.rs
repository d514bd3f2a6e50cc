//! p99 through the window, around an overload: one panel a workload, one line a server.

use anyhow::Result;
use plotters::prelude::*;

use super::super::Run;
use super::super::chart::{
    ALL_KEY_POINTS, Area, COLOURS, Frame, GRID, broken, by_workload, draw_marker, say, ticks, time_tick,
};
use super::super::format::{at, thousands};
use super::super::series::styles;

const PANEL: (u32, u32) = (1_000, 420);
/// About as many markers on a line; more would hide it.
const MARKERS: usize = 10;

/// Draws the chart; `None` where no recovery was measured.
pub(in crate::report) fn svg(run: &Run) -> Result<Option<String>> {
    if run.summary.recovery.is_empty() {
        return Ok(None);
    }
    by_workload(run, PANEL, |workload, area| panel(run, workload, area)).map(Some)
}

/// A server's p99 through the window.
fn line(run: &Run, server: &str, workload: &str) -> Vec<(f64, f64)> {
    let found =
        run.summary.recovery.iter().find(|found| found.workload == workload && found.server == server);
    let cell = found.and_then(|found| run.summary.cell(server, workload, found.level));
    cell.map_or_else(Vec::new, |cell| {
        cell.latency.iter().map(|moment| (moment.t_ms, moment.p99_us)).collect()
    })
}

fn panel(run: &Run, workload: &str, area: &Area<'_>) -> Result<()> {
    let lines: Vec<Vec<(f64, f64)>> =
        run.plan.servers.iter().map(|server| line(run, &server.name, workload)).collect();
    let heights = || lines.iter().flatten().map(|(_, us)| *us).filter(|us| *us > 0.0);
    let ends = heights().min_by(f64::total_cmp).zip(heights().max_by(f64::total_cmp));
    let (Some((low, high)), Some(first)) =
        (ends, run.summary.recovery.iter().find(|found| found.workload == workload))
    else {
        return say(area, &format!("{workload}: latency was not measured"));
    };
    let (low, high) = (low / 1.3, high * 1.3);
    let caption = format!("{}: p99 from the intended send", at(workload, first.level));
    let frame = Frame {
        caption,
        names: ["time in the window, ms", "latency (log scale)"],
        ticks: [&thousands, &time_tick],
        labels: [12, ALL_KEY_POINTS],
        is_small: false,
    };
    let mut chart = frame.draw(
        area,
        0.0..run.plan.campaign.window_ms as f64,
        (low..high).log_scale().with_key_points(ticks(low, high)),
    )?;
    let background = run.plan.campaign.open.as_ref().and_then(|open| open.background.as_ref());
    if let Some((background, for_ms)) = background.and_then(|other| Some((other, other.for_ms?))) {
        let (from, to) = (background.from_ms as f64, (background.from_ms + for_ms) as f64);
        let overload = Rectangle::new([(from, low), (to, high)], GRID.mix(0.35).filled());
        chart.plotting_area().draw(&overload).map_err(broken)?;
    }
    let (left, top) = area.get_base_pixel();
    let styles = styles(&run.plan.servers);
    for ((index, line), style) in lines.iter().enumerate().zip(styles) {
        let colour = COLOURS[style % COLOURS.len()];
        chart.draw_series(LineSeries::new(line.iter().copied(), colour.stroke_width(2))).map_err(broken)?;
        let every = (line.len() / MARKERS).max(lines.len());
        for point in line.iter().skip(index * every / lines.len()).step_by(every) {
            let (x, y) = chart.backend_coord(point);
            draw_marker(area, style, (x - left, y - top), colour)?;
        }
    }
    Ok(())
}
