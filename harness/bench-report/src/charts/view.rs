//! The chart of a view: a panel for each of its panels and, where it has ratios, a second row with these.

use std::collections::BTreeSet;

use super::super::Run;
use super::super::format::{bytes, distinct, list, thousands, writer};
use super::super::views::points::{Placed, axis, each, is_bytes, points, series};
use super::series::colour_of;
use super::{
    Axis, Bar, Bars, COLOURS, Chart, Forest, Key, Mark, Panel, Point, Ratio, Ratios, Row, Series, Style,
    short, time_tick,
};
use bench_core::config::Along;
use bench_core::figure::{Figure, Unit};
use bench_core::stats::Estimate;
use bench_core::views::{self, Shown};

/// The widths of a measured line and of what arithmetic allows, in pixels.
const WIDTHS: (f64, f64) = (2.0, 1.0);

/// What arithmetic allows is no series.
const ALLOWED: Style = Style { colour: COLOURS.len(), variant: 1 };

/// An axis whose values span more than this is logarithmic.
const WIDE: f64 = 8.0;

/// What a hollow point is.
const HOLLOW: &str = "Hollow: the rate was not held in every block.";

/// Fewer values are one sentence and need no picture.
const LEAST_VALUES: usize = 3;

/// The chart; `None` where nothing was measured, or so little that the headline says all of it.
pub(crate) fn chart(run: &Run, shown: &Shown) -> Option<Chart> {
    let figure = *shown.view.figure.first()?;
    let values = points(shown).filter(|point| point.figures.contains_key(&figure)).count();
    let has_ratios = !shown.view.over.is_empty();
    if values == 0 || (values < LEAST_VALUES && !has_ratios) {
        return None;
    }
    let named = named(shown);
    let style = |name: &str| style(run, shown, &named, name);
    if are_lines(shown) {
        return Some(lines(run, shown, figure, style));
    }
    let mut rows = vec![bars(shown, figure, style)];
    rows.extend(has_ratios.then(|| Row::Forest(forest(shown, figure, style))));
    Some(Chart { rows, ..Chart::default() })
}

/// Whether the places are numbers that lines can go along. A place without one, such as the loopback interface among
/// networks, stands in the table alone. Two places with the same number, such as networks that differ in losses, are no
/// line.
fn are_lines(shown: &Shown) -> bool {
    let mut all = BTreeSet::new();
    let are_distinct = series(shown).all(|(_, series)| {
        let mut own = BTreeSet::new();
        let mut numbers = series.points.iter().filter_map(|point| point.x.map(f64::to_bits));
        numbers.all(|x| {
            all.insert(x);
            own.insert(x)
        })
    });
    are_distinct && (all.len() > 1 || points(shown).all(|point| point.x.is_some()))
}

/// All series, one of each name.
fn named(shown: &Shown) -> Vec<&views::Series> {
    let mut known = BTreeSet::new();
    series(shown).map(|(_, series)| series).filter(|series| known.insert(&series.name)).collect()
}

/// A server has its colour; any other series the next one.
fn style(run: &Run, shown: &Shown, named: &[&views::Series], name: &str) -> Style {
    let place = named.iter().position(|known| known.name == name).unwrap_or(0);
    let is_server = Along::named(&shown.view.series) == Some(Along::Server);
    let colour = |name: &str| colour_of(&run.plan, name).filter(|_| is_server);
    let own = colour(name).unwrap_or(place % COLOURS.len());
    let same = |other: &&&views::Series| colour(&other.name).is_some() && colour(&other.name) == colour(name);
    Style { colour: own, variant: named[..place].iter().filter(same).count() }
}

fn vertical(run: &Run, figure: Figure) -> Axis {
    let name = axis(run, &figure.name());
    match figure.described().1 {
        Unit::Us => Axis::log(&name, time_tick),
        Unit::Bytes => Axis::log_bytes(&name),
        Unit::Share => Axis::linear(&name, short),
        Unit::Number => Axis::log(&name, short),
    }
}

fn horizontal(run: &Run, shown: &Shown, values: &[f64]) -> Axis {
    let name = axis(run, &shown.view.x);
    let write = match Along::named(&shown.view.x) {
        _ if is_bytes(&shown.view.x) => bytes,
        Some(Along::Figure(figure)) if figure.described().1 == Unit::Us => time_tick,
        Some(Along::Figure(_)) => short,
        Some(Along::Setting("network")) => return Axis::linear("delay each way, ms", short),
        _ => thousands,
    };
    let (least, most) = views::range(values.iter().copied()).unwrap_or((1.0, 1.0));
    match least > 0.0 && most / least > WIDE {
        true if is_bytes(&shown.view.x) => Axis::log_bytes(&name),
        true => Axis::log(&name, write),
        false => Axis::linear(&name, write),
    }
}

fn lines(run: &Run, shown: &Shown, figure: Figure, style: impl Fn(&str) -> Style) -> Chart {
    let values: Vec<f64> = points(shown).filter_map(|point| point.x).collect();
    let measured = |series: &views::Series| {
        let point = |point: &views::Point| {
            let mark = if is_held(point) { Mark::Full } else { Mark::Hollow };
            Some(Point { mark, ..Point::of(point.x?, *point.figures.get(&figure)?) })
        };
        let width = if series.line.is_some() { 0.0 } else { WIDTHS.0 };
        Series { width, ..Series::through(style(&series.name), series.points.iter().filter_map(point)) }
    };
    let fitted = |series: &views::Series| {
        let line = series.line.as_ref()?;
        let through = (line.intercept?.value, line.slope?.value);
        let (from, to) = (line.points.first()?.x, line.points.last()?.x);
        let is_wide = from > 0.0 && to / from > WIDE;
        Some(Series::fitted(style(&series.name), through, (from, to), is_wide))
    };
    // One line where arithmetic allows all series the same, else each in the colour of its series.
    let allowed = |panel: &views::Panel| {
        let bound = |point: &views::Point| Some((point.x?, point.bound?));
        let of_series = |series: &views::Series| series.points.iter().filter_map(bound).collect::<Vec<_>>();
        let lines = panel.series.iter().map(|series| (style(&series.name), of_series(series)));
        let lines: Vec<_> = lines.filter(|(_, points)| !points.is_empty()).collect();
        let is_one = distinct(lines.iter().map(|(_, points)| points)).len() == 1;
        let kept = if is_one { 1 } else { lines.len() };
        let line = move |(own, points): (Style, Vec<_>)| {
            Series::line(if is_one { ALLOWED } else { own }, WIDTHS.1, &points)
        };
        lines.into_iter().take(kept).map(line)
    };
    let panel = |panel: &views::Panel| {
        let own = panel.series.iter();
        let series = allowed(panel).chain(own.clone().filter_map(fitted)).chain(own.map(measured));
        Panel::new(panel.name.clone(), series, "not measured")
    };
    let row = |y: Axis, panels: Vec<Panel>, height: f64| {
        Row::plot([horizontal(run, shown, &values), y], panels, 2, height)
    };
    let mut rows = vec![row(vertical(run, figure), shown.panels.iter().map(panel).collect(), 260.0)];
    if !shown.view.over.is_empty() {
        let ratios = |series: &views::Series| {
            let point = |point: &views::Point| Some(Point::of(point.x?, *point.ratios.get(&figure)?));
            Series::through(style(&series.name), series.points.iter().filter_map(point))
        };
        let panel = |panel: &views::Panel| {
            let series = panel.series.iter().map(ratios);
            Panel { level: Some(1.0), ..Panel::new(panel.name.clone(), series, "the denominator") }
        };
        rows.push(row(Axis::log("ratio", short), shown.panels.iter().map(panel).collect(), 200.0));
    }
    let entry = |series: &views::Series| {
        (Key { style: style(&series.name), width: WIDTHS.0, mark: Mark::Full }, series.label.clone())
    };
    let mut legend: Vec<(Key, String)> = named(shown).into_iter().map(entry).collect();
    if let Some(bound) = &shown.view.bound {
        legend.push((Key { style: ALLOWED, width: WIDTHS.1, mark: Mark::None }, bound.to_string()));
    }
    let note = if points(shown).all(is_held) { "" } else { HOLLOW }.to_owned();
    Chart { rows, legend, note, ..Chart::default() }
}

/// Whether a rate was held in every block; true of what has no rate.
fn is_held(point: &views::Point) -> bool {
    point.held.is_none_or(|held| held == point.trials)
}

/// A row's name: the panel, the series and the place on x.
fn row_name((panel, series, point): Placed<'_>) -> String {
    let parts = [&panel.name, &series.label, &point.place].into_iter();
    list(parts.filter(|part| !part.is_empty()))
}

fn bars(shown: &Shown, figure: Figure, style: impl Fn(&str) -> Style) -> Row {
    let bar = |(_, series, point): Placed<'_>| {
        let Estimate { value, .. } = *point.figures.get(&figure)?;
        Some(Bar { value, colour: style(&series.name).colour(), text: writer(figure)(value) })
    };
    let rows = each(shown).map(|placed| (row_name(placed), bar(placed))).collect();
    Row::Bars(Bars { title: figure.described().0.to_owned(), rows })
}

fn forest(shown: &Shown, figure: Figure, style: impl Fn(&str) -> Style) -> Forest {
    let with = || each(shown).filter(|(.., point)| point.ratios.contains_key(&figure));
    let ratio = |(_, series, point): Placed<'_>| {
        let Estimate { value, interval } = *point.ratios.get(&figure)?;
        Some(Ratio { style: style(&series.name), value, interval, dots: Vec::new() })
    };
    let title = format!("ratio of {}", figure.described().0);
    let column = Ratios { title, falls: false, ratios: with().map(ratio).collect() };
    Forest { names: with().map(row_name).collect(), columns: vec![column] }
}
