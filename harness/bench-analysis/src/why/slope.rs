//! CPU time for a request against the elements of its result: a straight line for each server and block, whose slope is
//! the cost of an element and whose intercept the cost of a request that returns none.
//!
//! Least squares with weights of one over the square of the whole, so that every length counts by its relative error.
//! All parts of the whole are fitted with the same weights, so the slopes of the parts add up to that of the whole.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Seen, cpu_us, samples};
use crate::observed::median_of;
use bench_model::cost::Rung;
use bench_model::figure::Figure;
use bench_model::plan::WhyPlan;
use bench_stats::{Estimate, Line as Fit, Weighted, hodges_lehmann};

/// CPU time against elements returned, of both servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlopeSummary {
    /// Connections.
    pub connections: u32,
    /// What an element is, in the singular.
    #[serde(default)]
    pub element: String,
    /// A line for each server: first the one that is explained.
    pub lines: Vec<Line>,
    /// Ratio of the slopes, paired by block.
    pub slope_ratio: Option<Estimate>,
    /// Ratio of the intercepts, paired by block.
    pub intercept_ratio: Option<Estimate>,
}

/// One server's CPU time against elements returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The server.
    pub server: String,
    /// By length, rising.
    pub points: Vec<Point>,
    /// CPU time for one more element, in nanoseconds.
    pub slope_ns: Option<Estimate>,
    /// CPU time for a request that returns none, in microseconds.
    pub intercept_us: Option<Estimate>,
    /// The slope's parts; none without runs in process.
    pub parts_ns: Option<PartsNs>,
    /// The largest relative distance of the line from a length's median.
    pub misfit: Option<f64>,
}

/// Medians over blocks at one length, in microseconds of CPU time for a request.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Elements that the result holds.
    pub slots: u64,
    /// Over HTTP.
    pub cpu_us: Estimate,
    /// In process, from bytes to bytes.
    pub dispatch_us: Option<Estimate>,
}

/// The cost of one more element, by part, in nanoseconds of CPU time. The parts add up to the slope in every block.
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
struct LengthSample {
    slots: f64,
    cpu: f64,
    system: f64,
    /// State and dispatch, where they ran in process.
    in_process: Option<(f64, f64)>,
}

impl SlopeSummary {
    /// From the slope's trials. `None` where nothing was measured.
    pub(super) fn new(request: &WhyPlan, seen: &Seen<'_>) -> Option<Self> {
        let by_length = request.why.slope.as_ref()?;
        let servers = [&request.server, &request.over];
        let blocks = servers.map(|server| by_block(request, seen, server));
        if blocks.iter().all(BTreeMap::is_empty) {
            return None;
        }
        let whole = |(block, points): (&u32, &Vec<LengthSample>)| {
            Some((*block, fit(points, |point| Some(point.cpu))?))
        };
        let fits: [BTreeMap<u32, Fit>; 2] =
            blocks.each_ref().map(|blocks| blocks.iter().filter_map(whole).collect());
        let ratio = |value: fn(&Fit) -> f64| {
            let log = |(block, a): (&u32, &Fit)| Some((value(a) / value(fits[1].get(block)?)).ln());
            let logs: Vec<f64> = fits[0].iter().filter_map(log).filter(|log| log.is_finite()).collect();
            Some(hodges_lehmann(&logs)?.map(f64::exp))
        };
        let lines = (0..2).map(|side| Line::new(servers[side], &blocks[side], &fits[side])).collect();
        Some(Self {
            connections: by_length.connections,
            element: by_length.element.clone(),
            lines,
            slope_ratio: ratio(|fit| fit.slope),
            intercept_ratio: ratio(|fit| fit.intercept),
        })
    }
}

/// A server's samples, by block and rising length.
fn by_block(request: &WhyPlan, seen: &Seen<'_>, server: &str) -> BTreeMap<u32, Vec<LengthSample>> {
    let mut blocks: BTreeMap<u32, Vec<LengthSample>> = BTreeMap::new();
    for workload in &seen.plan.workloads {
        let Some(slots) = request.returned.get(&workload.name) else { continue };
        let samples = samples(seen, server, &workload.name, request);
        let [state, dispatch] = Rung::ALL.map(|rung| cpu_us(seen.in_process, server, &workload.name, rung));
        for (block, sample) in samples {
            let figures =
                sample.figure(Figure::CpuUsPerRequest).zip(sample.figure(Figure::SystemUsPerRequest));
            let Some((cpu, system)) = figures.filter(|(cpu, _)| *cpu > 0.0) else { continue };
            let in_process = state.get(&block).copied().zip(dispatch.get(&block).copied());
            let slots = *slots as f64;
            blocks.entry(block).or_default().push(LengthSample { slots, cpu, system, in_process });
        }
    }
    blocks
}

/// The line through a figure of the points, weighted by the whole.
fn fit(points: &[LengthSample], figure: impl Fn(&LengthSample) -> Option<f64>) -> Option<Fit> {
    let weighted = |point: &LengthSample| {
        Some(Weighted { x: point.slots, y: figure(point)?, weight: 1.0 / (point.cpu * point.cpu) })
    };
    let values: Vec<Weighted> = points.iter().map(weighted).collect::<Option<_>>()?;
    bench_stats::line(&values)
}

impl Line {
    fn new(server: &str, blocks: &BTreeMap<u32, Vec<LengthSample>>, fits: &BTreeMap<u32, Fit>) -> Self {
        let of = |value: fn(&Fit) -> f64| median_of(fits.values().map(value));
        let (slope_ns, intercept_us) = (of(|fit| fit.slope * 1e3), of(|fit| fit.intercept));
        let points = points(blocks);
        let misfit = slope_ns.zip(intercept_us).and_then(|(slope, intercept)| {
            let miss = |point: &Point| {
                let line = intercept.value + slope.value / 1e3 * point.slots as f64;
                (line / point.cpu_us.value - 1.0).abs()
            };
            points.iter().map(miss).max_by(f64::total_cmp)
        });
        let parts_ns = PartsNs::new(blocks);
        Self { server: server.to_owned(), points, slope_ns, intercept_us, parts_ns, misfit }
    }
}

fn points(blocks: &BTreeMap<u32, Vec<LengthSample>>) -> Vec<Point> {
    let mut by_length: BTreeMap<u64, Vec<LengthSample>> = BTreeMap::new();
    for point in blocks.values().flatten() {
        by_length.entry(point.slots as u64).or_default().push(*point);
    }
    let point = |(slots, measured): (u64, Vec<LengthSample>)| {
        Some(Point {
            slots,
            cpu_us: median_of(measured.iter().map(|one| one.cpu))?,
            dispatch_us: median_of(measured.iter().filter_map(|one| Some(one.in_process?.1))),
        })
    };
    by_length.into_iter().filter_map(point).collect()
}

impl PartsNs {
    fn new(blocks: &BTreeMap<u32, Vec<LengthSample>>) -> Option<Self> {
        let of = |value: fn(&LengthSample) -> Option<f64>| {
            median_of(blocks.values().filter_map(|points| Some(fit(points, value)?.slope * 1e3)))
        };
        Some(Self {
            state: of(|point| Some(point.in_process?.0))?,
            serialising: of(|point| point.in_process.map(|(state, dispatch)| dispatch - state))?,
            http_user: of(|point| Some(point.cpu - point.system - point.in_process?.1))?,
            system: of(|point| point.in_process.map(|_| point.system))?,
        })
    }
}
