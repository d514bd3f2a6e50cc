//! The summary: a cell for each server, workload and load; comparisons by pairs; bounds; and what failed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::marks::{Evidence, Mark};
use super::stats::{Estimate, hodges_lehmann, median};
use crate::config::{Campaign, PassRule};
use crate::observation::{Observation, Sample, failed_requests};

/// What a run showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Trials that were planned.
    pub planned: usize,
    /// Trials that have an observation.
    pub observed: usize,
    /// By workload, connections and server, in the campaign's order.
    pub cells: Vec<Cell>,
    /// By workload, connections and pair, in the campaign's order.
    pub comparisons: Vec<Comparison>,
    /// The campaign's bounds.
    pub bounds: Vec<Bound>,
    /// Trials that gave no figure, in order.
    pub failed: Vec<FailedTrial>,
}

/// One server, workload and load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The server.
    pub server: String,
    /// The workload.
    pub workload: String,
    /// Connections.
    pub connections: u32,
    /// Trials that were measured.
    pub completed: usize,
    /// Estimates over the trials, by figure. Empty where no trial was measured.
    pub figures: BTreeMap<Figure, Estimate>,
    /// Rate over the ceiling's rate, from 0.
    pub share_of_ceiling: Option<f64>,
    /// Failed requests of all trials, by kind.
    pub failed_requests: BTreeMap<String, u64>,
    /// Connections that found the accept queue full, in all trials; unknown where the machine does not count them.
    pub listen_overflows: Option<u64>,
    /// Segments sent again, in all trials; unknown where the machine does not count them.
    pub retransmits: Option<u64>,
    /// Bytes of one answer's body.
    pub answer_bytes: Option<u64>,
    /// What to distrust.
    pub marks: Vec<Mark>,
}

/// A figure of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Successful requests a second.
    RequestsPerSecond,
    /// Server CPU time for a request, in microseconds.
    CpuUsPerRequest,
    /// Median latency, in microseconds.
    P50Us,
    /// 99th percentile of latency, in microseconds.
    P99Us,
    /// Slowest request, in microseconds.
    MaxUs,
    /// Processors that the server used.
    ServerCores,
    /// Processors that the load tool used.
    ClientCores,
    /// Part of the server's CPU time spent in the kernel, from 0 to 1.
    SystemShare,
    /// The most memory that the server held, in bytes.
    PeakMemoryBytes,
}

/// Two servers on the same workload and load, paired by block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The server in the numerator.
    pub server: String,
    /// The server in the denominator.
    pub over: String,
    /// The workload.
    pub workload: String,
    /// Connections.
    pub connections: u32,
    /// Blocks in which both were measured.
    pub pairs: usize,
    /// Ratio of successful requests a second.
    pub rate_ratio: Estimate,
    /// What that ratio allows to say.
    pub rate_verdict: Verdict,
    /// Ratio of server CPU time for a request.
    pub cpu_ratio: Estimate,
    /// What that ratio allows to say of the first server's speed: less CPU time is faster.
    pub cpu_verdict: Verdict,
}

/// What a comparison allows to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval is on the better side.
    Faster,
    /// The whole interval is on the worse side.
    Slower,
    /// The interval holds "no difference", or there is none.
    CantTell,
}

impl Verdict {
    /// From a ratio of which more is better.
    fn of(ratio: Estimate) -> Self {
        match ratio.interval {
            Some((low, _)) if low > 1.0 => Self::Faster,
            Some((_, high)) if high < 1.0 => Self::Slower,
            _ => Self::CantTell,
        }
    }

    /// For the opposite direction.
    fn reversed(self) -> Self {
        match self {
            Self::Faster => Self::Slower,
            Self::Slower => Self::Faster,
            Self::CantTell => Self::CantTell,
        }
    }

    /// For a table.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::CantTell => "can't tell",
        }
    }
}

/// A bound of the campaign and how it came out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The rule.
    pub rule: PassRule,
    /// The workload.
    pub workload: String,
    /// Connections.
    pub connections: u32,
    /// The ratio; none where a side was not measured.
    pub ratio: Option<Estimate>,
    /// Whether the ratio is within the bound. An unmeasured one is not.
    pub holds: bool,
}

/// A trial that gave no figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailedTrial {
    /// Its number.
    pub number: u32,
    /// Its block.
    pub block: u32,
    /// The server.
    pub server: String,
    /// The workload.
    pub workload: String,
    /// Connections.
    pub connections: u32,
    /// Whether the server's answer was not the true one.
    pub wrong_answer: bool,
    /// Why.
    pub reason: String,
}

impl Figure {
    const ALL: [Self; 9] = [
        Self::RequestsPerSecond,
        Self::CpuUsPerRequest,
        Self::P50Us,
        Self::P99Us,
        Self::MaxUs,
        Self::ServerCores,
        Self::ClientCores,
        Self::SystemShare,
        Self::PeakMemoryBytes,
    ];

    /// Its value in a sample; `None` where the machine does not tell.
    pub fn of(self, sample: &Sample) -> Option<f64> {
        Some(match self {
            Self::RequestsPerSecond => sample.load.requests_per_second(),
            Self::CpuUsPerRequest => sample.cpu_us_per_request(),
            Self::P50Us => sample.load.latency_us.p50,
            Self::P99Us => sample.load.latency_us.p99,
            Self::MaxUs => sample.load.latency_us.max,
            Self::ServerCores => sample.server_cores(),
            Self::ClientCores => sample.client_cores(),
            Self::SystemShare => sample.server_cpu.system_s / sample.server_cpu.total_s(),
            Self::PeakMemoryBytes => sample.server_peak_memory_bytes? as f64,
        })
    }
}

impl Cell {
    /// The estimate of a figure, where the cell was measured.
    pub fn figure(&self, figure: Figure) -> Option<Estimate> {
        self.figures.get(&figure).copied()
    }
}

impl Summary {
    /// The cell of a server, workload and load.
    pub fn cell(&self, server: &str, workload: &str, connections: u32) -> Option<&Cell> {
        self.cells.iter().find(|cell| {
            cell.server == server && cell.workload == workload && cell.connections == connections
        })
    }

    /// The comparison of a pair on a workload and load.
    pub fn comparison(
        &self,
        server: &str,
        over: &str,
        workload: &str,
        connections: u32,
    ) -> Option<&Comparison> {
        self.comparisons.iter().find(|comparison| {
            comparison.server == server
                && comparison.over == over
                && comparison.workload == workload
                && comparison.connections == connections
        })
    }

    /// Whether any server answered wrongly.
    pub fn has_wrong_answer(&self) -> bool {
        self.failed.iter().any(|trial| trial.wrong_answer)
    }
}

/// Samples of one cell by block.
type Samples<'a> = BTreeMap<u32, &'a Sample>;

/// Works the summary out. `connections` are those of the plan, which may be fewer than the campaign's.
pub fn summarize(
    campaign: &Campaign,
    connections: &[u32],
    planned: usize,
    observations: &[Observation],
) -> Summary {
    let samples = |server: &str, workload: &str, connections: u32| -> Samples<'_> {
        let of_cell = observations.iter().filter(|observation| {
            let trial = &observation.trial;
            trial.server == server && trial.workload == workload && trial.connections == connections
        });
        of_cell
            .filter_map(|observation| Some((observation.trial.block, observation.outcome.sample()?)))
            .collect()
    };
    let failed: Vec<FailedTrial> = observations.iter().filter_map(failed_trial).collect();
    let mut summary = Summary {
        planned,
        observed: observations.len(),
        cells: Vec::new(),
        comparisons: Vec::new(),
        bounds: Vec::new(),
        failed,
    };
    for workload in &campaign.workloads {
        for &count in connections {
            let ceiling = campaign.ceiling.as_ref().map(|server| samples(server, workload, count));
            for server in &campaign.servers {
                let measured = samples(server, workload, count);
                let cell = cell(server, workload, count, &measured, ceiling.as_ref(), &summary.failed);
                summary.cells.push(cell);
            }
            for (server, over) in campaign.compared() {
                let (a, b) = (samples(&server, workload, count), samples(&over, workload, count));
                summary.comparisons.extend(compare((server, over), workload, count, &a, &b));
            }
            for rule in &campaign.pass {
                let (a, b) = (samples(&rule.server, workload, count), samples(&rule.over, workload, count));
                let ratio = ratio(rule.figure, &a, &b);
                let holds = ratio.is_some_and(|ratio| ratio.value <= rule.at_most);
                let (rule, workload) = (rule.clone(), workload.clone());
                summary.bounds.push(Bound { rule, workload, connections: count, ratio, holds });
            }
        }
    }
    summary
}

fn failed_trial(observation: &Observation) -> Option<FailedTrial> {
    let trial = &observation.trial;
    Some(FailedTrial {
        number: trial.number,
        block: trial.block,
        server: trial.server.clone(),
        workload: trial.workload.clone(),
        connections: trial.connections,
        wrong_answer: matches!(observation.outcome, crate::observation::Outcome::WrongAnswer { .. }),
        reason: observation.outcome.failure()?,
    })
}

fn cell(
    server: &str,
    workload: &str,
    connections: u32,
    measured: &Samples<'_>,
    ceiling: Option<&Samples<'_>>,
    failed: &[FailedTrial],
) -> Cell {
    let values =
        |figure: Figure| measured.values().filter_map(|sample| figure.of(sample)).collect::<Vec<f64>>();
    let figures: BTreeMap<Figure, Estimate> =
        Figure::ALL.into_iter().filter_map(|figure| Some((figure, median(&values(figure))?))).collect();
    let sum = |count: fn(&Sample) -> Option<u64>| {
        measured.values().map(|sample| count(sample)).sum::<Option<u64>>()
    };
    let share_of_ceiling = ceiling
        .and_then(|ceiling| ratio(Figure::RequestsPerSecond, measured, ceiling))
        .map(|ratio| ratio.value);
    let failed_requests = failed_requests(measured.values().copied());
    let listen_overflows = sum(|sample| sample.network.listen_overflows);
    let is_ceiling = share_of_ceiling == Some(1.0);
    let figure = |figure: Figure| figures.get(&figure).map_or(0.0, |estimate| estimate.value);
    let steal: Vec<f64> = measured.values().filter_map(|sample| sample.steal_share()).collect();
    let of_cell =
        |t: &&FailedTrial| t.server == server && t.workload == workload && t.connections == connections;
    let marks = Mark::of(Evidence {
        server_cores: figure(Figure::ServerCores),
        client_cores: figure(Figure::ClientCores),
        share_of_ceiling: share_of_ceiling.filter(|_| !is_ceiling),
        failed_requests: failed_requests.values().sum(),
        listen_overflows: listen_overflows.unwrap_or(0),
        failed_trials: failed.iter().filter(of_cell).count(),
        steal_share: median(&steal).map(|steal| steal.value),
    });
    Cell {
        server: server.to_owned(),
        workload: workload.to_owned(),
        connections,
        completed: measured.len(),
        figures,
        share_of_ceiling,
        failed_requests,
        listen_overflows: listen_overflows.filter(|_| !measured.is_empty()),
        retransmits: sum(|sample| sample.network.retransmits).filter(|_| !measured.is_empty()),
        answer_bytes: measured.values().next().map(|sample| sample.answer_bytes),
        marks,
    }
}

/// The ratio of a figure between two cells, paired by block. `None` where no block has both.
fn ratio(figure: Figure, a: &Samples<'_>, b: &Samples<'_>) -> Option<Estimate> {
    let differences: Vec<f64> = a
        .iter()
        .filter_map(|(block, sample)| Some((figure.of(sample)? / figure.of(b.get(block)?)?).ln()))
        .collect();
    Some(hodges_lehmann(&differences)?.map(f64::exp))
}

fn compare(
    (server, over): (String, String),
    workload: &str,
    connections: u32,
    a: &Samples<'_>,
    b: &Samples<'_>,
) -> Option<Comparison> {
    let rate_ratio = ratio(Figure::RequestsPerSecond, a, b)?;
    let cpu_ratio = ratio(Figure::CpuUsPerRequest, a, b)?;
    Some(Comparison {
        server,
        over,
        workload: workload.to_owned(),
        connections,
        pairs: a.keys().filter(|block| b.contains_key(block)).count(),
        rate_ratio,
        rate_verdict: Verdict::of(rate_ratio),
        cpu_ratio,
        cpu_verdict: Verdict::of(cpu_ratio).reversed(),
    })
}
