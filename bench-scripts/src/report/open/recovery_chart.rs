//! p99 through the window, around an overload: one panel a workload, one line a server.

use anyhow::Result;
use plotters::prelude::*;

use super::super::Run;
use super::super::chart::{
    Area, COLOURS, FONT, GRID, INK, broken, by_workload, draw_marker, say, ticks, time_tick,
};
use super::super::format::{at, thousands};
use crate::analysis::open::Recovery;

const PANEL: (u32, u32) = (1_000, 420);
/// About as many markers on a line; more would hide it.
const MARKERS: usize = 10;

/// Draws the chart; `None` where no recovery was measured.
pub(in crate::report) fn svg(run: &Run) -> Result<Option<String>> {
    if run.summary.recovery.iter().all(|recovery| recovery.series.is_empty()) {
        return Ok(None);
    }
    by_workload(run, PANEL, |workload, area| panel(run, workload, area)).map(Some)
}

fn panel(run: &Run, workload: &str, area: &Area<'_>) -> Result<()> {
    let of = |server: &str| -> Option<&Recovery> {
        run.summary.recovery.iter().find(|found| found.workload == workload && found.server == server)
    };
    let lines: Vec<&[(f64, f64)]> = run
        .plan
        .servers
        .iter()
        .map(|server| of(&server.name).map_or(&[] as &[_], |found| found.series.as_slice()))
        .collect();
    let heights = || lines.iter().copied().flatten().map(|(_, us)| *us).filter(|us| *us > 0.0);
    let ends = heights().min_by(f64::total_cmp).zip(heights().max_by(f64::total_cmp));
    let (Some((low, high)), Some(first)) =
        (ends, run.summary.recovery.iter().find(|found| found.workload == workload))
    else {
        return say(area, &format!("{workload}: latency was not measured"));
    };
    let (low, high) = (low / 1.3, high * 1.3);
    let caption = format!("{}: p99 from the intended send", at(workload, first.level));
    let mut chart = ChartBuilder::on(area)
        .caption(caption, (FONT, 17).into_font().color(&INK))
        .margin(14)
        .margin_right(28)
        .x_label_area_size(48)
        .y_label_area_size(78)
        .build_cartesian_2d(
            0.0..run.plan.campaign.window_ms as f64,
            (low..high).log_scale().with_key_points(ticks(low, high)),
        )
        .map_err(broken)?;
    chart
        .configure_mesh()
        .axis_style(GRID)
        .light_line_style(GRID.mix(0.0))
        .bold_line_style(GRID)
        .x_desc("time in the window, ms")
        .y_desc("latency (log scale)")
        .label_style((FONT, 13).into_font().color(&INK))
        .axis_desc_style((FONT, 13).into_font().color(&INK))
        .x_label_formatter(&|value| thousands(*value))
        .y_label_formatter(&|value| time_tick(*value))
        .x_labels(12)
        .y_labels(30)
        .draw()
        .map_err(broken)?;
    let background = run.plan.campaign.open.as_ref().and_then(|open| open.background.as_ref());
    if let Some((background, for_ms)) = background.and_then(|other| Some((other, other.for_ms?))) {
        let (from, to) = (background.from_ms as f64, (background.from_ms + for_ms) as f64);
        let overload = Rectangle::new([(from, low), (to, high)], GRID.mix(0.35).filled());
        chart.plotting_area().draw(&overload).map_err(broken)?;
    }
    let (left, top) = area.get_base_pixel();
    for (index, line) in lines.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        chart.draw_series(LineSeries::new(line.iter().copied(), colour.stroke_width(2))).map_err(broken)?;
        let every = (line.len() / MARKERS).max(lines.len());
        for point in line.iter().skip(index * every / lines.len()).step_by(every) {
            let (x, y) = chart.backend_coord(point);
            draw_marker(area, index, (x - left, y - top), colour)?;
        }
    }
    Ok(())
}
