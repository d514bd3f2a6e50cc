//! What a campaign's views show: cells by their coordinates, ratios paired by block, lines, and what arithmetic allows.

mod located;
mod suggested;

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::caveats::Mark;
use super::ceilings::holds;
use super::cell::Cell;
use super::comparison::ratio;
use super::fitted_lines::FittedLine;
use super::observed::{ByBlock, Observed, Samples, grouped, median_of};
use crate::config::{Along, Fit, View, variable};
use crate::figure::Figure;
use crate::observation::{Observation, Sample};
use crate::plan::Plan;
use crate::stats::Estimate;
use located::{Located, Place, locate, located, varied};

/// The fewest points that a line is fitted through.
const LEAST_POINTS: usize = 3;

/// A view of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// What it shows.
    pub view: View,
    /// The axes that panels differ in: its own, and every other one that it does not name and cells differ in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub panel_axes: Vec<String>,
    /// By the values of these axes.
    pub panels: Vec<Panel>,
}

/// A part of a view whose cells differ only in its x and its series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// What its cells have in common; empty where there is one panel.
    pub name: String,
    /// By the values of the series' axis.
    pub series: Vec<Series>,
}

/// A line of a panel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its value of the series' axis: a server by its name in `servers.toml`, or a setting in words.
    pub name: String,
    /// What a reader knows it by: of a server, its label.
    pub label: String,
    /// By rising x.
    pub points: Vec<Point>,
    /// The line through the first figure, where one is fitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<FittedLine>,
}

/// A cell in a view.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Its place on x where that is a number: the axis's value, or the figure's median.
    pub x: Option<f64>,
    /// That place in words; where x is a figure, the place on the axis that it changes with ([`behind`]).
    pub place: String,
    /// The server, workload and load of the cell.
    pub server: String,
    /// The request.
    pub workload: String,
    /// Connections, or requests a second.
    pub amount: u32,
    /// Medians over trials.
    pub figures: BTreeMap<Figure, Estimate>,
    /// Figures over those of the cell that the view's `over` names: medians of per-block ratios, each with an interval
    /// of 95 %.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ratios: BTreeMap<Figure, Estimate>,
    /// Figures less those of the cell that the view's `minus` names: medians of per-block differences, each with an
    /// interval of 95 %.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub differences: BTreeMap<Figure, Estimate>,
    /// What arithmetic allows the first figure to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// Failed requests of all trials.
    pub failed_requests: u64,
    /// Valid trials.
    pub trials: usize,
    /// What to distrust.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// Trials that held their rate, by the rule by which load tools are judged; only in an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<usize>,
}

/// The views of a run: the campaign's own, or those that its axes, or arms over networks, suggest.
///
/// # Errors
/// A view names an axis that there is not.
pub fn shown(plan: &Plan, cells: &[Cell], observations: &[Observation]) -> Result<Vec<Shown>> {
    let campaign = &plan.campaign;
    let located = located(plan, cells);
    let suggested = match campaign.views.is_empty() {
        false => Vec::new(),
        true => suggested::suggested(plan, &located),
    };
    let views = campaign.views.iter().chain(&suggested);
    let observed = Observed::new(observations);
    views.map(|view| show(plan, view, &located, &observed)).collect()
}

/// The views that every run has: all of its cells, the ceiling's too, with the figures that some of them have.
///
/// # Errors
/// Never: they name no axis that a campaign may lack.
pub fn of_all_cells(plan: &Plan, cells: &[Cell], observations: &[Observation]) -> Result<Vec<Shown>> {
    let located: Vec<Located<'_>> = cells.iter().map(|cell| locate(plan, cell)).collect();
    let observed = Observed::new(observations);
    let views = suggested::of_all_cells(plan, cells);
    views.iter().map(|view| show(plan, view, &located, &observed)).collect()
}

fn show(plan: &Plan, view: &View, all: &[Located<'_>], observed: &Observed<'_>) -> Result<Shown> {
    let only = view.only()?;
    let over = view.over()?;
    // A server of a duet is shown beside that of the denominator alone.
    let is_pair = |one: &Located<'_>| match one.cell.beside {
        None => true,
        Some(_) => all.iter().any(|other| {
            is_beside(one, other)
                && !over.is_empty()
                && over.iter().all(|(axis, value)| other.is_at(axis, value))
        }),
    };
    let is_shown = |one: &&Located<'_>| {
        is_pair(one) && only.iter().all(|(axis, values)| values.iter().any(|value| one.is_at(axis, value)))
    };
    let shown: Vec<Located<'_>> = all.iter().filter(is_shown).cloned().collect();
    let varied = varied(&shown);
    let (x, series, panels) = (view.x()?, view.series()?, view.panels()?);
    let minus = view.minus()?;
    let mut taken = vec![x.clone(), series.clone()];
    taken.extend(behind(&x).into_iter().chain(panels.clone()));
    let others = varied.into_iter().filter(|axis| !taken.contains(axis));
    let names: Vec<Along> = panels.into_iter().chain(others).collect();
    let key = |one: &Located<'_>| names.iter().filter_map(|axis| one.places.get(axis).cloned()).collect();
    let mut found: Vec<(Vec<Place>, _)> = grouped(shown.iter().map(|one| (key(one), one)));
    found.sort_by(|(one, _), (other, _)| one.partial_cmp(other).unwrap_or(std::cmp::Ordering::Equal));
    let of_panel = |(key, cells): (Vec<Place>, Vec<&Located<'_>>)| {
        let name = key.iter().map(|place| place.words.as_str()).collect::<Vec<_>>().join(", ");
        let context = Context { plan, view, x: &x, over: &over, minus: &minus, all, observed };
        Panel { name, series: context.series(&series, &cells) }
    };
    let panel_axes = names.iter().map(|axis| axis.name()).collect();
    Ok(Shown { view: view.clone(), panel_axes, panels: found.into_iter().map(of_panel).collect() })
}

/// Whether the other cell is that of the server at the other side of a duet.
fn is_beside(one: &Located<'_>, other: &Located<'_>) -> bool {
    let (one, other) = (one.cell, other.cell);
    one.beside.as_deref() == Some(&*other.server)
        && other.beside.as_deref() == Some(&*one.server)
        && (&one.workload, one.level) == (&other.workload, other.level)
}

/// The axis that a figure changes with, which is no panel of its own: a round trip with the network, an answer's length
/// with the request, all others with the load. None of an axis.
pub fn behind(x: &Along) -> Option<Along> {
    match x {
        Along::Figure(Figure::RoundTripUs) => Some(Along::Setting("network")),
        Along::Figure(Figure::AnswerBytes) => Some(Along::Workload),
        Along::Figure(_) => Some(Along::Load),
        _ => None,
    }
}

/// What a point is made from.
struct Context<'a> {
    plan: &'a Plan,
    view: &'a View,
    x: &'a Along,
    over: &'a [(Along, &'a Value)],
    minus: &'a [(Along, &'a Value)],
    all: &'a [Located<'a>],
    observed: &'a Observed<'a>,
}

impl Context<'_> {
    fn series(&self, axis: &Along, cells: &[&Located<'_>]) -> Vec<Series> {
        let placed = cells.iter().filter_map(|one| Some((one.places.get(axis)?.clone(), *one)));
        let mut found = grouped(placed);
        found.sort_by(|(one, _), (other, _)| one.order.total_cmp(&other.order));
        let series = |(place, cells): (Place, Vec<&Located<'_>>)| {
            let mut points: Vec<(f64, Point)> = cells.iter().map(|one| self.point(one)).collect();
            points.sort_by(|(one, _), (other, _)| one.total_cmp(other));
            let points = points.into_iter().map(|(_, point)| point).collect();
            let line = self.view.fit.and_then(|Fit::Line| self.line(&cells));
            let label = place.words;
            let entry = cells.first().filter(|_| *axis == Along::Server).map(|one| one.entry.to_owned());
            Series { name: entry.unwrap_or_else(|| label.clone()), label, points, line }
        };
        found.into_iter().map(series).collect()
    }

    /// A cell as a point, and its order on x.
    fn point(&self, one: &Located<'_>) -> (f64, Point) {
        let cell = one.cell;
        let value = |figure: Figure| cell.figure(figure).map(|estimate| estimate.value);
        let (order, place, x) = match self.x {
            Along::Figure(figure) => {
                let x = value(*figure);
                let place = behind(self.x).and_then(|axis| one.places.get(&axis));
                (x.unwrap_or(-1.0), place.map_or_else(String::new, |place| place.words.clone()), x)
            }
            axis => match one.places.get(axis) {
                Some(place) => (place.order, place.words.clone(), place.number),
                None => (0.0, String::new(), None),
            },
        };
        let samples = self.samples(cell);
        let figures = self.view.figure.iter();
        let figures = figures.filter_map(|figure| Some((*figure, self.estimate(cell, &samples, *figure)?)));
        let of = |name: &str| {
            let (along, times) = variable(name)?;
            let number = match along {
                Along::Figure(figure) => value(figure),
                axis => one.places.get(&axis).and_then(|place| place.number),
            };
            Some(number? * times)
        };
        let bound =
            self.view.bound.as_ref().and_then(|bound| bound.value(&of)).filter(|bound| bound.is_finite());
        let point = Point {
            x,
            place,
            server: cell.server.clone(),
            workload: cell.workload.clone(),
            amount: cell.level.amount(),
            figures: figures.collect(),
            ratios: self.against(one, self.over, ratio),
            differences: self.against(one, self.minus, |own, others| {
                median_of(own.iter().filter_map(|(block, value)| Some(value - others.get(block)?)))
            }),
            bound,
            failed_requests: cell.failed_requests.values().sum(),
            trials: cell.completed,
            marks: cell.marks.clone(),
            held: cell.level.rate.map(|_| samples.values().filter(|sample| holds(&sample.load)).count()),
        };
        (order, point)
    }

    fn samples(&self, cell: &Cell) -> Samples<'_> {
        self.observed.samples_of((&cell.server, cell.beside.as_deref(), &cell.workload, cell.level))
    }

    fn estimate(&self, cell: &Cell, samples: &Samples<'_>, figure: Figure) -> Option<Estimate> {
        match &self.view.method {
            None => cell.figure(figure).filter(|_| cell.level.tells(figure)),
            Some(_) => median_of(samples.values().filter_map(|sample| self.value(cell, sample, figure))),
        }
    }

    /// A figure of a cell's trial; where the view names a method, of its calls alone. None where the trial has no such
    /// calls, or its load tool does not report latency by method.
    fn value(&self, cell: &Cell, sample: &Sample, figure: Figure) -> Option<f64> {
        let Some(method) = &self.view.method else { return sample.figure(figure) };
        let workload = self.plan.workload(&cell.workload).ok()?;
        if !workload.is_mix() {
            return sample.figure(figure).filter(|_| workload.method() == *method);
        }
        let of = sample.load.details.methods.iter().find(|of| of.method == *method)?;
        match figure {
            Figure::P50Us => Some(of.latency_us.p50),
            Figure::P99Us => Some(of.latency_us.p99),
            Figure::P999Us => of.latency_us.p999,
            Figure::MaxUs => Some(of.latency_us.max),
            _ => None,
        }
    }

    /// A cell's figures against those of the cell at some other values, by their blocks; none of that cell itself.
    fn against(
        &self,
        one: &Located<'_>,
        values: &[(Along, &Value)],
        compare: impl Fn(&ByBlock, &ByBlock) -> Option<Estimate>,
    ) -> BTreeMap<Figure, Estimate> {
        let Some(other) = self.reference(one, values) else { return BTreeMap::new() };
        let by_block = |cell: &Cell, figure| -> ByBlock {
            let samples = self.samples(cell);
            let value = |(block, sample): (&u32, &&Sample)| Some((*block, self.value(cell, sample, figure)?));
            samples.iter().filter_map(value).collect()
        };
        let of = |figure| compare(&by_block(one.cell, figure), &by_block(other.cell, figure));
        self.view.figure.iter().filter_map(|figure| Some((*figure, of(*figure)?))).collect()
    }

    /// The cell with these values and all else the same.
    fn reference(&self, one: &Located<'_>, values: &[(Along, &Value)]) -> Option<&Located<'_>> {
        if values.is_empty() {
            return None;
        }
        let is_stated = |axis: &Along| values.iter().any(|(stated, _)| stated == axis);
        let is_reference = |other: &&Located<'_>| {
            if one.cell.beside.is_some() && !is_beside(one, other) {
                return false;
            }
            values.iter().all(|(axis, value)| other.is_at(axis, value))
                && one
                    .places
                    .iter()
                    .filter(|(axis, _)| !is_stated(axis))
                    .all(|(axis, place)| other.places.get(axis) == Some(place))
        };
        self.all.iter().find(is_reference).filter(|other| !std::ptr::eq(other.cell, one.cell))
    }

    /// A line through the first figure of each block.
    fn line(&self, cells: &[&Located<'_>]) -> Option<FittedLine> {
        let figure = *self.view.figure.first()?;
        let mut blocks: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
        for one in cells {
            for (block, sample) in self.samples(one.cell) {
                let x = match self.x {
                    Along::Figure(figure) => sample.figure(*figure),
                    axis => one.places.get(axis).and_then(|place| place.number),
                };
                let point = x.zip(self.value(one.cell, sample, figure)).filter(|(_, y)| *y > 0.0);
                blocks.entry(block).or_default().extend(point);
            }
        }
        let line = FittedLine::new(&blocks);
        (line.points.len() >= LEAST_POINTS).then_some(line)
    }
}

/// The least and the most of some values.
pub fn range(values: impl Iterator<Item = f64> + Clone) -> Option<(f64, f64)> {
    let least = values.clone().reduce(f64::min)?;
    Some((least, values.reduce(f64::max)?))
}

/// What a view's points reach of what arithmetic allows: the least and the most share.
pub fn shares(shown: &Shown) -> Option<(f64, f64)> {
    let figure = *shown.view.figure.first()?;
    let points = shown.panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.points);
    let share =
        |point: &Point| Some(point.figures.get(&figure)?.value / point.bound.filter(|bound| *bound > 0.0)?);
    range(points.filter_map(share))
}
