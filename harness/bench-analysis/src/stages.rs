//! Users in stages, server by server and transport by transport: medians over trials, in all and by the second.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::observed::{Observed, Samples};
use bench_model::figure::Figure;
use bench_model::load::k6::{Second, Staged};
use bench_model::load::{Latency, Level};
use bench_model::observation::{Observation, Sample, failed_requests};
use bench_model::plan::Plan;
use bench_stats::median;

/// Above this share of the machine's processors in its busiest part, the load tool's latencies may be its own.
pub const BUSY_TOOL: f64 = 0.8;

/// A server over a transport, with one request. Times are in microseconds, and all figures medians over the valid
/// trials.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StagedCell {
    /// The server over its transport, by name.
    pub server: String,
    /// The workload.
    pub workload: String,
    /// Valid trials.
    pub trials: usize,
    /// Requests that ended.
    pub requests: f64,
    /// Failed requests of all trials, by kind.
    pub failed: BTreeMap<String, u64>,
    /// Requests whose user left before they ended, of all trials.
    pub left: u64,
    /// Median latency.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// The slowest.
    pub max_us: f64,
    /// Until a connection could carry requests, median.
    pub connect_p50_us: Option<f64>,
    /// And 99th percentile.
    pub connect_p99_us: Option<f64>,
    /// Server CPU time for one request.
    pub cpu_us_per_request: Option<f64>,
    /// The most memory that the server held, in bytes.
    pub peak_memory_bytes: Option<f64>,
    /// CPU time of the server behind a gateway for one request.
    pub upstream_cpu_us_per_request: Option<f64>,
    /// The most memory that the server behind a gateway held, in bytes.
    pub upstream_memory_bytes: Option<f64>,
    /// Processors that the load tool used, on average.
    pub tool_cores: f64,
    /// And in its busiest part, in the trial in which that was most.
    pub tool_busiest_cores: Option<f64>,
    /// By how much a request was sent late, 99th percentile.
    pub send_lag_p99_us: Option<f64>,
    /// The load by the second.
    pub seconds: Vec<StagedSecond>,
}

/// One second of it: medians over the trials.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct StagedSecond {
    /// Users.
    pub users: Option<f64>,
    /// Requests that ended.
    pub requests: f64,
    /// Those of them that failed.
    pub failed: f64,
    /// Median latency.
    pub p50_us: Option<f64>,
    /// 99th percentile.
    pub p99_us: Option<f64>,
}

impl StagedCell {
    /// The largest share of the processors that the load tool used, of `cores`; on average where that is all that is
    /// known.
    pub fn tool_share(&self, cores: usize) -> f64 {
        self.tool_busiest_cores.unwrap_or(self.tool_cores) / cores.max(1) as f64
    }
}

/// The cells of a plan with users, in its order of workloads and servers; those without a valid trial are left out.
/// None of a plan without users.
pub fn staged(plan: &Plan, observations: &[Observation]) -> Vec<StagedCell> {
    if plan.campaign.stages.is_none() {
        return Vec::new();
    }
    let observed = Observed::new(observations);
    let mut cells = Vec::new();
    for workload in &plan.campaign.workloads {
        for level in plan.levels() {
            let of = |server: &String| cell(&observed, server, workload, level);
            cells.extend(plan.campaign.servers.iter().filter_map(of));
        }
    }
    cells
}

fn cell(observed: &Observed<'_>, server: &str, workload: &str, level: Level) -> Option<StagedCell> {
    let samples: Samples<'_> = observed.samples(server, workload, level);
    let with_users: Vec<(&Sample, &Staged)> =
        samples.values().filter_map(|sample| Some((*sample, sample.load.staged.as_deref()?))).collect();
    let of =
        |figure: &dyn Fn(&Sample) -> Option<f64>| middle(with_users.iter().filter_map(|(it, _)| figure(it)));
    let users =
        |figure: &dyn Fn(&Staged) -> Option<f64>| middle(with_users.iter().filter_map(|(_, it)| figure(it)));
    let latency = |figure: fn(&Latency) -> f64| of(&|sample| Some(figure(&sample.load.latency_us)));
    let connect = |figure: fn(&Latency) -> f64| users(&|staged| staged.connect_us.as_ref().map(figure));
    let busiest = with_users.iter().filter_map(|(_, staged)| staged.busiest_cores);
    Some(StagedCell {
        server: server.to_owned(),
        workload: workload.to_owned(),
        trials: with_users.len(),
        requests: of(&|sample| Some((sample.load.succeeded + sample.load.failures()) as f64))?,
        failed: failed_requests(with_users.iter().map(|(sample, _)| *sample)),
        left: with_users.iter().map(|(_, staged)| staged.left).sum(),
        p50_us: latency(|latency| latency.p50)?,
        p99_us: latency(|latency| latency.p99)?,
        max_us: latency(|latency| latency.max)?,
        connect_p50_us: connect(|latency| latency.p50),
        connect_p99_us: connect(|latency| latency.p99),
        cpu_us_per_request: of(&Sample::cpu_us_per_request),
        peak_memory_bytes: of(&|sample| sample.server_peak_memory_bytes.map(|bytes| bytes as f64)),
        upstream_cpu_us_per_request: of(&|sample| sample.figure(Figure::UpstreamCpuUsPerRequest)),
        upstream_memory_bytes: of(&|sample| sample.figure(Figure::UpstreamMemoryBytes)),
        tool_cores: of(&|sample| Some(sample.client_cores()))?,
        tool_busiest_cores: busiest.max_by(f64::total_cmp),
        send_lag_p99_us: users(&|staged| staged.send_lag_us.map(|lag| lag.p99)),
        seconds: seconds(&with_users.iter().map(|(_, staged)| staged.seconds.as_slice()).collect::<Vec<_>>()),
    })
}

fn seconds(trials: &[&[Second]]) -> Vec<StagedSecond> {
    let longest = trials.iter().map(|seconds| seconds.len()).max().unwrap_or(0);
    let second = |place: usize| {
        let of = |figure: fn(&Second) -> Option<f64>| {
            middle(trials.iter().filter_map(|seconds| figure(seconds.get(place)?)))
        };
        StagedSecond {
            users: of(|second| second.users.map(f64::from)),
            requests: of(|second| Some(second.requests.into())).unwrap_or(0.0),
            failed: of(|second| Some(second.failed.into())).unwrap_or(0.0),
            p50_us: of(|second| second.p50_us),
            p99_us: of(|second| second.p99_us),
        }
    };
    (0..longest).map(second).collect()
}

fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    median(&values.collect::<Vec<_>>()).map(|found| found.value)
}
