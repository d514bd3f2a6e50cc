//! What each server of an open loop used at each rate: processors, memory and CPU time for a request, and whether it
//! held the rate.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ceilings::holds;
use super::observed::{Observed, median_figure};
use bench_model::figure::Figure;
use bench_model::load::Level;
use bench_model::observation::{Observation, Sample};
use bench_model::plan::Plan;

/// The fewest rates that make a curve.
const LEAST_RATES: usize = 4;

/// A server with one request, by rising rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ByRate {
    /// The server.
    pub server: String,
    /// The request.
    pub workload: String,
    /// At least one.
    pub points: Vec<RatePoint>,
}

/// A server at a rate. Over its valid trials; what is unknown was not read, or can't be read here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RatePoint {
    /// Requests a second that were due.
    pub requested: u32,
    /// Requests a second that were answered.
    pub answered: Spread,
    /// Processors that the server used.
    pub cores: Option<Spread>,
    /// CPU time of the server for a request, in microseconds.
    pub cpu_us: Option<Spread>,
    /// The most resident memory of the server in the window, in bytes.
    pub memory_bytes: Option<Spread>,
    /// Latency from when a request was due, in microseconds: the median.
    pub p50_us: f64,
    /// And the 99th percentile.
    pub p99_us: f64,
    /// Trials that held the rate, by the rule by which load tools are judged: 99 % of the requests were sent and
    /// answered, and 99 % of them were sent at most 10 ms late.
    pub held: usize,
    /// Valid trials.
    pub trials: usize,
}

impl RatePoint {
    /// Whether every trial held the rate.
    pub fn is_held(&self) -> bool {
        self.held == self.trials
    }
}

/// A figure over the trials of a rate, one a block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The lowest.
    pub low: f64,
    /// The highest.
    pub high: f64,
}

/// The servers of a run at their rates, without the one that shows what load tools can send. None where there are fewer
/// than four rates, several load tools, a disturbance on purpose, or a gateway, whose process is only a part of what is
/// used.
pub fn by_rate(plan: &Plan, observations: &[Observation]) -> Vec<ByRate> {
    let Some(open) = &plan.campaign.open else { return Vec::new() };
    let rates: BTreeMap<u32, Level> =
        plan.levels().into_iter().filter_map(|level| Some((level.rate?, level))).collect();
    let has_gateway = plan.servers.iter().any(|server| server.upstream.is_some());
    let is_disturbed = open.background.is_some() || open.stall.is_some();
    if rates.len() < LEAST_RATES || rates.len() != plan.levels().len() || is_disturbed || has_gateway {
        return Vec::new();
    }
    let observed = Observed::new(observations);
    let is_measured = |server: &&String| !plan.is_ceiling(server);
    let mut found = Vec::new();
    for workload in &plan.campaign.workloads {
        for server in plan.campaign.servers.iter().filter(is_measured) {
            let point = |(&rate, &level): (&u32, &Level)| {
                let samples = observed.samples(server, workload, level);
                let spread = |figure| Spread::of(samples.values().filter_map(|sample| sample.figure(figure)));
                let median = |figure| Some(median_figure(&samples, figure)?.value);
                Some(RatePoint {
                    requested: rate,
                    answered: Spread::of(samples.values().filter_map(|sample| answered(sample)))?,
                    cores: spread(Figure::ServerCores),
                    cpu_us: spread(Figure::CpuUsPerRequest),
                    memory_bytes: spread(Figure::HeldMemoryBytes),
                    p50_us: median(Figure::P50Us)?,
                    p99_us: median(Figure::P99Us)?,
                    held: samples.values().filter(|sample| holds(&sample.load)).count(),
                    trials: samples.len(),
                })
            };
            let points: Vec<RatePoint> = rates.iter().filter_map(point).collect();
            if !points.is_empty() {
                found.push(ByRate { server: server.clone(), workload: workload.clone(), points });
            }
        }
    }
    found
}

/// Requests answered for each second in which requests were due. Not over the time until the last answer: then a single
/// late one would lower the rate of a short window.
fn answered(sample: &Sample) -> Option<f64> {
    let open = sample.load.open.as_ref()?;
    Some(open.requested_rate * sample.load.succeeded as f64 / open.intended.max(1) as f64)
}

impl Spread {
    /// The same in another unit, by an increasing function.
    #[must_use]
    pub fn map(self, function: impl Fn(f64) -> f64) -> Self {
        Self { median: function(self.median), low: function(self.low), high: function(self.high) }
    }

    /// `None` of no value.
    fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let (low, high) = (*values.first()?, *values.last()?);
        let median = bench_stats::median(&values)?.value;
        Some(Self { median, low, high })
    }
}
