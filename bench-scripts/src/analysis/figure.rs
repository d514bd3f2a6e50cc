//! The figures of a trial: what each is called, what it is read from, and in which unit.

use serde::{Deserialize, Serialize};

use crate::observation::Sample;

/// The part of the first half that the question for its count may take.
const SLOW_QUESTION: f64 = 0.05;

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
    /// 99.9th percentile of latency, in microseconds.
    P999Us,
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
    /// Memory that the server took for each connection, in bytes: what it held in the window above what it held before.
    ConnectionMemoryBytes,
    /// Connections that waited for an answer on average, by Little's law: rate times mean latency.
    ActiveConnections,
    /// The most connections that the server held open at once.
    EstablishedConnections,
    /// CPU time for a request in the first half of the window over that in the second: 1 where the window is steady.
    FirstHalfCpuRatio,
    /// Server CPU time for a request spent in the program itself, in microseconds.
    UserUsPerRequest,
    /// Server CPU time for a request spent in the kernel on its behalf, in microseconds.
    SystemUsPerRequest,
    /// How often the server's threads left a processor, for a request.
    SwitchesPerRequest,
    /// How often the server was stopped in the window.
    Stalls,
    /// Requests a second that the load tool sent in an open loop.
    AchievedRate,
    /// 99th percentile of how late a request was sent in an open loop, in microseconds.
    SendLagP99Us,
    /// The same where the server was not the reason; in runs of before that was told apart, all of it.
    OwnLagP99Us,
    /// Median latency from the send itself in an open loop, in microseconds.
    P50FromSendUs,
    /// 99th percentile of latency from the send itself in an open loop, in microseconds.
    P99FromSendUs,
    /// Median time from a request's first segment on the network interface to its answer's, in microseconds.
    WireP50Us,
    /// What the median from the send has beyond that, in microseconds: the load tool's own work.
    ToolUs,
}

impl Figure {
    /// All figures.
    pub const ALL: [Self; 25] = [
        Self::RequestsPerSecond,
        Self::CpuUsPerRequest,
        Self::P50Us,
        Self::P99Us,
        Self::P999Us,
        Self::MaxUs,
        Self::ServerCores,
        Self::ClientCores,
        Self::SystemShare,
        Self::PeakMemoryBytes,
        Self::ConnectionMemoryBytes,
        Self::ActiveConnections,
        Self::EstablishedConnections,
        Self::FirstHalfCpuRatio,
        Self::UserUsPerRequest,
        Self::SystemUsPerRequest,
        Self::SwitchesPerRequest,
        Self::Stalls,
        Self::AchievedRate,
        Self::SendLagP99Us,
        Self::OwnLagP99Us,
        Self::P50FromSendUs,
        Self::P99FromSendUs,
        Self::WireP50Us,
        Self::ToolUs,
    ];

    /// Its value in a sample; `None` where the machine or the tool does not tell.
    pub fn of(self, sample: &Sample) -> Option<f64> {
        Some(match self {
            Self::RequestsPerSecond => sample.load.requests_per_second(),
            Self::CpuUsPerRequest => sample.cpu_us_per_request(),
            Self::P50Us => sample.load.latency_us.p50,
            Self::P99Us => sample.load.latency_us.p99,
            Self::P999Us => sample.load.latency_us.p999?,
            Self::MaxUs => sample.load.latency_us.max,
            Self::ServerCores => sample.server_cores(),
            Self::ClientCores => sample.client_cores(),
            Self::SystemShare => sample.server_cpu.system_s / sample.server_cpu.total_s(),
            Self::PeakMemoryBytes => sample.server_peak_memory_bytes? as f64,
            Self::ConnectionMemoryBytes => connection_memory_bytes(sample)?,
            Self::ActiveConnections => active_connections(sample),
            Self::EstablishedConnections => sample.established? as f64,
            Self::FirstHalfCpuRatio => first_half_cpu_ratio(sample)?,
            Self::UserUsPerRequest => sample.server_cpu.user_s * 1e6 / sample.served() as f64,
            Self::SystemUsPerRequest => sample.server_cpu.system_s * 1e6 / sample.served() as f64,
            Self::SwitchesPerRequest => switches_per_request(sample)?,
            Self::Stalls => f64::from(sample.stalls?),
            Self::AchievedRate => sample.load.open.as_ref()?.achieved_rate,
            Self::SendLagP99Us => sample.load.open.as_ref()?.send_lag_us?.p99,
            Self::OwnLagP99Us => {
                let open = sample.load.open.as_ref()?;
                open.own_lag_us.or(open.send_lag_us)?.p99
            }
            Self::P50FromSendUs => sample.load.open.as_ref()?.from_send_us.p50,
            Self::P99FromSendUs => sample.load.open.as_ref()?.from_send_us.p99,
            Self::WireP50Us => sample.wire.as_ref()?.p50_us()?,
            Self::ToolUs => sample.load.open.as_ref()?.from_send_us.p50 - sample.wire.as_ref()?.p50_us()?,
        })
    }
}

/// Little's law over all requests, failed ones included: how many were under way on average.
fn active_connections(sample: &Sample) -> f64 {
    let load = &sample.load;
    let requests = (load.succeeded + load.failures()) as f64;
    requests / load.time_taken_s * load.latency_us.mean / 1e6
}

/// Both kinds together: a thread that waits, and one that is taken off.
fn switches_per_request(sample: &Sample) -> Option<f64> {
    let last = sample.resources.last()?;
    Some((last.voluntary_switches? + last.involuntary_switches?) as f64 / sample.served() as f64)
}

/// What the server held at most in the window, above what it held before, for each connection that it held.
fn connection_memory_bytes(sample: &Sample) -> Option<f64> {
    let held = sample.resources.iter().filter_map(|moment| moment.memory_bytes).max()?;
    let connections = sample.established.filter(|count| *count > 0)?;
    Some(held.saturating_sub(sample.memory_before_bytes?) as f64 / connections as f64)
}

fn first_half_cpu_ratio(sample: &Sample) -> Option<f64> {
    let (first, second) = (sample.first_half?, sample.second_half()?);
    // Where the server took long to tell its count, the middle is not known well enough.
    if first.question_s > SLOW_QUESTION * first.wall_s {
        return None;
    }
    let cost = |cpu_s: f64, requests: u64| (requests > 0).then(|| cpu_s / requests as f64);
    Some(cost(first.cpu_s, first.requests)? / cost(second.cpu_s, second.requests)?)
}

/// How far server and load tools disagree about the number of requests, relative to the tools'.
pub fn count_disagreement(sample: &Sample) -> Option<f64> {
    let loads = std::iter::once(&sample.load).chain(sample.background.as_deref());
    let beside = sample.checked.as_ref().map_or(0, |checked| checked.asked);
    let tool = (loads.map(|load| load.succeeded + load.failures()).sum::<u64>() + beside) as f64;
    Some((sample.counted_of_load()? as f64 - tool).abs() / tool)
}
