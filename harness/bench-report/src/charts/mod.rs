//! Charts: one model (rows of panels with common axes, series of points, bars, a legend) and one renderer ([`svg`],
//! [`named_rows`]).
//!
//! Every chart is as wide as a page on GitHub, so its text is read at the size in which it is written. It is light or
//! dark, as its reader prefers ([`palette`]).

mod named_rows;
pub(super) mod palette;
mod quantiles;
mod ratios;
mod resources;
mod scale;
pub(super) mod search;
mod series;
mod svg;
pub(super) mod view;

use palette::COLOURS;
pub(super) use quantiles::picture as quantiles;
pub(super) use ratios::picture as ratios;
pub(super) use resources::picture as resources;
pub(super) use svg::{inline, svg};

use super::format::{bytes, significant, time_us};
use bench_core::stats::Estimate;

/// What stands in a panel of which nothing was measured.
const NOTHING: &str = "nothing was measured";

/// A chart of a report.
pub(super) struct Picture {
    /// Its file in the run's folder.
    pub file: String,
    /// What stands in its place where it can't be shown.
    pub alt: String,
    /// How it is read; empty where the next picture says it.
    pub note: String,
    pub chart: Chart,
}

impl Picture {
    pub fn new(
        file: impl Into<String>,
        alt: impl Into<String>,
        note: impl Into<String>,
        chart: Chart,
    ) -> Self {
        Self { file: file.into(), alt: alt.into(), note: note.into(), chart }
    }

    /// The picture and how it is read, in Markdown.
    pub fn markdown(&self) -> String {
        let note = if self.note.is_empty() { String::new() } else { format!("\n{}\n", self.note) };
        format!("![{}]({})\n{note}", self.alt, self.file)
    }
}

/// A chart: rows of panels, a legend and a note below.
#[derive(Default)]
pub(super) struct Chart {
    /// What stands above all; may be empty.
    pub title: String,
    pub rows: Vec<Row>,
    pub legend: Vec<(Key, String)>,
    /// What stands below; may be empty.
    pub note: String,
}

/// A chart by the file that it is drawn into.
pub(super) type Drawn = (String, Chart);

/// One row of a chart.
pub(super) enum Row {
    Plot(Plot),
    Bars(Bars),
    Forest(Forest),
}

impl Row {
    /// Panels without a title above them.
    pub fn plot(axes: [Axis; 2], panels: Vec<Panel>, columns: usize, height: f64) -> Self {
        Self::Plot(Plot { title: String::new(), axes, panels, columns, height })
    }
}

/// Ratios with their intervals: a row for each name, a column for each figure, all on one logarithmic scale around 1.
pub(super) struct Forest {
    pub names: Vec<String>,
    pub columns: Vec<Ratios>,
}

/// A column of a forest plot.
pub(super) struct Ratios {
    pub title: String,
    /// Whether its scale falls to the right, where what is better stands.
    pub falls: bool,
    /// One for each row.
    pub ratios: Vec<Option<Ratio>>,
}

/// One ratio of a forest plot, and what it is the middle of.
pub(super) struct Ratio {
    pub style: Style,
    pub value: f64,
    pub interval: Option<(f64, f64)>,
    /// The ratio of each block.
    pub dots: Vec<f64>,
}

/// Panels with the same axes and the same scales.
pub(super) struct Plot {
    /// What stands above the panels; may be empty.
    pub title: String,
    /// The horizontal and the vertical one.
    pub axes: [Axis; 2],
    pub panels: Vec<Panel>,
    /// How many panels stand side by side at most.
    pub columns: usize,
    /// Of a panel, in pixels.
    pub height: f64,
}

/// An axis of all panels of a row.
pub(super) struct Axis {
    /// What it shows, with its unit; may be empty.
    pub name: String,
    /// How values become places.
    pub kind: Kind,
    /// From where to where; `None`: as the points need it.
    pub range: Option<(f64, f64)>,
    /// Where its ticks stand; none: at round values.
    pub ticks: Vec<f64>,
    /// How a tick is written.
    pub write: fn(f64) -> String,
}

/// How an axis places values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// From zero.
    Linear,
    /// By powers.
    Log,
}

impl Axis {
    /// A logarithmic axis of bytes, with ticks at powers of two.
    pub fn log_bytes(name: &str) -> Self {
        Self { ticks: (0..60).map(|power| 2_f64.powi(power)).collect(), ..Self::log(name, bytes) }
    }

    /// A logarithmic axis with round ticks.
    pub fn log(name: &str, write: fn(f64) -> String) -> Self {
        Self { name: format!("{name} (log scale)"), kind: Kind::Log, range: None, ticks: Vec::new(), write }
    }

    /// A linear axis from zero.
    pub fn linear(name: &str, write: fn(f64) -> String) -> Self {
        Self { name: name.to_owned(), kind: Kind::Linear, range: None, ticks: Vec::new(), write }
    }
}

/// One panel.
#[derive(Default)]
pub(super) struct Panel {
    pub title: String,
    /// From the back to the front.
    pub series: Vec<Series>,
    /// A horizontal line across.
    pub level: Option<f64>,
    /// What stands in a panel without points.
    pub empty: &'static str,
}

impl Panel {
    pub fn new(title: String, series: impl IntoIterator<Item = Series>, empty: &'static str) -> Self {
        Self { title, series: series.into_iter().collect(), empty, ..Self::default() }
    }

    pub fn has_points(&self) -> bool {
        self.series.iter().any(|series| !series.points.is_empty())
    }

    /// Whether it has points of that style.
    pub fn shows(&self, style: Style) -> bool {
        self.series.iter().any(|series| series.style == style && !series.points.is_empty())
    }
}

/// Points of the same kind.
pub(super) struct Series {
    pub style: Style,
    /// The width of the line through them, in pixels; 0: none.
    pub width: f64,
    pub points: Vec<Point>,
}

impl Series {
    /// A line without marks.
    pub fn line(style: Style, width: f64, points: &[(f64, f64)]) -> Self {
        let points = points.iter().map(|(x, y)| Point { x: *x, y: *y, interval: None, mark: Mark::None });
        Self { style, width, points: points.collect() }
    }

    /// A fitted line from one value to another, as far as it is above zero: straight, or by powers, since it is a curve
    /// on a logarithmic axis.
    pub fn fitted(style: Style, (at_0, slope): (f64, f64), (from, to): (f64, f64), by_powers: bool) -> Self {
        const STEPS: u32 = 60;
        let at = |step: u32| {
            let part = f64::from(step) / f64::from(STEPS);
            let x = if by_powers { from * (to / from).powf(part) } else { from + (to - from) * part };
            (x, at_0 + slope * x)
        };
        let points: Vec<(f64, f64)> = (0..=STEPS).map(at).filter(|(_, y)| *y > 0.0).collect();
        Self::line(style, 2.0, &points)
    }

    /// A line of 2 pixels through points.
    pub fn through(style: Style, points: impl IntoIterator<Item = Point>) -> Self {
        Self { style, width: 2.0, points: points.into_iter().collect() }
    }

    /// A line with about as many marks, at moments of its own, so that lines on top of each other are distinguishable.
    pub fn marked(style: Style, points: &[(f64, f64)], marks: usize, (index, of): (usize, usize)) -> Self {
        let mut line = Self::line(style, 2.0, points);
        let every = (points.len() / marks).max(of).max(1);
        for point in line.points.iter_mut().skip(index * every / of.max(1)).step_by(every) {
            point.mark = Mark::Full;
        }
        line
    }
}

/// A point, in the units of its axes.
pub(super) struct Point {
    pub x: f64,
    pub y: f64,
    /// The ends of its vertical interval.
    pub interval: Option<(f64, f64)>,
    pub mark: Mark,
}

impl Point {
    /// An estimate with its interval.
    pub fn of(x: impl Into<f64>, Estimate { value, interval }: Estimate) -> Self {
        Self { x: x.into(), y: value, interval, mark: Mark::Full }
    }

    /// A value without an interval.
    pub fn at(x: impl Into<f64>, y: f64, mark: Mark) -> Self {
        Self { x: x.into(), y, interval: None, mark }
    }
}

/// What stands at a point.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    None,
    Full,
    Small,
    Hollow,
    SmallHollow,
    Crossed,
}

/// How a series looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Style {
    /// Its place in [`COLOURS`], or behind these in [`OTHERS`], which gives the shape of its marks, too.
    pub colour: usize,
    /// 0, or which of the lines of that colour it is: others are dashed and have hollow marks.
    pub variant: usize,
}

/// An entry of a legend.
#[derive(Clone, Copy)]
pub(super) struct Key {
    pub style: Style,
    /// The width of its line, in pixels; 0: none.
    pub width: f64,
    pub mark: Mark,
}

/// Horizontal bars from zero: a row for each name.
pub(super) struct Bars {
    /// What stands above.
    pub title: String,
    /// Each row's name, and its bar; none where nothing is known.
    pub rows: Vec<(String, Option<Bar>)>,
}

/// One bar.
pub(super) struct Bar {
    pub value: f64,
    pub colour: &'static str,
    /// What stands behind it.
    pub text: String,
}

/// A time in microseconds as a tick has it, without digits that say nothing.
pub(super) fn time_tick(value_us: f64) -> String {
    let text = time_us(value_us);
    let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
    format!("{} {unit}", trimmed(number))
}

/// A number as a tick has it, without digits that say nothing.
fn short(value: f64) -> String {
    // More digits would reach into the axis's name.
    if value >= 1e6 {
        return format!("{} M", trimmed(&significant(value / 1e6)));
    }
    trimmed(&significant(value)).to_owned()
}

fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_have_the_digits_that_they_need() {
        assert_eq!([0.0, 0.25, 2.0, 10.0, 40_000.0].map(short), ["0", "0.25", "2", "10", "40,000"]);
        assert_eq!([1e6, 2.5e7].map(short), ["1 M", "25 M"]);
        assert_eq!([500.0, 1_000.0, 2.5e6].map(time_tick), ["500 µs", "1 ms", "2.5 s"]);
    }
}
