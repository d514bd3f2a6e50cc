//! Head-of-line blocking: how long a short call takes by itself, and how long among calls with long answers.
//!
//! From a campaign at a rate with two kinds of workloads: a single call, and a mix that has the same method among
//! others. Both are measured within the same block, so each ratio is one of a block.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::observed::{Observed, Samples, median_of};
use bench_model::load::{Latency, Level};
use bench_model::observation::{Observation, Sample};
use bench_model::plan::Plan;
use bench_model::workload::Workload;
use bench_stats::{Estimate, hodges_lehmann};

/// A method of a server, by itself and in a mix. Latencies count from when a call was due, in microseconds, and are
/// medians over valid trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeadOfLine {
    /// The server.
    pub server: String,
    /// The workload that is the method alone.
    pub alone: String,
    /// The mix.
    pub mix: String,
    /// The method.
    pub method: String,
    /// The load.
    #[serde(flatten)]
    pub level: Level,
    /// Median latency alone, and in the mix.
    pub p50_us: (Estimate, Estimate),
    /// 99th percentile alone, and in the mix.
    pub p99_us: (Estimate, Estimate),
    /// 99th percentile in the mix over that alone, paired by block.
    pub p99_ratio: Option<Estimate>,
    /// Its 99th percentile in the mix over that of each server that the campaign compares this one with, paired by
    /// block.
    pub p99_over: Vec<(String, Estimate)>,
    /// Blocks that have both.
    pub blocks: usize,
}

/// Latency by block.
type Latencies = BTreeMap<u32, Latency>;

/// Every method that a plan at a rate measures alone and in a mix, by server and load. None where the load tool does
/// not report latency by method.
pub fn head_of_line(plan: &Plan, observations: &[Observation]) -> Vec<HeadOfLine> {
    let observed = Observed::new(observations);
    let mixes = || plan.workloads.iter().filter(|workload| workload.is_mix());
    let mut found = Vec::new();
    for level in plan.levels().into_iter().filter(|level| level.rate.is_some()) {
        for alone in plan.workloads.iter().filter(|workload| !workload.is_mix()) {
            for mix in mixes() {
                let of = Place { plan, observed: &observed, level, alone, mix };
                // The ceiling shows what the load tool can do, and has one answer to everything.
                let servers = plan.campaign.servers.iter();
                let servers = servers.filter(|server| !plan.is_ceiling(server));
                found.extend(servers.filter_map(|server| of.server(server)));
            }
        }
    }
    found
}

/// A method alone and a mix, at one load.
struct Place<'a> {
    plan: &'a Plan,
    observed: &'a Observed<'a>,
    level: Level,
    alone: &'a Workload,
    mix: &'a Workload,
}

impl Place<'_> {
    fn samples(&self, server: &str, workload: &Workload) -> Samples<'_> {
        self.observed.samples(server, &workload.name, self.level)
    }

    fn in_mix(&self, server: &str) -> Latencies {
        let method = self.alone.method();
        let of = |sample: &Sample| {
            let methods = &sample.load.details.methods;
            methods.iter().find(|of| of.method == method).map(|of| of.latency_us)
        };
        let samples = self.samples(server, self.mix);
        samples.iter().filter_map(|(block, sample)| Some((*block, of(sample)?))).collect()
    }

    fn server(&self, server: &str) -> Option<HeadOfLine> {
        let alone = self.samples(server, self.alone);
        let alone: Latencies = alone.iter().map(|(block, sample)| (*block, sample.load.latency_us)).collect();
        let in_mix = self.in_mix(server);
        let both = |figure: fn(&Latency) -> f64| {
            Some((median_of(alone.values().map(figure))?, median_of(in_mix.values().map(figure))?))
        };
        let compared = self.plan.campaign.compared().into_iter().filter(|(a, _)| a == server);
        let over = |(_, other): (String, String)| {
            let ratio = p99_ratio(&in_mix, &self.in_mix(&other))?;
            Some((other, ratio))
        };
        Some(HeadOfLine {
            server: server.to_owned(),
            alone: self.alone.name.clone(),
            mix: self.mix.name.clone(),
            method: self.alone.method(),
            level: self.level,
            p50_us: both(|latency| latency.p50)?,
            p99_us: both(|latency| latency.p99)?,
            p99_ratio: p99_ratio(&in_mix, &alone),
            p99_over: compared.filter_map(over).collect(),
            blocks: in_mix.keys().filter(|block| alone.contains_key(block)).count(),
        })
    }
}

/// The ratio of two 99th percentiles, paired by block.
fn p99_ratio(a: &Latencies, b: &Latencies) -> Option<Estimate> {
    let log = |(block, latency): (&u32, &Latency)| Some((latency.p99 / b.get(block)?.p99).ln());
    let logs: Vec<f64> = a.iter().filter_map(log).filter(|log| log.is_finite()).collect();
    Some(hodges_lehmann(&logs)?.map(f64::exp))
}
