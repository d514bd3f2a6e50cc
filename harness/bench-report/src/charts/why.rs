//! The charts of a why run: CPU time for a request by part, and against the length of the answer.

use super::super::format::{significant, thousands};
use super::super::why::name;
use super::palette::{GREY, OTHERS};
use super::{Axis, Bar, Bars, Chart, Key, Mark, NOTHING, Panel, Piece, Point, Row, Series, Style, time_tick};
use bench_analysis::views::range;
use bench_analysis::why::{Ladder, LadderRow, Part, SlopeSummary, WhySummary};

/// A bar for each server, its parts one behind the other, and a mark at what was measured. Parts are medians over
/// blocks, as the table has them. Medians don't add up, so a bar may end next to its mark. Where the parts predict too
/// much nothing is left to draw, and the figure at the mark says so.
pub(crate) fn ladder(summary: &WhySummary, ladder: &Ladder) -> Chart {
    let parts = Part::ALL.into_iter().zip(OTHERS);
    let parts = parts.filter_map(|(part, colour)| Some((name(part), colour, ladder.part(part)?)));
    let parts: Vec<(&str, &'static str, &LadderRow)> =
        parts.chain([("unexplained", GREY, &ladder.unexplained)]).collect();
    let bar = |side: fn(&LadderRow) -> f64| {
        let piece = |(_, colour, row): &(&str, &'static str, &LadderRow)| {
            let value = side(row);
            Piece { value, colour, opacity: 1.0, text: significant(value) }
        };
        let (measured, unexplained) = (side(&ladder.measured), side(&ladder.unexplained));
        let said = format!("measured {}, unexplained {}", significant(measured), significant(unexplained));
        let pieces = parts.iter().map(piece).collect();
        Bar { pieces, text: String::new(), mark: Some((measured, said)) }
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
    let ends = range(lengths.iter().copied());
    let returned = format!("{}s returned", slope.element);
    let (mut series, mut legend) = (Vec::new(), Vec::new());
    for (line, style) in slope.lines.iter().zip(styles) {
        let in_process = Style { variant: 1, ..*style };
        let measured = line.points.iter().map(|at| Point::of(at.slots as f64, at.cpu_us));
        let dispatched =
            line.points.iter().filter_map(|at| Some(Point::of(at.slots as f64, at.dispatch_us?)));
        let fitted = ends.zip(line.slope_ns.zip(line.intercept_us));
        let fitted = fitted.map(|(ends, (slope, intercept))| {
            Series::fitted(*style, (intercept.value, slope.value / 1e3), ends, true)
        });
        series.push(Series { width: 1.0, ..Series::through(in_process, dispatched) });
        series.extend(fitted);
        series.push(Series::scattered(*style, measured));
        let [over_http, without] = ["over HTTP, with its fitted line", "in process, without HTTP"]
            .map(|way| format!("{} {way}", line.server));
        legend.push((Key::Line(*style, 2.0, Mark::Full), over_http));
        legend.push((Key::Line(in_process, 1.0, Mark::Full), without));
    }
    let panel = Panel::new(format!("Server CPU time for a request against {returned}"), series, NOTHING);
    let x = Axis { ticks: lengths, ..Axis::log(&returned, thousands) };
    let axes = [x, Axis::log("CPU time for a request", time_tick)];
    Chart { rows: vec![Row::plot(axes, vec![panel], 1, 360.0)], legend, ..Chart::default() }
}
