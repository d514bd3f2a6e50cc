//! Charts: a figure against connections or, in an open loop, against the rate; one panel a workload, one line a server.
//!
//! The background is drawn, so that a chart reads the same on a light page and on a dark one. Colours are those of Okabe
//! and Ito, told apart by most colour-blind readers, and each line has a marker of its own.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Run;
use super::format::{significant, thousands, time_us};
use super::series::{Series, series};
use crate::figure::Figure;
use crate::stats::Estimate;

const PANEL: (u32, u32) = (560, 400);
const LEGEND_HEIGHT: u32 = 44;
const LEGEND_ROW: u32 = 26;
const LEGEND_LEFT: i32 = 40;
pub(super) const FONT: &str = "sans-serif";
pub(super) const INK: RGBColor = RGBColor(40, 40, 40);
pub(super) const GRID: RGBColor = RGBColor(222, 222, 222);
pub(super) const COLOURS: [RGBColor; crate::config::COLOURS] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(110, 110, 110),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// A panel's frame: its title, its axes' names and how their ticks are written. Charts differ in their coordinates, not in this.
pub(super) struct Frame<'a> {
    /// What the panel shows.
    pub caption: String,
    /// What the axes show, each with its unit.
    pub names: [&'a str; 2],
    /// How a tick of each axis is written.
    pub ticks: [&'a dyn Fn(f64) -> String; 2],
    /// The most ticks of each axis; one with key points needs room for all of them.
    pub labels: [usize; 2],
    /// Whether the panel is one of many, with little room.
    pub is_small: bool,
}

/// A panel in which lines can be drawn, with those coordinates.
pub(super) type Panel<'a, X, Y> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, Y>>;

/// The most ticks of an axis that has key points: all of them.
pub(super) const ALL_KEY_POINTS: usize = 30;

impl Frame<'_> {
    /// Draws the frame of a panel with those coordinates, and gives what draws in it.
    pub fn draw<'a, X, Y>(
        &self,
        area: &Area<'a>,
        x: X,
        y: Y,
    ) -> Result<Panel<'a, X::CoordDescType, Y::CoordDescType>>
    where
        X: AsRangedCoord<Value = f64, CoordDescType: ValueFormatter<f64>>,
        Y: AsRangedCoord<Value = f64, CoordDescType: ValueFormatter<f64>>,
    {
        let (font, margin, below) = if self.is_small { (15, 8, 42) } else { (17, 14, 48) };
        let mut chart = ChartBuilder::on(area)
            .caption(&self.caption, (FONT, font).into_font().color(&INK))
            .margin(margin)
            .margin_right(28)
            .x_label_area_size(below)
            .y_label_area_size(78)
            .build_cartesian_2d(x, y)
            .map_err(broken)?;
        chart
            .configure_mesh()
            .axis_style(GRID)
            .light_line_style(GRID.mix(0.0))
            .bold_line_style(GRID)
            .x_desc(self.names[0])
            .y_desc(self.names[1])
            .label_style((FONT, 13).into_font().color(&INK))
            .axis_desc_style((FONT, 13).into_font().color(&INK))
            .x_label_formatter(&|value| self.ticks[0](*value))
            .y_label_formatter(&|value| self.ticks[1](*value))
            .x_labels(self.labels[0])
            .y_labels(self.labels[1])
            .draw()
            .map_err(broken)?;
        Ok(chart)
    }
}

/// A line of a chart: connections, or requests a second, and estimates.
type Line = Vec<(f64, Estimate)>;

/// Draws a figure of a run.
pub fn svg(run: &Run, figure: Figure) -> Result<String> {
    by_workload(run, PANEL, |workload, area| panel(run, workload, figure, area))
}

/// One panel of that size for each workload, side by side, and the servers' legend below.
pub(super) fn by_workload(
    run: &Run,
    panel_size: (u32, u32),
    draw: impl Fn(&str, &Area<'_>) -> Result<()>,
) -> Result<String> {
    let mut text = String::new();
    let panels = run.measured_workloads().count().max(1) as u32;
    let width = panel_size.0 * panels;
    let size = (width, panel_size.1 + legend_height(run, width));
    {
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        root.fill(&WHITE).map_err(broken)?;
        let (above, below) = root.split_vertically(panel_size.1);
        for (workload, area) in run.measured_workloads().zip(above.split_evenly((1, panels as usize))) {
            draw(&workload.name, &area)?;
        }
        legend(run, &below)?;
        root.present().map_err(broken)?;
    }
    Ok(text)
}

pub(super) fn broken<E: std::fmt::Display>(error: E) -> anyhow::Error {
    anyhow!("can't draw a chart: {error}")
}

/// The figure's name, with its unit.
fn title(figure: Figure) -> &'static str {
    match figure {
        Figure::RequestsPerSecond => "successful requests a second",
        Figure::P99Us => "p99 latency",
        Figure::ServerCores => "server CPU",
        Figure::PeakMemoryBytes => "peak memory of the server",
        _ => "figure",
    }
}

/// What the vertical axis shows, with its unit.
fn axis(figure: Figure) -> &'static str {
    match figure {
        Figure::RequestsPerSecond => "requests/s (log scale)",
        Figure::P99Us => "latency (log scale)",
        Figure::ServerCores => "cores (log scale)",
        Figure::PeakMemoryBytes => "MiB (log scale)",
        _ => "log scale",
    }
}

/// What one unit of the axis is of the figure's own.
fn unit(figure: Figure) -> f64 {
    if figure == Figure::PeakMemoryBytes { 1024.0 * 1024.0 } else { 1.0 }
}

/// A number without digits that say nothing.
fn short(value: f64) -> String {
    let text = significant(value);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn tick(figure: Figure, value: f64) -> String {
    match figure {
        Figure::P99Us => time_tick(value),
        Figure::ServerCores | Figure::PeakMemoryBytes => short(value),
        _ => thousands(value),
    }
}

/// A time in microseconds as a tick has it, without digits that say nothing.
pub(super) fn time_tick(value_us: f64) -> String {
    time_us(value_us).replace(".00", "").replace(".0 ", " ")
}

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn panel(run: &Run, workload: &str, figure: Figure, area: &Area<'_>) -> Result<()> {
    let amounts = run.plan.amounts();
    let is_open = run.plan.campaign.open.is_some();
    let lines: Vec<Line> = series(run)
        .iter()
        .map(|series| {
            let point = |amount: &u32| {
                let cell = series.cell(run, workload, *amount)?;
                // Its latency is from the send, and the others' from when a request was due.
                if is_open && figure == Figure::P99Us && !cell.level.tool.tells_when_due() {
                    return None;
                }
                Some((f64::from(*amount), cell.figure(figure)?.map(|value| value / unit(figure))))
            };
            let mut line: Line = amounts.iter().filter_map(point).collect();
            line.sort_by(|a, b| a.0.total_cmp(&b.0));
            line
        })
        .collect();
    let caption = format!("{workload}: {}", title(figure));
    let Some(((x_low, x_high), (y_low, y_high))) = extent(&lines) else {
        return say(area, &format!("{caption}: nothing was measured"));
    };
    let y_ticks = ticks(y_low, y_high);
    let x_axis = if is_open { "requested requests/s (log scale)" } else { "connections (log scale)" };
    let frame = Frame {
        caption,
        names: [x_axis, axis(figure)],
        ticks: [&thousands, &|value| tick(figure, value)],
        labels: [ALL_KEY_POINTS; 2],
        is_small: false,
    };
    let mut chart = frame.draw(
        area,
        (x_low..x_high)
            .log_scale()
            .with_key_points(amounts.iter().map(|amount| f64::from(*amount)).collect()),
        (y_low..y_high).log_scale().with_key_points(y_ticks),
    )?;
    let styles = series(run).into_iter().map(|series| series.style);
    for ((index, line), style) in lines.iter().enumerate().zip(styles) {
        let colour = COLOURS[style % COLOURS.len()];
        let aside = beside(index, lines.len());
        let line: Line = line.iter().map(|(x, estimate)| (x * aside, *estimate)).collect();
        let points = line.iter().map(|(x, estimate)| (*x, estimate.value));
        chart.draw_series(LineSeries::new(points, colour.stroke_width(2))).map_err(broken)?;
        for (x, estimate) in &line {
            if let Some((low, high)) = estimate.interval {
                let bar = PathElement::new(vec![(*x, low), (*x, high)], colour.stroke_width(2));
                chart.plotting_area().draw(&bar).map_err(broken)?;
            }
            let (left, top) = area.get_base_pixel();
            let (pixel_x, pixel_y) = chart.backend_coord(&(*x, estimate.value));
            draw_marker(area, style, (pixel_x - left, pixel_y - top), colour)?;
        }
    }
    Ok(())
}

/// Says in a panel why it holds no chart.
pub(super) fn say(area: &Area<'_>, text: &str) -> Result<()> {
    let style = (FONT, 15).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Top));
    area.draw(&Text::new(text.to_owned(), (20, 20), style)).map_err(broken)
}

/// How far a line's points are moved aside, as a factor, so that the bars of several lines can be told apart.
pub(super) fn beside(index: usize, lines: usize) -> f64 {
    const STEP: f64 = 0.045;
    (STEP * (index as f64 - (lines as f64 - 1.0) / 2.0)).exp()
}

/// Lowest and highest of both axes, with room around; `None` where there is nothing to draw.
fn extent(lines: &[Line]) -> Option<((f64, f64), (f64, f64))> {
    let xs = || lines.iter().flatten().map(|(x, _)| *x);
    let ys = || {
        lines.iter().flatten().flat_map(|(_, estimate)| {
            let (low, high) = estimate.interval.unwrap_or((estimate.value, estimate.value));
            [low, high]
        })
    };
    let low = |values: &mut dyn Iterator<Item = f64>| values.filter(|v| *v > 0.0).min_by(f64::total_cmp);
    let high = |values: &mut dyn Iterator<Item = f64>| values.max_by(f64::total_cmp);
    let x = (low(&mut xs())? / 1.25, high(&mut xs())? * 1.25);
    let y = (low(&mut ys())? / 1.3, high(&mut ys())? * 1.3);
    Some((x, y))
}

/// Round values for a logarithmic axis, finer where the axis is short.
pub(super) fn ticks(low: f64, high: f64) -> Vec<f64> {
    let of = |steps: &[f64]| {
        let decades = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
        let values = decades.flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)));
        values.filter(|value| (low..=high).contains(value)).collect::<Vec<f64>>()
    };
    let coarse = of(&[1.0, 2.0, 5.0]);
    if coarse.len() >= 4 { coarse } else { of(&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]) }
}

/// Shapes of servers' markers.
pub(super) const SHAPES: usize = 5;

/// Draws a server's marker around a pixel.
pub(super) fn draw_marker(area: &Area<'_>, index: usize, (x, y): (i32, i32), colour: RGBColor) -> Result<()> {
    match index % SHAPES {
        0 => area.draw(&Circle::new((x, y), 5, colour.filled())),
        1 => area.draw(&Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], colour.filled())),
        2 => area.draw(&Polygon::new(vec![(x, y - 6), (x + 6, y + 5), (x - 6, y + 5)], colour.filled())),
        3 => area.draw(&Polygon::new(vec![(x, y - 6), (x + 6, y), (x, y + 6), (x - 6, y)], colour.filled())),
        _ => area.draw(&Polygon::new(vec![(x, y + 6), (x + 6, y - 5), (x - 6, y - 5)], colour.filled())),
    }
    .map_err(broken)
}

/// The room that a name with its line takes, in pixels.
fn legend_width(name: &str) -> i32 {
    36 + 9 * name.len() as i32 + 30
}

/// Each line of a run, and where it is named in pixels, in a legend so wide: from left to right, and in a new row where one is full.
fn legend_places(run: &Run, width: u32) -> Vec<(Series<'_>, (i32, i32))> {
    let (mut x, mut row) = (LEGEND_LEFT, 0);
    let mut places = Vec::new();
    for series in series(run) {
        let wide = legend_width(&series.name);
        if x > LEGEND_LEFT && x + wide > width as i32 {
            (x, row) = (LEGEND_LEFT, row + 1);
        }
        places.push((series, (x, LEGEND_HEIGHT as i32 / 2 - 4 + row * LEGEND_ROW as i32)));
        x += wide;
    }
    places
}

/// How high the legend of a run is, in pixels, where it is so wide.
pub(super) fn legend_height(run: &Run, width: u32) -> u32 {
    let lowest = legend_places(run, width).into_iter().map(|(_, (_, y))| y as u32).max();
    lowest.map_or(LEGEND_HEIGHT, |y| y + LEGEND_HEIGHT / 2 + 4)
}

/// Names the lines of a run, each with its line and marker.
pub(super) fn legend(run: &Run, area: &Area<'_>) -> Result<()> {
    let style = (FONT, 15).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
    for (Series { name, style: place, .. }, (x, y)) in legend_places(run, area.dim_in_pixel().0) {
        let colour = COLOURS[place % COLOURS.len()];
        area.draw(&PathElement::new(vec![(x, y), (x + 28, y)], colour.stroke_width(2))).map_err(broken)?;
        draw_marker(area, place, (x + 14, y), colour)?;
        area.draw(&Text::new(name, (x + 36, y), style.clone())).map_err(broken)?;
    }
    Ok(())
}
