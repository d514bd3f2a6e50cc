//! Sections of a campaign's views: one renderer for the table, the chart and the headline of each.

mod claims;
mod headline;

use std::collections::BTreeMap;

use minijinja::{Value, context};

use super::Run;
use super::charts::{self, Picture};
use super::columns::Columns;
use super::format::{
    bullets, bytes, count, dash, distinct, estimate, joined, known, list, percent, ratio, significant,
};
use bench_analysis::views::{Panel, Point, Series, Shown, behind};
use bench_model::config::{Along, words_of};
use bench_model::figure::{Figure, Unit};
use bench_stats::Estimate;

pub(super) use super::format::writer;
pub(super) use headline::headline;

/// How an estimate without an interval ends.
const NO_INTERVAL: &str = " [no interval]";

/// What a table with rates means by held.
const HELD: &str = "A rate is held where 99 % of its requests were sent and answered, and 99 % were sent at most 10 ms \
    late; *held* says in how many trials.";

/// How the lines of a view are fitted.
const FITTED: &str = "Lines are fitted in each block by relative error; their two numbers are medians over blocks with \
    95 % intervals.";

/// What a figure is called. Where some server gets batches, rates and CPU count calls.
pub(super) fn words(run: &Run, figure: Figure) -> &'static str {
    match figure {
        Figure::RequestsPerSecond if run.plan.has_batches() => "calls/s",
        Figure::CpuUsPerRequest if run.plan.has_batches() => "CPU per call",
        other => other.described().0,
    }
}

/// What an axis is called, by its name in a campaign.
pub(super) fn axis(run: &Run, name: &str) -> String {
    match Along::named(name) {
        Some(Along::Figure(figure)) => words(run, figure).to_owned(),
        Some(Along::Load) => run.plan.levels().first().map_or(name, |level| level.unit()).to_owned(),
        _ => name.replace('_', " "),
    }
}

/// A point, where it stands.
pub(super) type Placed<'a> = (&'a Panel, &'a Series, &'a Point);

pub(super) fn each(shown: &Shown) -> impl Iterator<Item = Placed<'_>> {
    series(shown).flat_map(|(panel, series)| series.points.iter().map(move |point| (panel, series, point)))
}

/// A view's series, each with its panel.
pub(super) fn series(shown: &Shown) -> impl Iterator<Item = (&Panel, &Series)> {
    shown.panels.iter().flat_map(|panel| panel.series.iter().map(move |series| (panel, series)))
}

pub(super) fn points(shown: &Shown) -> impl Iterator<Item = &Point> {
    each(shown).map(|(.., point)| point)
}

/// Whether views have a point for each rate of an open loop: charts and figures of one rate say less then.
pub(super) fn show_rates(run: &Run) -> bool {
    let is_along_load = |shown: &Shown| Along::named(&shown.view.x) == Some(Along::Load);
    run.plan.campaign.open.is_some() && run.summary.views.iter().any(is_along_load)
}

/// Where a point stands on x, in words.
fn at(shown: &Shown, point: &Point) -> String {
    match (Along::named(&shown.view.x), point.x) {
        (Some(Along::Figure(figure)), Some(x)) => writer(figure)(x),
        _ => point.place.clone(),
    }
}

/// A figure with more digits than its writer has: of a slope.
fn significant_of(figure: Figure, value: f64) -> String {
    match figure.described().1 {
        Unit::Us if value.abs() < 0.1 => format!("{} ns", significant(value * 1e3)),
        Unit::Us => format!("{} µs", significant(value)),
        Unit::Bytes => bytes(value),
        Unit::Share | Unit::Number => significant(value),
    }
}

fn line(series: &Series) -> Option<(Estimate, Estimate)> {
    let line = series.line.as_ref()?;
    line.intercept.zip(line.slope)
}

/// What the words of a transport begin with.
const OVER: &str = "over ";

/// A slope and its sign, as it stands behind an intercept.
fn term(figure: Figure, value: f64) -> String {
    format!("{} {}", if value < 0.0 { "-" } else { "+" }, significant_of(figure, value.abs()))
}

/// A difference, with its sign.
fn signed(figure: Figure, value: f64) -> String {
    format!("{}{}", if value < 0.0 { "-" } else { "+" }, writer(figure)(value.abs()))
}

/// Values of axes, in words.
fn in_words(run: &Run, values: &BTreeMap<String, serde_json::Value>) -> String {
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

/// Every view's section. Pairs that run at the same time are no points of a view; their ratios have a section of their
/// own.
pub(super) fn sections(run: &Run) -> String {
    let views = run.summary.views.iter().enumerate().filter(|(_, shown)| points(shown).next().is_some());
    super::format::sections(views.map(|(number, shown)| section(run, number, shown)))
}

fn section(run: &Run, number: usize, shown: &Shown) -> String {
    let view = &shown.view;
    let picture = picture(run, &format!("view-{}.svg", number + 1), shown)
        .map_or_else(String::new, |picture| picture.markdown() + "\n");
    let latency = view.method.as_ref().map(|method| {
        let mixes = run.measured_workloads().filter(|workload| workload.is_mix());
        let mixes = mixes.map(|mix| format!(" {} sends: {}.", mix.name, mix.words())).collect::<String>();
        let from = if run.plan.campaign.open.is_some() { ", counted from when a call was due" } else { "" };
        format!("Latency is of {method} alone{from}.{mixes}")
    });
    let notes = [
        (!view.over.is_empty()).then(|| {
            format!(
                "Ratios are over {}, all else the same: medians of per-block ratios (Hodges-Lehmann). Each interval \
                 is right by itself with 95 %; of twenty without a difference one excludes 1.",
                in_words(run, &view.over)
            )
        }),
        (!view.minus.is_empty()).then(|| {
            format!(
                "Differences are from {}, all else the same: medians of per-block differences, each with an interval \
                 of 95 %.",
                in_words(run, &view.minus)
            )
        }),
        (!has_intervals(shown)).then(|| "Medians over blocks, which are too few for intervals.".to_owned()),
        view.bound.as_ref().map(|bound| format!("What arithmetic allows is {bound}.")),
        latency,
        points(shown).any(|point| point.held.is_some()).then(|| HELD.to_owned()),
        view.fit.is_some().then(|| FITTED.to_owned()),
    ];
    let notes = bullets(notes.into_iter().flatten());
    let (claims, lines) = (claims::table(run, shown), lines_table(run, shown));
    format!("## {}\n\n{picture}{claims}{}{lines}\n{}", view.title, table(run, shown, true), notes)
}

/// A table of two axes: a row for each figure of a series, and a column for each value of x. Cells hold ratios where
/// the view has `over`.
fn grid(run: &Run, shown: &Shown) -> String {
    let view = &shown.view;
    let places = distinct(points(shown).map(|point| at(shown, point)));
    let figures = || view.figure.iter().copied();
    let rows = series(shown).flat_map(|(panel, series)| figures().map(move |figure| (panel, series, figure)));
    let has_panels = shown.panels.iter().any(|panel| !panel.name.is_empty());
    let value = |point: &Point, figure: Figure| {
        let failed = match point.failed_requests {
            0 => String::new(),
            failed => format!(", {} failed", count(failed)),
        };
        let value = match view.over.is_empty() {
            true => point.figures.get(&figure).map(|value| estimate(*value, writer(figure))),
            false => point.ratios.get(&figure).map(|value| ratio(*value)),
        };
        value.map_or_else(|| "-".to_owned(), |value| value.replace(NO_INTERVAL, "") + &failed)
    };
    Columns::of(2 + usize::from(has_panels), rows)
        .with_numbers_last()
        .column_if(has_panels, panels(run, shown), |(panel, ..)| panel.name.clone())
        .column(axis(run, &view.series), |(_, series, _)| series.label.clone())
        .column("figure", |(.., figure)| words(run, *figure))
        .columns(places.iter().map(|place| (place, place)), |(_, series, figure), place| {
            let point = series.points.iter().find(|point| at(shown, point) == **place);
            point.map_or_else(|| "-".to_owned(), |point| value(point, *figure))
        })
        .markdown()
}

/// `has_all_intervals`: those of the first figure alone, where it is false.
fn table(run: &Run, shown: &Shown, has_all_intervals: bool) -> String {
    let view = &shown.view;
    if view.grid {
        return grid(run, shown);
    }
    let has_panels = shown.panels.iter().any(|panel| !panel.name.is_empty());
    let behind = Along::named(&view.x).as_ref().and_then(behind);
    let text_columns = 2 + usize::from(has_panels) + usize::from(behind.is_some());
    // Where no row has an interval, a note says so once.
    let has_intervals = has_intervals(shown) && has_all_intervals;
    let written = |text: String| if has_intervals { text } else { text.replace(NO_INTERVAL, "") };
    let mut table = Columns::of(text_columns, each(shown))
        .column_if(has_panels, panels(run, shown), |(panel, ..)| panel.name.clone())
        .column(axis(run, &view.series), |(_, series, _)| series.label.clone())
        .columns(behind.as_ref().map(|of| (axis(run, &of.name()), ())), |(.., point), ()| point.place.clone())
        .column(loads(axis(run, &view.x)), |(.., point)| match (&behind, point.x) {
            (Some(_), None) => "-".to_owned(),
            _ => at(shown, point),
        });
    for &figure in &view.figure {
        let has_own = has_all_intervals || view.figure.first() == Some(&figure);
        let value = |value: &Estimate| match has_own {
            true => written(estimate(*value, writer(figure))),
            false => writer(figure)(value.value),
        };
        let signed = |value: &Estimate| written(estimate(*value, |value| signed(figure, value)));
        let over = format!("over {}", in_words(run, &view.over));
        let above = format!("above {}", in_words(run, &view.minus));
        table = table
            .column(words(run, figure), |(.., point)| dash(point.figures.get(&figure), value))
            .column_if(!view.over.is_empty(), over, |(.., point)| {
                dash(point.ratios.get(&figure), |value| written(ratio(*value)))
            })
            .column_if(!view.minus.is_empty(), above, |(.., point)| {
                dash(point.differences.get(&figure), signed)
            });
    }
    if let (Some(_), Some(&first)) = (&view.bound, view.figure.first()) {
        table = table.column("allowed", |(.., point)| dash(point.bound, writer(first))).column(
            "of it",
            |(.., point)| {
                let value = point.figures.get(&first).zip(point.bound);
                dash(value, |(estimate, bound)| percent(estimate.value / bound))
            },
        );
    }
    let failed = if run.plan.campaign.hold { "failed connections" } else { "failed requests" };
    table
        .column_if(points(shown).any(|point| point.held.is_some()), "held", |(.., point)| {
            dash(point.held, |held| share_held(held, point.trials))
        })
        .column(failed, |(.., point)| count(point.failed_requests))
        .column("trials", |(.., point)| count(point.trials as u64))
        .column_if(points(shown).any(|point| !point.marks.is_empty()), "distrust", |(.., point)| {
            joined(point.marks.iter().map(|mark| mark.letter()), " ")
        })
        .markdown()
}

/// In how many trials a rate was held; bold where not in all.
fn share_held(held: usize, trials: usize) -> String {
    let share = format!("{held} of {trials}");
    if held == trials { share } else { format!("**{share}**") }
}

/// The name of an axis over its values, which is no figure's.
fn loads(axis: String) -> String {
    if axis == "requests/s" { "requested/s".to_owned() } else { axis }
}

/// Whether any estimate of a view has an interval.
fn has_intervals(shown: &Shown) -> bool {
    let has = |by: &BTreeMap<Figure, Estimate>| by.values().any(|estimate| estimate.interval.is_some());
    points(shown).any(|point| has(&point.figures) || has(&point.ratios) || has(&point.differences))
}

/// What panels differ in.
fn panels(run: &Run, shown: &Shown) -> String {
    let names = list(shown.panel_axes.iter().map(|name| axis(run, name)));
    if names.is_empty() { "panel".to_owned() } else { names }
}

/// The fitted lines; empty where there are none.
fn lines_table(run: &Run, shown: &Shown) -> String {
    let Some(&figure) = shown.view.figure.first() else { return String::new() };
    let rows = series(shown).filter_map(|(panel, series)| {
        let (at_0, slope) = line(series)?;
        Some((panel, series, at_0, slope, series.line.as_ref()?))
    });
    Columns::of(2, rows)
        .column(panels(run, shown), |(panel, ..)| panel.name.clone())
        .column(axis(run, &shown.view.series), |(_, series, ..)| series.label.clone())
        .column(format!("intercept, {}", words(run, figure)), |(_, _, at_0, ..)| {
            estimate(*at_0, writer(figure))
        })
        .column(format!("slope, by {}", axis(run, &shown.view.x)), |(.., slope, _)| {
            estimate(*slope, |value| significant_of(figure, value))
        })
        .column("largest distance from the line", |(.., line)| dash(line.misfit, percent))
        .column("blocks", |(.., line)| line.blocks)
        .within(|table| format!("\n### Lines\n\n{table}"))
}

/// The charts of all views, those of all cells too.
pub(super) fn pictures(run: &Run) -> impl Iterator<Item = Picture> {
    let views = run.summary.views.iter().enumerate();
    let views = views.filter_map(|(number, shown)| picture(run, &format!("view-{}.svg", number + 1), shown));
    run.figures.iter().flat_map(|shown| of_figures(run, shown)).chain(views)
}

fn picture(run: &Run, file: &str, shown: &Shown) -> Option<Picture> {
    let note = known(shown.view.bound.as_ref(), "", |bound| format!("A thin line is {bound}."));
    Some(Picture::new(file, &shown.view.title, note, charts::view::chart(run, shown)?))
}

/// What a template shows of all cells. `brief` leaves charts out where there are others.
pub(super) fn figures(run: &Run, brief: bool) -> impl Iterator<Item = Value> {
    let has_others = !run.summary.views.is_empty() || super::answer::of(run).is_some();
    let shown = run.figures.iter().filter(|shown| points(shown).next().is_some());
    shown.map(move |shown| {
        let pictures = of_figures(run, shown);
        let charts = match brief && has_others && !pictures.is_empty() {
            true => format!("`just open results/{}` draws the charts.\n", run.name),
            false => super::format::sections(pictures.iter().map(Picture::markdown)),
        };
        let held = if points(shown).any(|point| point.held.is_some()) { HELD } else { "" };
        context! { title => &*shown.view.title, text => format!("{charts}\n{}\n{held}", table(run, shown, false)) }
    })
}

/// The charts of a view of all cells: its own where nothing else is drawn along the loads, latency by percentile, and
/// what was used through the window.
fn of_figures(run: &Run, shown: &Shown) -> Vec<Picture> {
    let has_own = run.summary.views.is_empty() && run.plan.amounts().len() > 1;
    let file = format!("{}.svg", shown.view.title.to_lowercase().replace(' ', "-"));
    let own = has_own.then(|| picture(run, &file, shown)).flatten();
    // Curves are of all rates; this chart is of one.
    let of = |figure| shown.view.figure.first() == Some(&figure);
    let by_percentile = (of(Figure::P99Us) && !show_rates(run)).then(|| charts::quantiles(run)).flatten();
    let through = of(Figure::CpuUsPerRequest).then(|| charts::resources(run)).flatten();
    own.into_iter().chain(by_percentile).chain(through).collect()
}

/// Whether what an axis or a figure counts is bytes.
pub(super) fn is_bytes(axis: &str) -> bool {
    match Along::named(axis) {
        Some(Along::Figure(figure)) => figure.described().1 == Unit::Bytes,
        other => other == Some(Along::Setting("memory_max")),
    }
}
