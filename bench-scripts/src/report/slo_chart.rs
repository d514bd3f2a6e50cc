//! Every trial of the searches for rates: the 99th percentile of latency against the rate, one panel a request. Whether a trial met the
//! service level is shown by the mark's filling, and the server by its shape, so that the chart can be read without colours.

use anyhow::Result;
use plotters::prelude::*;

use super::Run;
use super::chart::{
    ALL_KEY_POINTS, Area, COLOURS, Frame, INK, SHAPES, beside, broken, by_workload, draw_marker, say, ticks,
    time_tick,
};
use super::format::thousands;
use super::series::styles;
use crate::analysis::slo::{Point, PointResult, SloSummary};

const PANEL: (u32, u32) = (560, 420);

/// A trial and the place of its server among the run's.
type Placed<'a> = (usize, &'a Point);

/// Draws the chart; `None` where nothing was searched or no trial has a latency.
pub(super) fn svg(run: &Run) -> Result<Option<String>> {
    let Some(summary) = &run.summary.slo else { return Ok(None) };
    let drawn = |point: &Point| point.p99_us.is_some();
    if !summary.searches.iter().any(|search| search.points.iter().any(drawn)) {
        return Ok(None);
    }
    by_workload(run, PANEL, |workload, area| panel(run, summary, workload, area)).map(Some)
}

/// The trials of a workload that have a latency.
fn points<'a>(run: &Run, summary: &'a SloSummary, workload: &str) -> Vec<(Placed<'a>, (f64, f64))> {
    let styles = styles(&run.plan.servers);
    let place = |server: &str| {
        run.plan.servers.iter().position(|known| known.name == server).map_or(0, |place| styles[place])
    };
    let searches = summary.searches.iter().filter(|search| search.searched.workload == workload);
    let of_search = searches.flat_map(|search| {
        let server = place(&search.searched.server);
        search.points.iter().map(move |point| (server, point))
    });
    let drawn = of_search.filter_map(|(server, point)| {
        let p99_us = point.p99_us.filter(|p99_us| *p99_us > 0.0)?;
        Some(((server, point), (f64::from(point.rate), p99_us)))
    });
    drawn.collect()
}

fn panel(run: &Run, summary: &SloSummary, workload: &str, area: &Area<'_>) -> Result<()> {
    let points = points(run, summary, workload);
    let limit_us = summary.slo.p99_ms as f64 * 1e3;
    let extent = |of: fn(&(f64, f64)) -> f64| {
        let values = || points.iter().map(|(_, at)| of(at));
        values().min_by(f64::total_cmp).zip(values().max_by(f64::total_cmp))
    };
    let (Some((x_low, x_high)), Some((y_low, y_high))) = (extent(|at| at.0), extent(|at| at.1)) else {
        return say(area, &format!("{workload}: nothing was measured"));
    };
    let (x_low, x_high) = (x_low / 1.2, x_high * 1.2);
    let (y_low, y_high) = (y_low.min(limit_us) / 1.5, y_high.max(limit_us) * 1.5);
    let frame = Frame {
        caption: format!("{workload}: p99 latency of each trial"),
        names: ["requested rate, requests/s (log scale)", "p99 from the intended send (log scale)"],
        ticks: [&thousands, &time_tick],
        labels: [ALL_KEY_POINTS; 2],
        is_small: false,
    };
    let chart = frame.draw(
        area,
        (x_low..x_high).log_scale().with_key_points(ticks(x_low, x_high)),
        (y_low..y_high).log_scale().with_key_points(ticks(y_low, y_high)),
    )?;
    let limit = PathElement::new(vec![(x_low, limit_us), (x_high, limit_us)], INK.stroke_width(1));
    chart.plotting_area().draw(&limit).map_err(broken)?;
    let (left, top) = area.get_base_pixel();
    for ((server, point), at) in &points {
        let (x, y) = chart.backend_coord(&(at.0 * beside(*server, COLOURS.len()), at.1));
        let is_short = point.duration_ms < summary.slo.final_trial_ms;
        draw_point(area, *server, point.result, is_short, (x - left, y - top))?;
    }
    Ok(())
}

/// A trial's mark around a pixel.
fn draw_point(
    area: &Area<'_>,
    server: usize,
    result: PointResult,
    is_short: bool,
    at: (i32, i32),
) -> Result<()> {
    let colour = COLOURS[server % COLOURS.len()];
    match result {
        PointResult::Passed if !is_short => draw_marker(area, server, at, colour),
        PointResult::Passed => draw_outline(area, server, at, 3, colour.filled()),
        PointResult::Failed | PointResult::Nothing => {
            draw_outline(area, server, at, if is_short { 3 } else { 5 }, colour.stroke_width(1))
        }
        PointResult::ToolLimited => {
            let (x, y) = at;
            draw_outline(area, server, at, 5, colour.stroke_width(1))?;
            for ends in [[(x - 7, y - 7), (x + 7, y + 7)], [(x - 7, y + 7), (x + 7, y - 7)]] {
                area.draw(&PathElement::new(ends.to_vec(), colour.stroke_width(1))).map_err(broken)?;
            }
            Ok(())
        }
    }
}

/// A server's shape of a size, filled or as an outline.
fn draw_outline(
    area: &Area<'_>,
    server: usize,
    (x, y): (i32, i32),
    size: i32,
    style: ShapeStyle,
) -> Result<()> {
    let corners = match server % SHAPES {
        0 => return area.draw(&Circle::new((x, y), size, style)).map_err(broken),
        1 => vec![(x - size, y - size), (x + size, y - size), (x + size, y + size), (x - size, y + size)],
        2 => vec![(x, y - size - 1), (x + size + 1, y + size), (x - size - 1, y + size)],
        3 => vec![(x, y - size - 1), (x + size + 1, y), (x, y + size + 1), (x - size - 1, y)],
        _ => vec![(x, y + size + 1), (x + size + 1, y - size), (x - size - 1, y - size)],
    };
    if style.filled {
        return area.draw(&Polygon::new(corners, style)).map_err(broken);
    }
    let mut outline = corners;
    outline.push(outline[0]);
    area.draw(&PathElement::new(outline, style)).map_err(broken)
}
