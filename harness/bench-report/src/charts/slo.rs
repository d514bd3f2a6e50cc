//! Every trial of the searches for rates: the 99th percentile of latency against the rate, one panel a request. Whether
//! a trial met the service level is shown by the mark's filling, and the server by its shape, so that the chart can be
//! read without colours.

use super::super::Run;
use super::super::format::thousands;
use super::series::{legend, style};
use super::{Axis, Chart, Mark, Panel, Plot, Point as Drawn, Row, Series, Style, time_tick};
use bench_analysis::slo::{Point, PointResult, SloSummary};

/// A trial and its server's style.
type Placed<'a> = (Style, &'a Point);

/// The chart; `None` where nothing was searched or no trial has a latency.
pub(crate) fn chart(run: &Run) -> Option<Chart> {
    let summary = run.summary.slo.as_ref()?;
    let drawn = |point: &Point| point.p99_us.is_some();
    if !summary.searches.iter().any(|search| search.points.iter().any(drawn)) {
        return None;
    }
    let panels = run.measured_workloads().map(|workload| panel(run, summary, &workload.name)).collect();
    let axes = [
        Axis::log("requested rate, requests/s", thousands),
        Axis::log("p99 from the intended send", time_tick),
    ];
    let rows = vec![Row::Plot(Plot { title: String::new(), axes, panels, columns: 2, height: 300.0 })];
    Some(Chart { rows, legend: legend(run, 0.0), ..Chart::default() })
}

/// The trials of a workload that have a latency.
fn points<'a>(run: &Run, summary: &'a SloSummary, workload: &str) -> Vec<(Placed<'a>, (f64, f64))> {
    let searches = summary.searches.iter().filter(|search| search.searched.workload == workload);
    let of_search = searches.flat_map(|search| {
        let server = style(run, &search.searched.server);
        search.points.iter().map(move |point| (server, point))
    });
    let drawn = of_search.filter_map(|(server, point)| {
        let p99_us = point.p99_us.filter(|p99_us| *p99_us > 0.0)?;
        Some(((server, point), (f64::from(point.rate), p99_us)))
    });
    drawn.collect()
}

fn panel(run: &Run, summary: &SloSummary, workload: &str) -> Panel {
    let series = points(run, summary, workload).into_iter().map(|((style, point), (x, y))| {
        let is_short = point.duration_ms < summary.slo.final_trial_ms;
        let mark = match point.result {
            PointResult::Passed if is_short => Mark::Small,
            PointResult::Passed => Mark::Full,
            PointResult::Failed | PointResult::Nothing if is_short => Mark::SmallHollow,
            PointResult::Failed | PointResult::Nothing => Mark::Hollow,
            PointResult::ToolLimited => Mark::Crossed,
        };
        Series { style, width: 0.0, points: vec![Drawn { x, y, interval: None, mark }] }
    });
    Panel {
        title: format!("{workload}: p99 latency of each trial"),
        series: series.collect(),
        level: Some(summary.slo.p99_ms as f64 * 1e3),
        empty: "nothing was measured",
        ..Panel::default()
    }
}
