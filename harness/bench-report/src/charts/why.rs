//! The charts of a why run: CPU time for a request by part, and against the length of the answer.

use super::super::format::{significant, thousands};
use super::super::why::name;
use super::palette::{GREY, OTHERS};
use super::{Axis, Bar, Bars, Chart, Key, Mark, Panel, Piece, Plot, Point, Row, Series, Style, time_tick};
use bench_analysis::why::{Ladder, LadderRow, Line, Part, SlopeSummary, WhySummary};

/// Points that a fitted line, which is a curve on logarithmic axes, is drawn through.
const STEPS: u32 = 60;

/// A bar for each server, its parts one behind the other, and a mark at what was measured. Parts are medians over
/// blocks, as the table has them. Medians don't add up, so a bar may end next to its mark. Where the parts predict too
/// much nothing is left to draw, and the figure at the mark says so.
pub(crate) fn ladder(summary: &WhySummary, ladder: &Ladder) -> Chart {
    let parts = Part::ALL.into_iter().zip(OTHERS);
    let parts = parts.filter_map(|(part, colour)| Some((name(part), colour, ladder.part(part)?)));
    let parts: Vec<(&str, &'static str, &LadderRow)> =
        parts.chain([("unexplained", GREY, &ladder.unexplained)]).collect();
    let bar = |side: fn(&LadderRow) -> f64| Bar {
        pieces: parts
            .iter()
            .map(|(_, colour, row)| Piece {
                value: side(row),
                colour,
                opacity: 1.0,
                text: significant(side(row)),
            })
            .collect(),
        text: String::new(),
        mark: Some((
            side(&ladder.measured),
            format!(
                "measured {}, unexplained {}",
                significant(side(&ladder.measured)),
                significant(side(&ladder.unexplained))
            ),
        )),
    };
    let bars = Bars {
        names: [&summary.server, &summary.over].map(|server| (server.clone(), false)).into(),
        columns: vec![(String::new(), vec![bar(|row| row.a.value), bar(|row| row.b.value)])],
        sizes: (48.0, 34.0),
        has_axis: true,
    };
    Chart {
        title: format!("{}: server CPU time for a request, µs", summary.workload),
        rows: vec![Row::Bars(bars)],
        legend: parts.iter().map(|(name, colour, _)| (Key::Patch(colour), (*name).to_owned())).collect(),
        note: String::new(),
    }
}

/// CPU time for a request against the elements of its result, both on logarithmic axes: over HTTP with the fitted line,
/// and in process, thinner and dashed. A style for each line.
pub(crate) fn slope(slope: &SlopeSummary, styles: &[Style]) -> Chart {
    let lengths: Vec<f64> =
        slope.lines.iter().flat_map(|line| &line.points).map(|point| point.slots as f64).collect();
    let ends = lengths.iter().copied().reduce(f64::min).zip(lengths.iter().copied().reduce(f64::max));
    let returned = format!("{}s returned", slope.element);
    let (mut series, mut legend) = (Vec::new(), Vec::new());
    for (line, style) in slope.lines.iter().zip(styles) {
        let in_process = Style { variant: 1, ..*style };
        let point = |x: u64, estimate: bench_stats::Estimate| Point {
            x: x as f64,
            y: estimate.value,
            interval: estimate.interval,
            mark: Mark::Full,
        };
        let measured = line.points.iter().map(|at| point(at.slots, at.cpu_us)).collect();
        let dispatched = line.points.iter().filter_map(|at| Some(point(at.slots, at.dispatch_us?))).collect();
        let fitted = ends.map_or_else(Vec::new, |ends| fitted(line, ends));
        series.push(Series { style: in_process, width: 1.0, points: dispatched });
        series.push(Series::line(*style, 2.0, &fitted));
        series.push(Series { style: *style, width: 0.0, points: measured });
        let over_http = format!("{} over HTTP, with its fitted line", line.server);
        legend.push((Key::Line(*style, 2.0, Mark::Full), over_http));
        legend.push((
            Key::Line(in_process, 1.0, Mark::Full),
            format!("{} in process, without HTTP", line.server),
        ));
    }
    let panel = Panel {
        title: format!("Server CPU time for a request against {returned}"),
        series,
        empty: "nothing was measured",
        ..Panel::default()
    };
    let axes = [
        Axis { ticks: lengths, ..Axis::log(&returned, thousands) },
        Axis::log("CPU time for a request", time_tick),
    ];
    let rows =
        vec![Row::Plot(Plot { title: String::new(), axes, panels: vec![panel], columns: 1, height: 360.0 })];
    Chart { rows, legend, ..Chart::default() }
}

fn fitted(line: &Line, (low, high): (f64, f64)) -> Vec<(f64, f64)> {
    let Some((slope, intercept)) = line.slope_ns.zip(line.intercept_us) else { return Vec::new() };
    let at = |step: u32| {
        let x = low * (high / low).powf(f64::from(step) / f64::from(STEPS));
        (x, intercept.value + slope.value / 1e3 * x)
    };
    (0..=STEPS).map(at).filter(|(_, y)| *y > 0.0).collect()
}
