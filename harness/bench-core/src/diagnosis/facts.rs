//! What was counted in the trials of one server at one load, for the table. What is unknown is `None`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::shapes::{self, STEP_US, SlowShare};
use crate::config::Placement;
use crate::load::LoadSample;
use crate::machine::NetworkCounters;
use crate::observation::{Observation, Sample, failed_requests};
use crate::observed::died;
use crate::stalls::{Stall, stalls};
use crate::target::Target;

/// The load and the settings of the trials.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadSetting {
    /// Requested connections.
    pub connections: u32,
    /// The load tool's timeout, in milliseconds.
    pub timeout_ms: u64,
    /// Processors that the server may use.
    pub cores: usize,
    /// The server's ready line: every effective setting.
    pub ready: Value,
}

impl LoadSetting {
    /// A load on a server with this ready line. `cores` are the machine's.
    pub fn new(connections: u32, timeout_ms: u64, cores: usize, placement: Placement, ready: Value) -> Self {
        let cores = if placement == Placement::Free { cores } else { 1 };
        Self { connections, timeout_ms, cores, ready }
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.ready.get(name)?.as_u64()
    }
}

/// What was counted. Counts are sums over trials.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Requested connections.
    pub connections: u64,
    /// The load tool's timeout, in microseconds.
    pub timeout_us: f64,
    /// Processors that the server may use.
    pub cores: u64,
    /// Threads that answer, as the ready line has it.
    pub threads: Option<u64>,
    /// After how many polls a tokio worker takes a task from the runtime's global queue, where that was set.
    pub global_queue_interval: Option<u64>,
    /// Whether TCP_NODELAY is set.
    pub nodelay: Option<bool>,
    /// Concurrent connections or requests that the server takes.
    pub max_connections: Option<u64>,
    /// Trials.
    pub trials: u64,
    /// How the server ended, in each trial in which it died.
    pub died: Vec<String>,
    /// All requests.
    pub requests: u64,
    /// Bad requests: those that failed, or took longer than the timeout.
    pub bad: u64,
    /// Requests that took longer than [`STEP_US`], bad ones included.
    pub stepped: u64,
    /// Failed requests by kind.
    pub failed: BTreeMap<String, u64>,
    /// Time of all windows, in microseconds.
    pub wall_us: f64,
    /// Mean latency, the mean over trials, in microseconds.
    pub mean_us: f64,
    /// Median latency, the mean over trials, in microseconds.
    pub p50_us: f64,
    /// The slowest request, in microseconds.
    pub max_us: f64,
    /// Share of the requests that took 10 to 38 ms.
    pub share_10_38_ms: f64,
    /// Share of the requests that took 38 to 50 ms.
    pub share_38_50_ms: f64,
    /// Share of the requests that took over ten times the median and less than nine tenths of the timeout.
    pub share_between: f64,
    /// What the kernel counted in the windows.
    pub network: NetworkCounters,
    /// What the kernel counted in the warm-ups.
    pub warmup_network: NetworkCounters,
    /// Connections that may wait at one listening socket.
    pub listen_limit: Option<u64>,
    /// The most connections that waited to be accepted at one time.
    pub most_waiting: Option<u64>,
    /// Connections that stood in the listen queue through the second half of a window in which no more were accepted;
    /// the median over trials. 0 where the queue emptied.
    pub standing: Option<u64>,
    /// The most connections that the server held at one time, the least over trials.
    pub held: Option<u64>,
    /// Files that the server may open, and the most that it had open.
    pub files: Option<(u64, u64)>,
    /// The share of the window in which a thread that answers had work, on average over these threads. 1: they always
    /// ran or waited for a processor.
    pub runnable: Option<f64>,
    /// Time that the server waited for a processor, for one request, in microseconds.
    pub run_delay_us: Option<f64>,
    /// Processors that the server used.
    pub server_cores: f64,
    /// Processors that the load tool used.
    pub client_cores: f64,
    /// By how much the load tool sent a request late by itself, on average, in microseconds; only at a rate.
    pub own_lag_us: Option<f64>,
    /// Times in which the service answered nothing, each with its trial's place, from 1.
    pub stalls: Vec<(usize, Stall)>,
    /// Whether requests crossed a network, in which segments are lost; on loopback none of an established connection is.
    pub over_network: bool,
    /// A share of the requests that is much slower than the others: see `shapes`.
    pub slow_share: Option<SlowShare>,
    /// Bytes by which memory grew in a window, and for each request, where it did not level off.
    pub growth: Option<(f64, f64)>,
    /// Answers of the server a second.
    pub rate: f64,
    /// The latency of one request on an idle server, and the CPU time in it, in microseconds.
    pub alone: Option<(f64, f64)>,
}

impl Facts {
    /// The facts of observations.
    pub fn of(setting: &LoadSetting, observations: &[&Observation]) -> Self {
        let samples: Vec<&Sample> =
            observations.iter().filter_map(|observation| observation.outcome.evidence()).collect();
        let mut facts = Self {
            connections: u64::from(setting.connections),
            timeout_us: setting.timeout_ms as f64 * 1e3,
            cores: setting.cores as u64,
            threads: setting.number("threads"),
            global_queue_interval: setting.number("global_queue_interval"),
            nodelay: setting.ready.get("tcp_nodelay").and_then(Value::as_bool),
            max_connections: setting.number("max_connections"),
            trials: observations.len() as u64,
            died: observations.iter().filter_map(|observation| died(&observation.outcome)).collect(),
            failed: failed_requests(samples.iter().copied()),
            ..Self::default()
        };
        if !samples.is_empty() {
            facts.add_load(setting, &samples);
            facts.add_machine(&samples);
        }
        facts
    }

    fn add_load(&mut self, setting: &LoadSetting, samples: &[&Sample]) {
        let mean = |of: &dyn Fn(&Sample) -> f64| average(samples.iter().map(|sample| of(sample)));
        self.requests = samples.iter().map(|sample| sample.load.succeeded + sample.load.failures()).sum();
        self.bad = samples.iter().map(|sample| sample.load.bad(setting.timeout_ms)).sum();
        self.stepped = samples.iter().map(|sample| sample.load.slower_than(STEP_US)).sum();
        self.wall_us = samples.iter().map(|sample| sample.load.time_taken_s * 1e6).sum();
        self.mean_us = mean(&|sample| sample.load.latency_us.mean);
        self.p50_us = mean(&|sample| sample.load.latency_us.p50);
        self.max_us = samples.iter().map(|sample| sample.load.latency_us.max).fold(0.0, f64::max);
        let between = |low: f64, high: f64| {
            mean(&|sample| share_from(&sample.load, low) - share_from(&sample.load, high))
        };
        self.share_10_38_ms = between(10e3, 38e3);
        self.share_38_50_ms = between(38e3, 50e3);
        self.share_between = between(10.0 * self.p50_us, 0.9 * self.timeout_us).max(0.0);
        self.server_cores = average(samples.iter().filter_map(|sample| sample.server_cores()));
        self.client_cores = average(samples.iter().map(|sample| sample.client_cores()));
        let lags: Option<Vec<f64>> =
            samples.iter().map(|sample| Some(sample.load.open?.own_lag_us?.mean)).collect();
        self.own_lag_us = lags.map(|lags| average(lags.into_iter()));
        let of_sample = |(place, sample): (usize, &&Sample)| {
            stalls(sample).into_iter().map(move |stall| (place, stall)).collect::<Vec<_>>()
        };
        self.stalls = (1..).zip(samples).flat_map(of_sample).collect();
        let service = setting.ready.get("running").and_then(Value::as_str);
        let crossed = |sample: &&Sample| sample.link.is_some() || !sample.load.details.hosts.is_empty();
        self.over_network =
            service.is_some_and(|url| !Target::is_of_this_machine(url)) || samples.iter().any(crossed);
        self.slow_share = shapes::common_slow_share(samples, self.connections);
        let connections = self.connections;
        let grown: Vec<_> = samples.iter().filter_map(|sample| shapes::growth(sample, connections)).collect();
        self.growth = shapes::median_growth(&grown, samples.len());
        self.rate = mean(&|sample| sample.served() as f64 / sample.load.time_taken_s);
    }

    fn add_machine(&mut self, samples: &[&Sample]) {
        self.network = sum(samples.iter().map(|sample| sample.network));
        self.warmup_network = sum(samples.iter().filter_map(|sample| Some(sample.warmup.as_ref()?.network)));
        let known = |of: fn(&Sample) -> Option<u64>| samples.iter().filter_map(move |sample| of(sample));
        self.listen_limit = known(|sample| sample.capacity.listen_limit).min();
        self.most_waiting =
            known(|sample| sample.resources.iter().filter_map(|moment| moment.listen_waiting).max()).max();
        let mut standing: Vec<u64> = known(standing).collect();
        standing.sort_unstable();
        self.standing = standing.get(standing.len() / 2).copied();
        self.held = known(|sample| sample.established).min();
        self.files = samples
            .iter()
            .filter_map(|sample| {
                let means = &sample.capacity;
                // A server that had no file left in the warm-up may suffer from it in the window.
                let warmup = sample.warmup.as_ref().and_then(|warmup| warmup.established);
                Some((
                    means.open_files_limit?,
                    means.open_files_before? + sample.established?.max(warmup.unwrap_or(0)),
                ))
            })
            .max_by_key(|(_, most)| *most);
        let threads = self.threads.unwrap_or(self.cores).max(1);
        self.runnable = average_of_all(samples, |sample| runnable(sample, threads));
        self.run_delay_us = average_of_all(samples, |sample| {
            let delay_us: u64 = sample.threads.iter().map(|thread| thread.run_delay_us).sum();
            (!sample.threads.is_empty()).then_some(delay_us as f64 / sample.served().max(1) as f64)
        });
        // A network's round trip is no wait of the handler's. It was timed by connecting, which is a round trip too.
        let link_us = |sample: &Sample| sample.link.map_or(0.0, |link| link.round_trip_us);
        let alone = samples.iter().filter_map(|sample| {
            let alone_us = (sample.capacity.alone_us? - link_us(sample)).max(0.0);
            Some((alone_us, sample.capacity.alone_cpu_us?))
        });
        self.alone = alone.min_by(|a, b| a.0.total_cmp(&b.0));
    }

    /// Connections that were served all the time, by Little's law: answers a second times the median latency.
    pub fn at_work(&self) -> f64 {
        self.rate * self.p50_us / 1e6
    }

    /// Failed requests of the kinds whose name holds one of these, in any case.
    pub fn failed_as(&self, parts: &[&str]) -> u64 {
        let holds = |kind: &str| parts.iter().any(|part| kind.to_ascii_lowercase().contains(part));
        self.failed.iter().filter(|(kind, _)| holds(kind)).map(|(_, count)| count).sum()
    }

    /// Requests that ran into the timeout.
    pub fn timeouts(&self) -> u64 {
        self.failed_as(&["timeout", "timed out", "deadline exceeded"])
    }

    /// Requested connections that the server never held.
    pub fn missing(&self) -> Option<u64> {
        Some(self.connections.saturating_sub(self.held?))
    }

    /// Bad requests of a connection without any answer, over all trials: one for each timeout, also one that has only
    /// begun.
    pub fn bad_of_dead_connection(&self) -> f64 {
        let trials = self.trials.max(1) as f64;
        trials * (self.wall_us / trials / self.timeout_us).ceil().max(1.0)
    }

    /// Missing evidence, in words for readers.
    pub fn unavailable(&self) -> Vec<String> {
        let lacks = [
            (self.network.listen_overflows.is_none(), "listen overflows"),
            (self.network.syn_retransmits.is_none(), "repeated connection requests"),
            (self.network.timeouts.is_none(), "retransmission timeouts"),
            (self.most_waiting.is_none(), "the listen queue's length"),
            (self.files.is_none(), "the limit of open files"),
            (self.runnable.is_none(), "each thread's time"),
            (self.alone.is_none(), "the latency of one request by itself"),
        ];
        let missing = lacks.into_iter().filter(|(lacks, _)| *lacks && self.requests > 0);
        missing.map(|(_, what)| what.to_owned()).collect()
    }
}

/// Share of the requests that took at least `us`: one less the quantile function, between two of its points at the
/// upper one, so that it is never too large.
fn share_from(load: &LoadSample, us: f64) -> f64 {
    load.quantiles.iter().find(|(_, time)| *time >= us).map_or(0.0, |(probability, _)| 1.0 - probability)
}

/// Connections that stood in the listen queue at the end of a window through whose second half the queue never emptied
/// and no connection was accepted; 0 where it emptied or moved, `None` where it is unknown.
fn standing(sample: &Sample) -> Option<u64> {
    let second = sample.resources.get(sample.resources.len() / 2..).unwrap_or_default();
    (second.len() >= 2).then_some(())?;
    let waiting: Vec<u64> = second.iter().map(|moment| moment.listen_waiting).collect::<Option<_>>()?;
    let files: Vec<u64> = second.iter().map(|moment| moment.open_files).collect::<Option<_>>()?;
    let accepted = files.windows(2).any(|two| two[1] > two[0]);
    if accepted { Some(0) } else { waiting.into_iter().min() }
}

/// How busy the busiest `threads` threads were, on average, as a share of the load's time.
fn runnable(sample: &Sample, threads: u64) -> Option<f64> {
    if sample.threads.is_empty() {
        return None;
    }
    let busiest = sample.threads.iter().take(threads as usize);
    let runnable_us: u64 = busiest.map(crate::machine::ThreadUse::runnable_us).sum();
    Some(runnable_us as f64 / (threads as f64 * sample.load.time_taken_s * 1e6))
}

/// The average over all samples, or `None` where one lacks the value.
fn average_of_all(samples: &[&Sample], of: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
    let values: Option<Vec<f64>> = samples.iter().map(|sample| of(sample)).collect();
    values.map(|values| average(values.into_iter()))
}

fn average(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}

fn sum(counters: impl Iterator<Item = NetworkCounters>) -> NetworkCounters {
    counters.reduce(NetworkCounters::plus).unwrap_or_default()
}
