//! The quantile function of latency at the headline's load: one panel a workload, one line a server, and the tail stretched so
//! that from 90 on each step to the right leaves a tenth of the requests.

use anyhow::Result;
use plotters::prelude::*;

use super::Run;
use super::chart::{
    ALL_KEY_POINTS, Area, COLOURS, Frame, broken, by_workload, draw_marker, say, ticks, time_tick,
};
use super::format::load;
use super::original;
use super::series::series;
use crate::analysis::Cell;
use crate::load::Level;

const PANEL: (u32, u32) = (560, 420);

/// The probabilities that the axis names, and between which lines are drawn. Faster requests than the median spread so widely
/// that they would take most of the height; beyond the last one even a long window holds a handful of requests.
const NAMED: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 0.9999];

/// A line: places and microseconds.
type Line = Vec<(f64, f64)>;

/// Whether there is anything to draw.
pub(super) fn is_drawn(run: &Run) -> bool {
    !original::is_headline(run) && run.summary.cells.iter().any(|cell| !cell.quantiles.is_empty())
}

/// Draws the chart; `None` where no cell has the function.
pub(super) fn svg(run: &Run) -> Result<Option<String>> {
    if !is_drawn(run) {
        return Ok(None);
    }
    by_workload(run, PANEL, |workload, area| panel(run, workload, area)).map(Some)
}

/// The place of a probability on the logarithmic axis: of how many requests one took longer.
fn place(probability: f64) -> f64 {
    1.0 / (1.0 - probability)
}

/// A cell's line.
fn line(cell: &Cell) -> Line {
    let [first, .., last] = NAMED;
    let ends = first..=last;
    let drawn = cell.quantiles.iter().filter(|(probability, us)| ends.contains(probability) && *us > 0.0);
    drawn.map(|(probability, us)| (place(*probability), *us)).collect()
}

/// Every server's line at the headline's load of a workload, and which load that is; `None` where nothing is known.
fn lines(run: &Run, workload: &str) -> Option<(Level, Vec<Line>)> {
    let level = run.plan.headline_level(workload);
    let cells = || series(run).into_iter().map(|series| series.cell(run, workload, level.amount()));
    cells().flatten().find(|cell| !cell.quantiles.is_empty())?;
    Some((level, cells().map(|cell| cell.map_or_else(Vec::new, line)).collect()))
}

fn panel(run: &Run, workload: &str, area: &Area<'_>) -> Result<()> {
    let found = lines(run, workload);
    let heights = || found.iter().flat_map(|(_, lines)| lines).flatten().map(|(_, us)| *us);
    let ends = heights().min_by(f64::total_cmp).zip(heights().max_by(f64::total_cmp));
    let (Some((level, lines)), Some((low, high))) = (&found, ends) else {
        return say(area, &format!("{workload}: latency was not measured"));
    };
    let (low, high) = (low / 1.3, high * 1.3);
    let named: Vec<f64> = NAMED.into_iter().map(place).collect();
    let frame = Frame {
        caption: format!("{workload} at {}: latency", load(*level)),
        names: ["percentile of requests, % (the tail is stretched)", "latency (log scale)"],
        ticks: [&percentile, &time_tick],
        labels: [ALL_KEY_POINTS; 2],
        is_small: false,
    };
    let mut chart = frame.draw(
        area,
        (place(0.5) / 1.25..place(0.9999) * 1.25).log_scale().with_key_points(named),
        (low..high).log_scale().with_key_points(ticks(low, high)),
    )?;
    for (series, line) in series(run).into_iter().zip(lines) {
        let index = series.style;
        let colour = COLOURS[index % COLOURS.len()];
        chart.draw_series(LineSeries::new(line.iter().copied(), colour.stroke_width(2))).map_err(broken)?;
        let (left, top) = area.get_base_pixel();
        for point in line.iter().filter(|(x, _)| NAMED.iter().any(|named| place(*named) == *x)) {
            let (pixel_x, pixel_y) = chart.backend_coord(point);
            draw_marker(area, index, (pixel_x - left, pixel_y - top), colour)?;
        }
    }
    Ok(())
}

/// The percentile at a place: 99.9.
fn percentile(place: f64) -> String {
    let text = format!("{:.4}", (1.0 - 1.0 / place) * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_is_named_by_percentiles() {
        let names = NAMED.map(|probability| percentile(place(probability)));
        assert_eq!(names, ["50", "90", "99", "99.9", "99.99"]);
    }
}
