//! CPU time for a request against the slots that it returns, both on logarithmic axes: over HTTP with the fitted line, and in
//! process, thinner and lighter.

use anyhow::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::analysis::why::{Line, SlopeSummary};
use crate::report::chart::{
    ALL_KEY_POINTS, Area, COLOURS, FONT, Frame, INK, broken, draw_marker, say, ticks, time_tick,
};
use crate::report::format::thousands;

const SIZE: (u32, u32) = (1_120, 520);
const LEGEND_HEIGHT: u32 = 64;
/// Points that the fitted curve is drawn through.
const STEPS: u32 = 60;

/// Draws the chart.
pub(super) fn svg(slope: &SlopeSummary, styles: &[usize]) -> Result<String> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&WHITE).map_err(broken)?;
        let (above, below) = root.split_vertically(SIZE.1 - LEGEND_HEIGHT);
        panel(slope, styles, &above)?;
        legend(slope, styles, &below)?;
        root.present().map_err(broken)?;
    }
    Ok(text)
}

/// Lowest and highest of both axes, with room around; `None` where there is nothing to draw.
fn extent(slope: &SlopeSummary) -> Option<((f64, f64), (f64, f64))> {
    let points = || slope.lines.iter().flat_map(|line| &line.points);
    let ends = |values: Vec<f64>| {
        let low = values.iter().copied().filter(|value| *value > 0.0).min_by(f64::total_cmp)?;
        Some((low, values.into_iter().max_by(f64::total_cmp)?))
    };
    let (x_low, x_high) = ends(points().map(|point| point.slots as f64).collect())?;
    let times = points().flat_map(|point| [Some(point.cpu_us), point.dispatch_us]).flatten();
    let (y_low, y_high) = ends(times.map(|time| time.value).collect())?;
    Some(((x_low / 1.6, x_high * 1.6), (y_low / 1.6, y_high * 1.6)))
}

fn panel(slope: &SlopeSummary, styles: &[usize], area: &Area<'_>) -> Result<()> {
    let Some(((x_low, x_high), (y_low, y_high))) = extent(slope) else {
        return say(area, "nothing was measured");
    };
    let lengths = slope.lines.iter().flat_map(|line| &line.points).map(|point| point.slots as f64);
    let frame = Frame {
        caption: "getBlocks: server CPU time for a request against slots returned".to_owned(),
        names: ["slots returned (log scale)", "CPU time for a request (log scale)"],
        ticks: [&thousands, &time_tick],
        labels: [ALL_KEY_POINTS; 2],
        is_small: false,
    };
    let mut chart = frame.draw(
        area,
        (x_low..x_high).log_scale().with_key_points(lengths.collect()),
        (y_low..y_high).log_scale().with_key_points(ticks(y_low, y_high)),
    )?;
    for (line, style) in slope.lines.iter().zip(styles) {
        let colour = COLOURS[style % COLOURS.len()];
        let in_process =
            line.points.iter().filter_map(|point| Some((point.slots as f64, point.dispatch_us?.value)));
        chart
            .draw_series(LineSeries::new(in_process.clone(), colour.mix(0.55).stroke_width(1)))
            .map_err(broken)?;
        let hollow = in_process.map(|at| Circle::new(at, 4, colour.mix(0.7).stroke_width(1)));
        chart.draw_series(hollow).map_err(broken)?;
        chart
            .draw_series(LineSeries::new(fitted(line, x_low, x_high), colour.stroke_width(2)))
            .map_err(broken)?;
        for point in &line.points {
            let x = point.slots as f64;
            if let Some((low, high)) = point.cpu_us.interval {
                let bar = PathElement::new(vec![(x, low), (x, high)], colour.stroke_width(2));
                chart.plotting_area().draw(&bar).map_err(broken)?;
            }
            let (left, top) = area.get_base_pixel();
            let (pixel_x, pixel_y) = chart.backend_coord(&(x, point.cpu_us.value));
            draw_marker(area, *style, (pixel_x - left, pixel_y - top), colour)?;
        }
    }
    Ok(())
}

/// The fitted line, which is a curve on these axes.
fn fitted(line: &Line, x_low: f64, x_high: f64) -> Vec<(f64, f64)> {
    let Some((slope, intercept)) = line.slope_ns.zip(line.intercept_us) else { return Vec::new() };
    let at = |step: u32| {
        let x = x_low * (x_high / x_low).powf(f64::from(step) / f64::from(STEPS));
        (x, intercept.value + slope.value / 1e3 * x)
    };
    (0..=STEPS).map(at).filter(|(_, y)| *y > 0.0).collect()
}

fn legend(slope: &SlopeSummary, styles: &[usize], area: &Area<'_>) -> Result<()> {
    let style = (FONT, 14).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
    for ((index, line), place) in slope.lines.iter().enumerate().zip(styles) {
        let colour = COLOURS[place % COLOURS.len()];
        let y = 14 + 26 * index as i32;
        area.draw(&PathElement::new(vec![(60, y), (88, y)], colour.stroke_width(2))).map_err(broken)?;
        draw_marker(area, *place, (74, y), colour)?;
        let over_http = format!("{} over HTTP, with its fitted line", line.server);
        area.draw(&Text::new(over_http, (98, y), style.clone())).map_err(broken)?;
        area.draw(&PathElement::new(vec![(620, y), (648, y)], colour.mix(0.55).stroke_width(1)))
            .map_err(broken)?;
        area.draw(&Circle::new((634, y), 4, colour.mix(0.7).stroke_width(1))).map_err(broken)?;
        let in_process = format!("{} in process, without HTTP", line.server);
        area.draw(&Text::new(in_process, (658, y), style.clone())).map_err(broken)?;
    }
    Ok(())
}
