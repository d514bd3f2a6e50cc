//! Sections of a campaign's views: one renderer for the table, the chart and the headline of each.

mod claims;
mod headline;
pub(super) mod points;

use std::collections::BTreeMap;

use minijinja::{Value, context};

use super::Run;
use super::charts::{self, Picture};
use super::columns::Columns;
use super::format::{bullets, count, dash, distinct, estimate, joined, known, list, percent, ratio, writer};
use bench_core::config::Along;
use bench_core::figure::Figure;
use bench_core::stats::Estimate;
use bench_core::views::{Point, Shown, behind};

pub(super) use headline::headline;
use points::{
    NO_INTERVAL, at, axis, each, in_words, line, points, series, show_rates, signed, significant_of, words,
};

/// What a table with rates means by held.
const HELD: &str = "A rate is held where 99 % of its requests were sent and answered, and 99 % were sent at most 10 ms \
    late; *held* says in how many trials.";

/// How the lines of a view are fitted.
const FITTED: &str = "Lines are fitted in each block by relative error; their two numbers are medians over blocks with \
    95 % intervals.";

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
