//! Each server through the window: one row a resource, one line a server. At the headline's load of each workload, or, on a page
//! a workload, at each rate of an open loop with its latency.

use anyhow::Result;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Run;
use super::chart::{Area, COLOURS, FONT, Frame, INK, broken, draw_marker, legend, legend_height, say};
use super::format::{at, thousands};
use super::original;
use super::series::series;
use crate::analysis::{Cell, Moment};

const PANEL: (u32, u32) = (560, 210);
/// A panel of a page that has a column for each of several rates.
const NARROW_PANEL: (u32, u32) = (430, 230);
const NOTE_HEIGHT: u32 = 30;
/// About as many markers on a line; more would hide it.
const MARKERS: usize = 4;

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// A server's line: milliseconds of the window, and values.
type Line = Vec<(f64, f64)>;

/// A row of panels: what is drawn of each cell.
struct Row {
    /// Its name.
    name: &'static str,
    /// The unit of its axis.
    unit: &'static str,
    /// The thick line.
    whole: fn(&Cell) -> Line,
    /// The thin line.
    part: Option<fn(&Cell) -> Line>,
}

const CPU: Row = Row {
    name: "CPU (thin: of it in the kernel)",
    unit: "cores",
    whole: |cell| over_time(cell, |moment| moment.cores),
    part: Some(|cell| over_time(cell, |moment| moment.system_cores)),
};

const MEMORY: Row = Row {
    name: "resident memory",
    unit: "MiB",
    whole: |cell| held(cell, |moment| moment.memory_bytes.map(|bytes| bytes / 1024.0 / 1024.0)),
    part: None,
};

const CONNECTIONS: Row = Row {
    name: "open connections",
    unit: "connections",
    whole: |cell| held(cell, |moment| moment.connections),
    part: None,
};

const SWITCHES: Row = Row {
    name: "context switches, voluntary (thin: involuntary)",
    unit: "switches/s",
    whole: |cell| over_time(cell, |moment| moment.voluntary_switches_per_s),
    part: Some(|cell| over_time(cell, |moment| moment.involuntary_switches_per_s)),
};

const RUN_DELAY: Row = Row {
    name: "run delay: waiting for a core, all threads",
    unit: "ms waited per s",
    whole: |cell| over_time(cell, |moment| moment.run_delay_ms_per_s),
    part: None,
};

const LATENCY: Row = Row {
    name: "p99 latency (thin: median)",
    unit: "ms",
    whole: |cell| cell.latency.iter().map(|moment| (moment.t_ms, moment.p99_us / 1e3)).collect(),
    part: Some(|cell| cell.latency.iter().map(|moment| (moment.t_ms, moment.p50_us / 1e3)).collect()),
};

/// What is held at moments.
fn held(cell: &Cell, value: fn(&Moment) -> Option<f64>) -> Line {
    cell.timeline.iter().filter_map(|moment| Some((moment.t_ms, value(moment)?))).collect()
}

/// What is counted over the time since the moment before, and so belongs to its middle. Moments are evenly spaced, and the
/// first one is a step from the start.
fn over_time(cell: &Cell, value: fn(&Moment) -> Option<f64>) -> Line {
    let back_ms = cell.timeline.first().map_or(0.0, |first| first.t_ms / 2.0);
    held(cell, value).into_iter().map(|(t_ms, value)| (t_ms - back_ms, value)).collect()
}

/// A column of panels: what stands over it, and a cell for each line.
struct Column<'a> {
    name: String,
    cells: Vec<Option<&'a Cell>>,
}

/// Whether there is anything to draw.
pub(super) fn is_drawn(run: &Run) -> bool {
    !original::is_headline(run) && run.summary.cells.iter().any(|cell| !cell.timeline.is_empty())
}

/// Whether a workload has a page of its own: where its load rises in steps of rate, and not several tools send it.
pub(super) fn has_steps(run: &Run) -> bool {
    let several_tools = run.plan.campaign.open.as_ref().is_none_or(|open| open.tools.len() > 1);
    is_drawn(run) && !several_tools && run.plan.amounts().len() > 1
}

/// The file of a workload's page.
pub(super) fn steps_file(workload: &str) -> String {
    format!("steps-{workload}.svg")
}

/// Draws the chart at the headline's loads; `None` where no server was watched.
pub(super) fn svg(run: &Run) -> Result<Option<String>> {
    if !is_drawn(run) {
        return Ok(None);
    }
    let columns = run.measured_workloads().map(|workload| {
        let level = run.plan.headline_level(&workload.name);
        column(run, &workload.name, level.amount(), at(&workload.name, level))
    });
    let rows = [CPU, MEMORY, CONNECTIONS, SWITCHES, RUN_DELAY];
    let note = "Medians over blocks. A rate stands in the middle of the time that it is of.";
    let layout = Layout { panel: PANEL, shares_scale: false, note };
    page(run, &columns.collect::<Vec<_>>(), &rows, &layout).map(Some)
}

/// Draws the page of a workload: a column for each rate, and in each row one scale.
pub(super) fn steps_svg(run: &Run, workload: &str) -> Result<String> {
    let columns = run.plan.amounts().into_iter().map(|rate| {
        let name = format!("{} requests/s", thousands(f64::from(rate)));
        column(run, workload, rate, name)
    });
    // The kernel's part is counted in ticks, of which a low rate fills few.
    let cpu = Row { name: "CPU", part: None, ..CPU };
    let rows = [cpu, MEMORY, CONNECTIONS, LATENCY];
    let note = format!(
        "{workload}: medians over blocks. Latency counts from the moment at which a request was to be sent, by parts of the window."
    );
    // Rates of one workload compare.
    let layout = Layout { panel: NARROW_PANEL, shares_scale: true, note: &note };
    page(run, &columns.collect::<Vec<_>>(), &rows, &layout)
}

fn column<'a>(run: &'a Run, workload: &str, amount: u32, name: String) -> Column<'a> {
    Column { name, cells: series(run).iter().map(|series| series.cell(run, workload, amount)).collect() }
}

/// How a page is laid out.
struct Layout<'a> {
    /// The size of a panel.
    panel: (u32, u32),
    /// Whether the panels of a row have one scale.
    shares_scale: bool,
    /// What stands below.
    note: &'a str,
}

fn page(run: &Run, columns: &[Column<'_>], rows: &[Row], layout: &Layout<'_>) -> Result<String> {
    let mut text = String::new();
    let panel_size = layout.panel;
    let (width, height) = (panel_size.0 * columns.len().max(1) as u32, panel_size.1 * rows.len() as u32);
    {
        let legend_height = legend_height(run, width);
        let size = (width, height + legend_height + NOTE_HEIGHT);
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        root.fill(&WHITE).map_err(broken)?;
        let (above, below) = root.split_vertically(height);
        let mut areas = above.split_evenly((rows.len(), columns.len().max(1))).into_iter();
        for row in rows {
            let drawn: Vec<Drawn> = columns.iter().map(|column| Drawn::of(column, row)).collect();
            let shared = drawn.iter().filter_map(Drawn::highest).max_by(f64::total_cmp);
            for ((column, drawn), area) in columns.iter().zip(&drawn).zip(areas.by_ref()) {
                let highest = if layout.shares_scale { shared } else { drawn.highest() };
                panel(run, &format!("{}: {}", column.name, row.name), row.unit, drawn, highest, &area)?;
            }
        }
        let (servers, below) = below.split_vertically(legend_height);
        legend(run, &servers)?;
        let style = (FONT, 14).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
        below.draw(&Text::new(layout.note, (40, 8), style)).map_err(broken)?;
        root.present().map_err(broken)?;
    }
    Ok(text)
}

/// The lines of a panel, by server.
struct Drawn {
    whole: Vec<Line>,
    part: Vec<Line>,
}

impl Drawn {
    fn of(column: &Column<'_>, row: &Row) -> Self {
        let lines = |line: fn(&Cell) -> Line| -> Vec<Line> {
            column.cells.iter().map(|cell| cell.map_or_else(Vec::new, line)).collect()
        };
        Self { whole: lines(row.whole), part: row.part.map_or_else(Vec::new, lines) }
    }

    fn highest(&self) -> Option<f64> {
        self.whole.iter().chain(&self.part).flatten().map(|(_, value)| *value).max_by(f64::total_cmp)
    }
}

fn panel(
    run: &Run,
    caption: &str,
    unit: &str,
    drawn: &Drawn,
    highest: Option<f64>,
    area: &Area<'_>,
) -> Result<()> {
    let (Some(highest), Some(_)) = (highest, drawn.highest()) else {
        return say(area, &format!("{caption}: was not read, or is unavailable on this machine"));
    };
    let top = if highest > 0.0 { highest * 1.12 } else { 1.0 };
    let frame = Frame {
        caption: caption.to_owned(),
        names: ["time in the window, ms", unit],
        ticks: [&thousands, &tick],
        labels: [6, 5],
        is_small: true,
    };
    let mut chart = frame.draw(area, 0.0..run.plan.campaign.window_ms as f64, 0.0..top)?;
    let styles: Vec<usize> = series(run).iter().map(|series| series.style).collect();
    draw(&mut chart, area, drawn, &styles)
}

/// Draws the servers' lines: thin ones below, thick ones above. Dashes would be an element each, and most of the file.
fn draw(chart: &mut Chart<'_, '_>, area: &Area<'_>, drawn: &Drawn, styles: &[usize]) -> Result<()> {
    let Drawn { whole, part } = drawn;
    let colour = |index: usize| COLOURS[styles[index] % COLOURS.len()];
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
            draw_marker(area, styles[index], (x - left, y - top), colour(index))?;
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
