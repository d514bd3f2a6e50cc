//! The chart of a view: a panel for each of its panels and, where it has ratios, a second row with these.

use std::collections::BTreeSet;

use super::super::Run;
use super::super::format::{bytes, thousands};
use super::super::views::{axis, is_bytes};
use super::series::known_colour;
use super::{
    Axis, Bar, Bars, COLOURS, Chart, Forest, Key, Mark, Panel, Piece, Plot, Point, Ratio, Ratios, Row,
    Series, Style, short, time_tick,
};
use bench_analysis::views::{self, Shown};
use bench_model::config::Along;
use bench_model::figure::{Figure, Unit};

/// The widths of a measured line and of what arithmetic allows, in pixels.
const WIDTHS: (f64, f64) = (2.0, 1.0);

/// What arithmetic allows is no series.
const ALLOWED: Style = Style { colour: COLOURS.len(), variant: 1 };

/// Of a bar and of the gap between two, in pixels.
const BAR: (f64, f64) = (16.0, 6.0);

/// An axis whose values span more than this is logarithmic.
const WIDE: f64 = 8.0;

/// What a hollow point is.
const HOLLOW: &str = "Hollow: the rate was not held in every block.";

/// Fewer values are one sentence and need no picture.
const LEAST_VALUES: usize = 3;

/// The chart; `None` where nothing was measured, or so little that the headline says all of it.
pub(crate) fn chart(run: &Run, shown: &Shown) -> Option<Chart> {
    let figure = *shown.view.figure.first()?;
    let points = shown.panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.points);
    let values = points.filter(|point| point.figures.contains_key(&figure)).count();
    if values == 0 || (values < LEAST_VALUES && shown.view.over.is_empty()) {
        return None;
    }
    let named = named(shown);
    let style = |name: &str| style(shown, &named, name);
    let has_numbers = are_lines(shown);
    let mut chart = match has_numbers {
        true => lines(run, shown, figure, style),
        false => bars(shown, figure, style),
    };
    if !shown.view.over.is_empty() && !has_numbers {
        chart.rows.push(Row::Forest(forest(shown, figure, style)));
    }
    Some(chart)
}

/// Whether the places are numbers that lines can go along. A place without one, such as the loopback interface among
/// networks, stands in the table alone. Two places with the same number, such as networks that differ in losses, are no
/// line.
fn are_lines(shown: &Shown) -> bool {
    let mut series = shown.panels.iter().flat_map(|panel| &panel.series);
    let numbers = |series: &views::Series| -> Vec<u64> {
        series.points.iter().filter_map(|point| point.x.map(f64::to_bits)).collect()
    };
    let mut all = BTreeSet::new();
    let are_distinct = series.all(|series| {
        let numbers = numbers(series);
        all.extend(numbers.iter().copied());
        numbers.iter().collect::<BTreeSet<_>>().len() == numbers.len()
    });
    let has_all = || shown.panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.points);
    are_distinct && (all.len() > 1 || has_all().all(|point| point.x.is_some()))
}

/// All series, one of each name.
fn named(shown: &Shown) -> Vec<&views::Series> {
    let mut named: Vec<&views::Series> = Vec::new();
    for series in shown.panels.iter().flat_map(|panel| &panel.series) {
        if named.iter().all(|known| known.name != series.name) {
            named.push(series);
        }
    }
    named
}

/// A server has its colour; any other series the next one.
fn style(shown: &Shown, named: &[&views::Series], name: &str) -> Style {
    let place = named.iter().position(|known| known.name == name).unwrap_or(0);
    let is_server = Along::named(&shown.view.series) == Some(Along::Server);
    let colour = |name: &str| known_colour(name).filter(|_| is_server);
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
    let values: Vec<f64> = shown
        .panels
        .iter()
        .flat_map(|panel| &panel.series)
        .flat_map(|series| &series.points)
        .filter_map(|point| point.x)
        .collect();
    let measured = |series: &views::Series| {
        let point = |point: &views::Point| {
            let (x, y) = (point.x?, point.figures.get(&figure)?);
            let is_held = point.held.is_none_or(|held| held == point.trials);
            let mark = if is_held { Mark::Full } else { Mark::Hollow };
            Some(Point { x, y: y.value, interval: y.interval, mark })
        };
        let width = if series.line.is_some() { 0.0 } else { WIDTHS.0 };
        Series { style: style(&series.name), width, points: series.points.iter().filter_map(point).collect() }
    };
    let fitted = |series: &views::Series| {
        let line = series.line.as_ref()?;
        let (at_0, slope) = (line.intercept?.value, line.slope?.value);
        let (from, to) = (line.points.first()?.x, line.points.last()?.x);
        let is_wide = from > 0.0 && to / from > WIDE;
        let at = |step: u32| {
            let part = f64::from(step) / 60.0;
            let x = if is_wide { from * (to / from).powf(part) } else { from + (to - from) * part };
            (x, at_0 + slope * x)
        };
        let through: Vec<(f64, f64)> = (0..=60).map(at).filter(|(_, y)| *y > 0.0).collect();
        Some(Series::line(style(&series.name), WIDTHS.0, &through))
    };
    // One line where arithmetic allows all series the same.
    let allowed = |panel: &views::Panel| {
        let mut lines: Vec<Vec<(f64, f64)>> = Vec::new();
        for series in &panel.series {
            let line = series.points.iter().filter_map(|point| Some((point.x?, point.bound?))).collect();
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.iter().map(|points| Series::line(ALLOWED, WIDTHS.1, points)).collect::<Vec<_>>()
    };
    let panel = |panel: &views::Panel| Panel {
        title: panel.name.clone(),
        series: allowed(panel)
            .into_iter()
            .chain(panel.series.iter().filter_map(fitted))
            .chain(panel.series.iter().map(measured))
            .collect(),
        empty: "not measured",
        ..Panel::default()
    };
    let mut rows = vec![Row::Plot(Plot {
        title: String::new(),
        axes: [horizontal(run, shown, &values), vertical(run, figure)],
        panels: shown.panels.iter().map(panel).collect(),
        columns: 2,
        height: 260.0,
    })];
    if !shown.view.over.is_empty() {
        let ratios = |series: &views::Series| {
            let point = |point: &views::Point| {
                let (x, y) = (point.x?, point.ratios.get(&figure)?);
                Some(Point { x, y: y.value, interval: y.interval, mark: Mark::Full })
            };
            Series {
                style: style(&series.name),
                width: WIDTHS.0,
                points: series.points.iter().filter_map(point).collect(),
            }
        };
        let panel = |panel: &views::Panel| Panel {
            title: panel.name.clone(),
            series: panel.series.iter().map(ratios).collect(),
            level: Some(1.0),
            empty: "the denominator",
            ..Panel::default()
        };
        rows.push(Row::Plot(Plot {
            title: String::new(),
            axes: [horizontal(run, shown, &values), Axis::log("ratio", short)],
            panels: shown.panels.iter().map(panel).collect(),
            columns: 2,
            height: 200.0,
        }));
    }
    let entry =
        |series: &views::Series| (Key::Line(style(&series.name), WIDTHS.0, Mark::Full), series.label.clone());
    let mut legend: Vec<(Key, String)> = named(shown).into_iter().map(entry).collect();
    if let Some(bound) = &shown.view.bound {
        legend.push((Key::Line(ALLOWED, WIDTHS.1, Mark::None), bound.to_string()));
    }
    let has_held_all = each(shown).all(|(.., point)| point.held.is_none_or(|held| held == point.trials));
    let note = if has_held_all { String::new() } else { HOLLOW.to_owned() };
    Chart { rows, legend, note, ..Chart::default() }
}

/// A row's name: the panel, the series and the place on x.
fn row_name(panel: &views::Panel, series: &views::Series, point: &views::Point) -> String {
    [panel.name.as_str(), series.label.as_str(), point.place.as_str()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}

fn each(shown: &Shown) -> impl Iterator<Item = (&views::Panel, &views::Series, &views::Point)> {
    shown.panels.iter().flat_map(|panel| {
        panel
            .series
            .iter()
            .flat_map(move |series| series.points.iter().map(move |point| (panel, series, point)))
    })
}

fn bars(shown: &Shown, figure: Figure, style: impl Fn(&str) -> Style) -> Chart {
    let write = super::super::views::writer(figure);
    let bar = |(_, series, point): (&views::Panel, &views::Series, &views::Point)| {
        point.figures.get(&figure).map_or_else(Bar::default, |estimate| Bar {
            pieces: vec![Piece {
                value: estimate.value,
                colour: style(&series.name).colour(),
                opacity: 1.0,
                text: String::new(),
            }],
            text: write(estimate.value),
            mark: None,
        })
    };
    let names = each(shown).map(|(panel, series, point)| (row_name(panel, series, point), false)).collect();
    let columns = vec![(figure.described().0.to_owned(), each(shown).map(bar).collect())];
    Chart { rows: vec![Row::Bars(Bars { names, columns, sizes: BAR, has_axis: false })], ..Chart::default() }
}

fn forest(shown: &Shown, figure: Figure, style: impl Fn(&str) -> Style) -> Forest {
    let with = || each(shown).filter(|(.., point)| point.ratios.contains_key(&figure));
    let ratio = |(_, series, point): (&views::Panel, &views::Series, &views::Point)| {
        let ratio = point.ratios.get(&figure)?;
        Some(Ratio {
            style: style(&series.name),
            value: ratio.value,
            interval: ratio.interval,
            blocks: Vec::new(),
        })
    };
    Forest {
        names: with().map(|(panel, series, point)| row_name(panel, series, point)).collect(),
        columns: vec![Ratios {
            title: format!("ratio of {}", figure.described().0),
            falls: false,
            ratios: with().map(ratio).collect(),
        }],
    }
}
