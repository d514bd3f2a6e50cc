//! CPU time for a getBlocks request against the slots that it returns: a straight line for each server and block, whose slope
//! is what a slot costs and whose intercept what a request costs that returns none.
//!
//! Least squares with weights of one over the square of the whole, so that every length counts by its relative miss. All parts
//! of the whole are fitted with the same weights, so the slopes of the parts add up to that of the whole.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Seen, cpu_us, samples};
use crate::cost::Rung;
use crate::figure::Figure;
use crate::plan::WhyPlan;
use crate::stats::{Estimate, hodges_lehmann, median};

/// Lengths that a line takes at least.
const LEAST_POINTS: usize = 3;

/// CPU time against slots returned, of both servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlopeSummary {
    /// Connections.
    pub connections: u32,
    /// A line for each server: first the one that is explained.
    pub lines: Vec<Line>,
    /// Ratio of the slopes, paired by block.
    pub slope_ratio: Option<Estimate>,
    /// Ratio of the intercepts, paired by block.
    pub intercept_ratio: Option<Estimate>,
}

/// One server's CPU time against slots returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The server.
    pub server: String,
    /// By length, rising.
    pub points: Vec<Point>,
    /// CPU time for a slot more, in nanoseconds.
    pub slope_ns: Option<Estimate>,
    /// CPU time for a request that returns none, in microseconds.
    pub intercept_us: Option<Estimate>,
    /// The slope's parts; none without runs in process.
    pub parts_ns: Option<PartsNs>,
    /// The most by which the line misses a length's median, relative.
    pub misfit: Option<f64>,
}

/// Medians over blocks at one length, in microseconds of CPU time for a request.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Slots that the answer holds.
    pub slots: u64,
    /// Over HTTP.
    pub cpu_us: Estimate,
    /// In process, from bytes to bytes.
    pub dispatch_us: Option<Estimate>,
}

/// What a slot more costs, by part, in nanoseconds of CPU time. They add up to the slope in every block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PartsNs {
    /// The method alone.
    pub state: Estimate,
    /// Serialising, and whatever else of the dispatch grows with the answer.
    pub serialising: Estimate,
    /// In the program, beyond its dispatch: handing the answer on.
    pub http_user: Estimate,
    /// In the kernel.
    pub system: Estimate,
}

/// One length in one block.
#[derive(Debug, Clone, Copy)]
struct Measured {
    slots: f64,
    cpu: f64,
    system: f64,
    /// State and dispatch, where they ran in process.
    in_process: Option<(f64, f64)>,
}

/// A straight line.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Fit {
    intercept: f64,
    slope: f64,
}

impl SlopeSummary {
    /// From the slope's trials. `None` where nothing was measured.
    pub(super) fn new(asked: &WhyPlan, seen: &Seen<'_>) -> Option<Self> {
        let connections = asked.why.slope.connections;
        let blocks = [&asked.server, &asked.over].map(|server| by_block(asked, seen, server));
        if blocks.iter().all(BTreeMap::is_empty) {
            return None;
        }
        let fits = [0, 1].map(|side: usize| {
            let fit = |(block, points): (&u32, &Vec<Measured>)| Some((*block, whole(points)?));
            blocks[side].iter().filter_map(fit).collect::<BTreeMap<u32, Fit>>()
        });
        let ratio = |value: fn(&Fit) -> f64| {
            let log = |(block, a): (&u32, &Fit)| Some((value(a) / value(fits[1].get(block)?)).ln());
            let logs: Vec<f64> = fits[0].iter().filter_map(log).filter(|log| log.is_finite()).collect();
            Some(hodges_lehmann(&logs)?.map(f64::exp))
        };
        let servers = [&asked.server, &asked.over];
        let lines = (0..2).map(|side| Line::new(servers[side], &blocks[side], &fits[side])).collect();
        Some(Self {
            connections,
            lines,
            slope_ratio: ratio(|fit| fit.slope),
            intercept_ratio: ratio(|fit| fit.intercept),
        })
    }
}

/// What was measured of a server, by block and rising length.
fn by_block(asked: &WhyPlan, seen: &Seen<'_>, server: &str) -> BTreeMap<u32, Vec<Measured>> {
    let mut blocks: BTreeMap<u32, Vec<Measured>> = BTreeMap::new();
    for workload in &seen.plan.workloads {
        let Some(slots) = asked.returned.get(&workload.name) else { continue };
        let samples = samples(seen, server, &workload.name, asked);
        let [state, dispatch] = Rung::ALL.map(|rung| cpu_us(seen.in_process, server, &workload.name, rung));
        for (block, sample) in samples {
            let figures =
                sample.figure(Figure::CpuUsPerRequest).zip(sample.figure(Figure::SystemUsPerRequest));
            let Some((cpu, system)) = figures.filter(|(cpu, _)| *cpu > 0.0) else { continue };
            let in_process = state.get(&block).copied().zip(dispatch.get(&block).copied());
            let slots = *slots as f64;
            blocks.entry(block).or_default().push(Measured { slots, cpu, system, in_process });
        }
    }
    blocks
}

/// The line through a figure of the points, weighted by the whole.
fn fit(points: &[Measured], figure: impl Fn(&Measured) -> Option<f64>) -> Option<Fit> {
    let values: Vec<(f64, f64, f64)> = points
        .iter()
        .map(|point| Some((point.slots, figure(point)?, 1.0 / (point.cpu * point.cpu))))
        .collect::<Option<_>>()?;
    if values.len() < LEAST_POINTS {
        return None;
    }
    let sum = |term: fn(&(f64, f64, f64)) -> f64| values.iter().map(term).sum::<f64>();
    let weight = sum(|(_, _, w)| *w);
    let (x, y) = (sum(|(x, _, w)| w * x) / weight, sum(|(_, y, w)| w * y) / weight);
    let spread: f64 = values.iter().map(|(of, _, w)| w * (of - x) * (of - x)).sum();
    let common: f64 = values.iter().map(|(of, value, w)| w * (of - x) * (value - y)).sum();
    let slope = common / spread;
    slope.is_finite().then_some(Fit { intercept: y - slope * x, slope })
}

fn whole(points: &[Measured]) -> Option<Fit> {
    fit(points, |point| Some(point.cpu))
}

impl Line {
    fn new(server: &str, blocks: &BTreeMap<u32, Vec<Measured>>, fits: &BTreeMap<u32, Fit>) -> Self {
        let of = |value: fn(&Fit) -> f64| median(&fits.values().map(value).collect::<Vec<_>>());
        let (slope_ns, intercept_us) = (of(|fit| fit.slope * 1e3), of(|fit| fit.intercept));
        let points = points(blocks);
        let misfit = slope_ns.zip(intercept_us).and_then(|(slope, intercept)| {
            let miss = |point: &Point| {
                let line = intercept.value + slope.value / 1e3 * point.slots as f64;
                (line / point.cpu_us.value - 1.0).abs()
            };
            points.iter().map(miss).max_by(f64::total_cmp)
        });
        Self {
            server: server.to_owned(),
            points,
            slope_ns,
            intercept_us,
            parts_ns: PartsNs::new(blocks),
            misfit,
        }
    }
}

fn points(blocks: &BTreeMap<u32, Vec<Measured>>) -> Vec<Point> {
    let mut by_length: BTreeMap<u64, Vec<Measured>> = BTreeMap::new();
    for point in blocks.values().flatten() {
        by_length.entry(point.slots as u64).or_default().push(*point);
    }
    let point = |(slots, measured): (u64, Vec<Measured>)| {
        let dispatch: Vec<f64> = measured.iter().filter_map(|one| Some(one.in_process?.1)).collect();
        Some(Point {
            slots,
            cpu_us: median(&measured.iter().map(|one| one.cpu).collect::<Vec<_>>())?,
            dispatch_us: median(&dispatch),
        })
    };
    by_length.into_iter().filter_map(point).collect()
}

impl PartsNs {
    fn new(blocks: &BTreeMap<u32, Vec<Measured>>) -> Option<Self> {
        let of = |value: fn(&Measured) -> Option<f64>| {
            let slopes: Vec<f64> =
                blocks.values().filter_map(|points| Some(fit(points, value)?.slope * 1e3)).collect();
            median(&slopes)
        };
        Some(Self {
            state: of(|point| Some(point.in_process?.0))?,
            serialising: of(|point| point.in_process.map(|(state, dispatch)| dispatch - state))?,
            http_user: of(|point| Some(point.cpu - point.system - point.in_process?.1))?,
            system: of(|point| point.in_process.map(|_| point.system))?,
        })
    }
}
