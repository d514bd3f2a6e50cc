//! Each server's resources through the window, at the headline's load: one column a workload, one row a resource, one line a
//! server.

use anyhow::Result;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Run;
use super::chart::{Area, COLOURS, FONT, GRID, INK, broken, draw_marker, legend, legend_height, say};
use super::format::{at, thousands};
use super::series::series;
use crate::analysis::{Cell, Moment};

const PANEL: (u32, u32) = (560, 210);
const NOTE_HEIGHT: u32 = 30;
/// About as many markers on a line; more would hide it.
const MARKERS: usize = 4;

/// A row of panels: what is drawn of each moment.
struct Row {
    /// Its name.
    name: &'static str,
    /// The unit of its axis.
    unit: &'static str,
    /// The thick line.
    whole: fn(&Moment) -> Option<f64>,
    /// The thin line.
    part: Option<fn(&Moment) -> Option<f64>>,
    /// Whether values are of the time since the moment before, and so belong to its middle.
    is_rate: bool,
}

const ROWS: [Row; 5] = [
    Row {
        name: "CPU (thin: of it in the kernel)",
        unit: "cores",
        whole: |moment| moment.cores,
        part: Some(|moment| moment.system_cores),
        is_rate: true,
    },
    Row {
        name: "resident memory",
        unit: "MiB",
        whole: |moment| moment.memory_bytes.map(|bytes| bytes / 1024.0 / 1024.0),
        part: None,
        is_rate: false,
    },
    Row {
        name: "open connections",
        unit: "connections",
        whole: |moment| moment.connections,
        part: None,
        is_rate: false,
    },
    Row {
        name: "context switches, voluntary (thin: involuntary)",
        unit: "switches/s",
        whole: |moment| moment.voluntary_switches_per_s,
        part: Some(|moment| moment.involuntary_switches_per_s),
        is_rate: true,
    },
    Row {
        name: "run delay: waiting for a core, all threads",
        unit: "ms waited per s",
        whole: |moment| moment.run_delay_ms_per_s,
        part: None,
        is_rate: true,
    },
];

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// A line: milliseconds and values.
type Line = Vec<(f64, f64)>;

/// Whether there is anything to draw.
pub(super) fn is_drawn(run: &Run) -> bool {
    run.summary.cells.iter().any(|cell| !cell.timeline.is_empty())
}

/// Draws the chart; `None` where no server was watched.
pub(super) fn svg(run: &Run) -> Result<Option<String>> {
    if !is_drawn(run) {
        return Ok(None);
    }
    let mut text = String::new();
    let (columns, rows) = (run.measured_workloads().count().max(1), ROWS.len());
    let height = PANEL.1 * rows as u32;
    {
        let width = PANEL.0 * columns as u32;
        let legend_height = legend_height(run, width);
        let size = (width, height + legend_height + NOTE_HEIGHT);
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        root.fill(&WHITE).map_err(broken)?;
        let (above, below) = root.split_vertically(height);
        let mut areas = above.split_evenly((rows, columns)).into_iter();
        for row in &ROWS {
            for (workload, area) in run.measured_workloads().zip(areas.by_ref()) {
                panel(run, &workload.name, row, &area)?;
            }
        }
        let (servers, note) = below.split_vertically(legend_height);
        legend(run, &servers)?;
        let style = (FONT, 14).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
        let said = "Medians over blocks. A rate stands in the middle of the time that it is of.";
        note.draw(&Text::new(said, (40, 8), style)).map_err(broken)?;
        root.present().map_err(broken)?;
    }
    Ok(Some(text))
}

/// A cell's line of one value.
fn line(cell: Option<&Cell>, value: fn(&Moment) -> Option<f64>, is_rate: bool) -> Line {
    let timeline = cell.map_or(&[] as &[Moment], |cell| cell.timeline.as_slice());
    // Moments are evenly spaced, and the first one is a step from the start.
    let back_ms = if is_rate { timeline.first().map_or(0.0, |first| first.t_ms / 2.0) } else { 0.0 };
    timeline.iter().filter_map(|moment| Some((moment.t_ms - back_ms, value(moment)?))).collect()
}

fn panel(run: &Run, workload: &str, row: &Row, area: &Area<'_>) -> Result<()> {
    let level = run.plan.headline_level(workload);
    let cells: Vec<Option<&Cell>> =
        series(run).iter().map(|series| series.cell(run, workload, level.amount())).collect();
    if !cells.iter().flatten().any(|cell| !cell.timeline.is_empty()) {
        return say(area, &format!("{workload}: {} was not read", row.name));
    }
    let lines = |value: fn(&Moment) -> Option<f64>| -> Vec<Line> {
        cells.iter().map(|cell| line(*cell, value, row.is_rate)).collect()
    };
    let whole = lines(row.whole);
    let part = row.part.map_or_else(Vec::new, lines);
    let caption = format!("{}: {}", at(workload, level), row.name);
    let highest = whole.iter().chain(&part).flatten().map(|(_, value)| *value).max_by(f64::total_cmp);
    let Some(highest) = highest else {
        return say(area, &format!("{caption}: unavailable on this machine"));
    };
    let top = if highest > 0.0 { highest * 1.12 } else { 1.0 };
    let mut chart = ChartBuilder::on(area)
        .caption(caption, (FONT, 15).into_font().color(&INK))
        .margin(8)
        .margin_right(28)
        .x_label_area_size(42)
        .y_label_area_size(78)
        .build_cartesian_2d(0.0..run.plan.campaign.window_ms as f64, 0.0..top)
        .map_err(broken)?;
    chart
        .configure_mesh()
        .axis_style(GRID)
        .light_line_style(GRID.mix(0.0))
        .bold_line_style(GRID)
        .x_desc("time in the window, ms")
        .y_desc(row.unit)
        .label_style((FONT, 13).into_font().color(&INK))
        .axis_desc_style((FONT, 13).into_font().color(&INK))
        .x_label_formatter(&|value| thousands(*value))
        .y_label_formatter(&|value| tick(*value))
        .x_labels(8)
        .y_labels(5)
        .draw()
        .map_err(broken)?;
    draw(&mut chart, area, &whole, &part)
}

/// Draws the servers' lines: thin ones below, thick ones above. Dashes would be an element each, and most of the file.
fn draw(chart: &mut Chart<'_, '_>, area: &Area<'_>, whole: &[Line], part: &[Line]) -> Result<()> {
    let colour = |index: usize| COLOURS[index % COLOURS.len()];
    for (index, line) in part.iter().enumerate() {
        let thin = LineSeries::new(line.iter().copied(), colour(index).stroke_width(1));
        chart.draw_series(thin).map_err(broken)?;
    }
    for (index, line) in whole.iter().enumerate() {
        let thick = LineSeries::new(line.iter().copied(), colour(index).stroke_width(2));
        chart.draw_series(thick).map_err(broken)?;
    }
    // Markers come last, each server's at moments of its own, so that lines on top of each other can still be told apart.
    let (left, top) = area.get_base_pixel();
    for (index, line) in whole.iter().enumerate() {
        let every = (line.len() / MARKERS).max(whole.len());
        for point in line.iter().skip(index * every / whole.len()).step_by(every) {
            let (x, y) = chart.backend_coord(point);
            draw_marker(area, index, (x - left, y - top), colour(index))?;
        }
    }
    Ok(())
}

/// A tick with the digits that it has.
fn tick(value: f64) -> String {
    if value.abs() >= 10.0 {
        return thousands(value);
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_have_the_digits_that_they_need() {
        assert_eq!([0.0, 0.25, 2.0, 10.0, 40_000.0].map(tick), ["0", "0.25", "2", "10", "40,000"]);
    }
}
