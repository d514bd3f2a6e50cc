//! Every trial of the searches: the latency that decides against the load, one panel a request. Whether a trial passed
//! is shown by the mark's filling, and the server by its shape, so that the chart can be read without colours.

use super::super::Run;
use super::super::format::thousands;
use super::series::{legend, style};
use super::{Axis, Chart, Mark, NOTHING, Panel, Point as Drawn, Row, Series, time_tick};
use bench_core::search::{Point, Searches};

/// The chart; `None` where nothing was searched or no trial has a latency.
pub(crate) fn chart(run: &Run) -> Option<Chart> {
    let summary = run.summary.search.as_ref()?;
    let mut points = summary.searches.iter().flat_map(|search| &search.points);
    points.find(|point| point.latency_us.is_some())?;
    let axes = match summary.search.service_level() {
        None => ["connections", "slowest request"],
        Some(_) => ["requested rate, requests/s", "p99 from the intended send"],
    };
    let axes = [Axis::log(axes[0], thousands), Axis::log(axes[1], time_tick)];
    let panels = run.measured_workloads().map(|workload| panel(run, summary, &workload.name)).collect();
    let rows = vec![Row::plot(axes, panels, 2, 300.0)];
    Some(Chart { rows, legend: legend(run, 0.0), ..Chart::default() })
}

fn panel(run: &Run, summary: &Searches, workload: &str) -> Panel {
    let searches = summary.searches.iter().filter(|search| search.searched.workload == workload);
    let series = searches.flat_map(|search| {
        let style = style(run, &search.searched.server);
        search
            .points
            .iter()
            .filter_map(move |point| Some(Series { style, width: 0.0, points: vec![drawn(point)?] }))
    });
    let (what, limit_ms) = match summary.search.service_level() {
        None => ("slowest request", summary.timeout_ms),
        Some(level) => ("p99 latency", level.p99_ms),
    };
    let title = format!("{workload}: {what} of each trial");
    Panel { level: Some(limit_ms as f64 * 1e3), ..Panel::new(title, series, NOTHING) }
}

/// A trial that has a latency.
fn drawn(point: &Point) -> Option<Drawn> {
    let mark = match (point.passed, point.is_short) {
        _ if point.not_reached => Mark::Crossed,
        (Some(true), true) => Mark::Small,
        (Some(true), false) => Mark::Full,
        (_, true) => Mark::SmallHollow,
        (_, false) => Mark::Hollow,
    };
    Some(Drawn::at(point.at, point.latency_us.filter(|latency_us| *latency_us > 0.0)?, mark))
}
