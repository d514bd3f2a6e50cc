//! The points of a view, where they stand, and how their figures and axes are called.

use std::collections::BTreeMap;

use crate::Run;
use crate::format::{bytes, list, significant, writer};
use bench_core::config::{Along, words_of};
use bench_core::figure::{Figure, Unit};
use bench_core::stats::Estimate;
use bench_core::views::{Panel, Point, Series, Shown};

/// How an estimate without an interval ends.
pub const NO_INTERVAL: &str = " [no interval]";

/// What a figure is called. Where some server gets batches, rates and CPU count calls.
pub fn words(run: &Run, figure: Figure) -> &'static str {
    match figure {
        Figure::RequestsPerSecond if run.plan.has_batches() => "calls/s",
        Figure::CpuUsPerRequest if run.plan.has_batches() => "CPU per call",
        other => other.described().0,
    }
}

/// What an axis is called, by its name in a campaign.
pub fn axis(run: &Run, name: &str) -> String {
    match Along::named(name) {
        Some(Along::Figure(figure)) => words(run, figure).to_owned(),
        Some(Along::Load) => run.plan.levels().first().map_or(name, |level| level.unit()).to_owned(),
        _ => name.replace('_', " "),
    }
}

/// A point, where it stands.
pub type Placed<'a> = (&'a Panel, &'a Series, &'a Point);

pub fn each(shown: &Shown) -> impl Iterator<Item = Placed<'_>> {
    series(shown).flat_map(|(panel, series)| series.points.iter().map(move |point| (panel, series, point)))
}

/// A view's series, each with its panel.
pub fn series(shown: &Shown) -> impl Iterator<Item = (&Panel, &Series)> {
    shown.panels.iter().flat_map(|panel| panel.series.iter().map(move |series| (panel, series)))
}

pub fn points(shown: &Shown) -> impl Iterator<Item = &Point> {
    each(shown).map(|(.., point)| point)
}

/// Whether views have a point for each rate of an open loop: charts and figures of one rate say less then.
pub fn show_rates(run: &Run) -> bool {
    let is_along_load = |shown: &Shown| Along::named(&shown.view.x) == Some(Along::Load);
    run.plan.campaign.open.is_some() && run.summary.views.iter().any(is_along_load)
}

/// Where a point stands on x, in words.
pub fn at(shown: &Shown, point: &Point) -> String {
    match (Along::named(&shown.view.x), point.x) {
        (Some(Along::Figure(figure)), Some(x)) => writer(figure)(x),
        _ => point.place.clone(),
    }
}

/// A figure with more digits than its writer has: of a slope.
pub fn significant_of(figure: Figure, value: f64) -> String {
    match figure.described().1 {
        Unit::Us if value.abs() < 0.1 => format!("{} ns", significant(value * 1e3)),
        Unit::Us => format!("{} µs", significant(value)),
        Unit::Bytes => bytes(value),
        Unit::Share | Unit::Number => significant(value),
    }
}

pub fn line(series: &Series) -> Option<(Estimate, Estimate)> {
    let line = series.line.as_ref()?;
    line.intercept.zip(line.slope)
}

/// What the words of a transport begin with.
pub const OVER: &str = "over ";

/// A slope and its sign, as it stands behind an intercept.
pub fn term(figure: Figure, value: f64) -> String {
    format!("{} {}", if value < 0.0 { "-" } else { "+" }, significant_of(figure, value.abs()))
}

/// A difference, with its sign.
pub fn signed(figure: Figure, value: f64) -> String {
    format!("{}{}", if value < 0.0 { "-" } else { "+" }, writer(figure)(value.abs()))
}

/// Values of axes, in words.
pub fn in_words(run: &Run, values: &BTreeMap<String, serde_json::Value>) -> String {
    let written = |(axis, value): (&String, &serde_json::Value)| {
        let text = || value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match axis.as_str() {
            "server" => run.plan.label_of_entry(&text()),
            "workload" | "tool" => text(),
            "background" if value == false => "no background load".to_owned(),
            axis => words_of(axis, value).unwrap_or_else(|| format!("{axis} {}", text())),
        }
    };
    let words = list(values.iter().map(written));
    words.strip_prefix(OVER).map_or(words.clone(), str::to_owned)
}

/// Whether what an axis or a figure counts is bytes.
pub fn is_bytes(axis: &str) -> bool {
    match Along::named(axis) {
        Some(Along::Figure(figure)) => figure.described().1 == Unit::Bytes,
        other => other == Some(Along::Setting("memory_max")),
    }
}
