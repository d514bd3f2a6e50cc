//! Every trial of the searches for rates: the 99th percentile of latency against the rate, one panel a request. Whether
//! a trial met the service level is shown by the mark's filling, and the server by its shape, so that the chart can be
//! read without colours.

use super::super::Run;
use super::super::format::thousands;
use super::series::{legend, style};
use super::{Axis, Chart, Mark, NOTHING, Panel, Point as Drawn, Row, Series, time_tick};
use bench_analysis::slo::{Point, PointResult, SloSummary};

/// The chart; `None` where nothing was searched or no trial has a latency.
pub(crate) fn chart(run: &Run) -> Option<Chart> {
    let summary = run.summary.slo.as_ref()?;
    let mut points = summary.searches.iter().flat_map(|search| &search.points);
    points.find(|point| point.p99_us.is_some())?;
    let panels = run.measured_workloads().map(|workload| panel(run, summary, &workload.name)).collect();
    let axes = [
        Axis::log("requested rate, requests/s", thousands),
        Axis::log("p99 from the intended send", time_tick),
    ];
    let rows = vec![Row::plot(axes, panels, 2, 300.0)];
    Some(Chart { rows, legend: legend(run, 0.0), ..Chart::default() })
}

fn panel(run: &Run, summary: &SloSummary, workload: &str) -> Panel {
    let searches = summary.searches.iter().filter(|search| search.searched.workload == workload);
    let series = searches.flat_map(|search| {
        let style = style(run, &search.searched.server);
        let drawn = move |point: &Point| Some(Series::scattered(style, [drawn(summary, point)?]));
        search.points.iter().filter_map(drawn)
    });
    let title = format!("{workload}: p99 latency of each trial");
    Panel { level: Some(summary.slo.p99_ms as f64 * 1e3), ..Panel::new(title, series, NOTHING) }
}

/// A trial that has a latency.
fn drawn(summary: &SloSummary, point: &Point) -> Option<Drawn> {
    let is_short = point.duration_ms < summary.slo.final_trial_ms;
    let mark = match point.result {
        PointResult::Passed if is_short => Mark::Small,
        PointResult::Passed => Mark::Full,
        PointResult::Failed | PointResult::Nothing if is_short => Mark::SmallHollow,
        PointResult::Failed | PointResult::Nothing => Mark::Hollow,
        PointResult::ToolLimited => Mark::Crossed,
    };
    Some(Drawn::at(point.rate, point.p99_us.filter(|p99_us| *p99_us > 0.0)?, mark))
}
