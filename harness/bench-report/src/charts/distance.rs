//! Rate and p99 against the round trip: a line for each server over each transport, and what arithmetic expects of the
//! rate.

use std::collections::BTreeSet;

use super::super::Run;
use super::super::distance::{self, Family, Placed, placed};
use super::super::format::thousands;
use super::series::known_colour;
use super::{Axis, COLOURS, Chart, Key, Mark, Panel, Plot, Point, Row, Series, Style, time_tick};
use bench_model::figure::Figure;

/// The widths of a server's line and of the arithmetic's, in pixels.
const WIDTHS: (f64, f64) = (2.0, 1.0);

/// What arithmetic expects is no server's.
const EXPECTED: Style = Style { colour: COLOURS.len(), variant: 1 };

/// The chart; `None` where no network without losses was measured.
pub(crate) fn chart(run: &Run) -> Option<Chart> {
    let mut all = placed(run);
    all.retain(|placed| placed.network.is_some_and(|network| network.loss() == 0.0));
    all.iter().find_map(|placed| placed.value(Figure::RoundTripUs))?;
    let mut families: Vec<Family> = Vec::new();
    for placed in &all {
        if !families.contains(&placed.family) {
            families.push(placed.family.clone());
        }
    }
    let plot = |what: &str, y: Axis, figure: Figure| {
        let panel = |name: &str| panel(&all, &families, name, what, figure);
        let panels = run.measured_workloads().map(|workload| panel(&workload.name)).collect();
        let axes = [Axis::log("round trip", time_tick), y];
        Row::Plot(Plot { title: String::new(), axes, panels, columns: 2, height: 240.0 })
    };
    let is_closed = run.plan.campaign.open.is_none();
    let mut rows = Vec::new();
    if is_closed {
        rows.push(plot(
            "rate",
            Axis::log(&format!("{}/s", distance::calls(run)), rate_tick),
            Figure::RequestsPerSecond,
        ));
    }
    rows.push(plot("p99", Axis::log("latency", time_tick), Figure::P99Us));
    let mut legend: Vec<(Key, String)> = families
        .iter()
        .enumerate()
        .map(|(place, family)| (Key::Line(style(&families, place), WIDTHS.0, Mark::Full), family.label()))
        .collect();
    if is_closed {
        legend.push((Key::Line(EXPECTED, WIDTHS.1, Mark::None), distance::expected(run).to_owned()));
    }
    Some(Chart { rows, legend, ..Chart::default() })
}

/// A server has one colour; its other transports and batches are dashed.
fn style(families: &[Family], place: usize) -> Style {
    let server = &families[place].server;
    let colour = known_colour(server).unwrap_or(place % COLOURS.len());
    Style { colour, variant: families[..place].iter().filter(|family| family.server == *server).count() }
}

/// A rate on the axis, which has room for seven characters.
fn rate_tick(rate: f64) -> String {
    if rate < 1e6 { thousands(rate) } else { format!("{} M", rate / 1e6) }
}

fn panel(all: &[Placed<'_>], families: &[Family], workload: &str, what: &str, figure: Figure) -> Panel {
    let of = |family: &Family| {
        let own = all.iter().filter(|placed| placed.family == *family && placed.cell.workload == workload);
        own.collect::<Vec<_>>()
    };
    let point = |placed: &&Placed<'_>| {
        let (x, y) = (placed.value(Figure::RoundTripUs)?, placed.cell.figure(figure)?);
        Some(Point { x, y: y.value, interval: y.interval, mark: Mark::Full })
    };
    let mut series = Vec::new();
    if figure == Figure::RequestsPerSecond {
        let batches: BTreeSet<u32> = families.iter().map(|family| family.batch).collect();
        for batch in batches {
            let mut expected: Vec<(f64, f64)> = all
                .iter()
                .filter(|placed| placed.cell.workload == workload && placed.family.batch == batch)
                .filter_map(|placed| Some((placed.value(Figure::RoundTripUs)?, placed.by_arithmetic()?)))
                .collect();
            expected.sort_by(|one, other| one.0.total_cmp(&other.0));
            series.push(Series::line(EXPECTED, WIDTHS.1, &expected));
        }
    }
    series.extend(families.iter().enumerate().map(|(place, family)| Series {
        style: style(families, place),
        width: WIDTHS.0,
        points: of(family).iter().filter_map(point).collect(),
    }));
    Panel { title: format!("{workload}: {what}"), series, empty: "not measured", ..Panel::default() }
}
