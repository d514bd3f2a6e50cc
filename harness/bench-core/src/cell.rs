//! A cell of a summary: one server with one request under one load.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::caveats::{Evidence, Mark};
use super::comparison::ratio;
use super::invalid_trials::Uncounted;
use super::latency::LatencyMoment;
use super::observed::{Lost, Place, Samples, by_block, grouped, median_figure, middle_of};
use super::timeline::Moment;
use crate::figure::Figure;
use crate::load::Level;
use crate::load::sample_details::MethodLatency;
use crate::observation::{Checked, Differences, Sample, checked_answers, failed_requests};
use crate::stats::Estimate;

/// One server, workload and load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The server.
    pub server: String,
    /// In a duet, the server that ran at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    /// The workload.
    pub workload: String,
    /// The load.
    #[serde(flatten)]
    pub level: Level,
    /// Trials that were measured and are valid: all that the cell shows is of these.
    pub completed: usize,
    /// Trials that were measured and are invalid, by what they were lost to; nothing else of the cell is of these.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub invalid: BTreeMap<Lost, usize>,
    /// Estimates over the trials, by figure. Empty where no trial counts.
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
    /// Answers that were compared with the true ones under load, in all trials; none in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<Checked>,
    /// Where answers differ from a reference's, in all trials; only where the workload counts differences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differences: Option<Differences>,
    /// The requests of each method, where several are called and the load tool's figures say which.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<OfMethod>,
    /// What to distrust.
    pub marks: Vec<Mark>,
    /// The server through the window, medians over trials. Only at the headline's load, so that a summary stays small;
    /// empty elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<Moment>,
    /// Latency through the window, in an open loop and of users in stages; empty elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency: Vec<LatencyMoment>,
    /// The quantile function of latency: probability from 0 to 1, and the median over trials of that quantile of each,
    /// in microseconds. Only at the headline's load; empty elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<(f64, f64)>,
    /// The requests of the trial that has the fewest, where there are quantiles: how far into the tail these reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_of_a_trial: Option<u64>,
}

/// The requests of a cell that call one method.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OfMethod {
    /// The method.
    pub method: String,
    /// Requests of all trials.
    pub requests: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// The median over trials of the median latency, in microseconds.
    pub p50_us: f64,
    /// The same of the 99th percentile.
    pub p99_us: f64,
}

/// The share of a host's processors from which on its load tool may be what limits the rate.
const BUSY_HOST: f64 = 0.9;

/// Whether the load tool was what limited a closed loop. `value` gives a cell's figures.
///
/// With one load tool, where it used at least as much CPU as the server: without the server's share it is not known
/// which of the two was the bottleneck. With several hosts, where one of them used nearly all of its own in most
/// trials.
fn is_client_bound(value: impl Fn(Figure) -> Option<f64>) -> bool {
    match value(Figure::BusiestHost) {
        Some(share) => share >= BUSY_HOST,
        None => {
            let [server, client] = [Figure::ServerCores, Figure::ClientCores].map(value);
            server.zip(client).is_some_and(|(server, client)| client > 0.0 && client >= server)
        }
    }
}

/// The requests of each method, in the order in which they are first called.
fn by_method(measured: &Samples<'_>) -> Vec<OfMethod> {
    let all = measured.values().flat_map(|sample| &sample.load.details.methods);
    let by_name = grouped(all.map(|of| (of.method.clone(), of))).into_iter();
    let row = |(method, trials): (String, Vec<&MethodLatency>)| OfMethod {
        method,
        requests: trials.iter().map(|of| of.requests).sum(),
        failed: trials.iter().map(|of| of.failed).sum(),
        p50_us: middle_of(trials.iter().map(|of| of.latency_us.p50)).unwrap_or_default(),
        p99_us: middle_of(trials.iter().map(|of| of.latency_us.p99)).unwrap_or_default(),
    };
    by_name.map(row).collect()
}

impl Cell {
    /// The estimate of a figure, where the cell was measured.
    pub fn figure(&self, figure: Figure) -> Option<Estimate> {
        self.figures.get(&figure).copied()
    }

    /// Why a cell that was measured has no figures: each of its trials is invalid. `None` of any other.
    pub fn all_invalid(&self) -> Option<Lost> {
        self.invalid.keys().next().copied().filter(|_| self.completed == 0)
    }
}

/// A cell without what is shown of the headline's load alone.
pub(super) fn cell(
    place: Place<'_>,
    measured: &Samples<'_>,
    invalid: &BTreeMap<Lost, usize>,
    ceiling: Option<&Samples<'_>>,
    failed: &[Uncounted],
) -> Cell {
    let (server, beside, workload, level) = place;
    let estimated = |figure: &Figure| Some((*figure, median_figure(measured, *figure)?));
    let figures: BTreeMap<Figure, Estimate> = Figure::ALL.iter().filter_map(estimated).collect();
    let share_of_ceiling = ceiling
        .and_then(|ceiling| {
            let [own, most] = [measured, ceiling].map(|of| by_block(of, Figure::RequestsPerSecond));
            ratio(&own, &most)
        })
        .map(|ratio| ratio.value);
    let samples = || measured.values().copied();
    let failed_requests = failed_requests(samples());
    let sum = |count: fn(&Sample) -> Option<u64>| samples().map(count).sum::<Option<u64>>();
    let listen_overflows = sum(|sample| sample.network.listen_overflows);
    let is_ceiling = share_of_ceiling == Some(1.0);
    let has_users = samples().any(|sample| sample.load.staged.is_some());
    let is_open = level.rate.is_some() || has_users;
    let value = |figure: Figure| figures.get(&figure).map(|estimate| estimate.value);
    // In an open loop the tool holds as many connections as it happens to need, users in stages wait between requests,
    // and in both the tool's CPU limits no rate.
    let active = value(Figure::ActiveConnections).filter(|_| !is_open);
    let of_cell =
        |t: &&Uncounted| (t.server.as_str(), t.beside.as_deref(), t.workload.as_str(), t.level) == place;
    let lost_to = |lost: Lost| invalid.get(&lost).copied().unwrap_or(0);
    // A connection may have several requests in flight, and a request one of its own.
    let established_share =
        |sample: &Sample| Some(sample.established? as f64 / f64::from(sample.connecting?.requested));
    let marks = Mark::of(Evidence {
        client_bound: !is_open && is_client_bound(value),
        share_of_ceiling: share_of_ceiling.filter(|_| !is_ceiling && !is_open),
        failed_requests: failed_requests.values().sum(),
        listen_overflows: listen_overflows.unwrap_or(0),
        failed_trials: failed.iter().filter(of_cell).count(),
        stolen_trials: lost_to(Lost::Steal),
        foreign_trials: lost_to(Lost::ForeignCpu),
        throttled_trials: lost_to(Lost::Throttled),
        active_share: active.map(|active| active / f64::from(level.connections)),
        established_share: middle_of(samples().filter_map(established_share)),
        count_disagreement: middle_of(samples().filter_map(Sample::count_disagreement)),
        // Users come and go, so such a window is not meant to be steady.
        first_half_ratio: value(Figure::FirstHalfCpuRatio).filter(|_| !has_users),
        achieved_share: value(Figure::AchievedRate)
            .zip(level.rate)
            .map(|(sent, rate)| sent / f64::from(rate)),
        own_lag_share: value(Figure::OwnLagP99Us).zip(value(Figure::P99Us)).map(|(lag, p99)| lag / p99),
    });
    Cell {
        server: server.to_owned(),
        beside: beside.map(str::to_owned),
        workload: workload.to_owned(),
        level,
        completed: measured.len(),
        invalid: invalid.clone(),
        figures,
        share_of_ceiling,
        failed_requests,
        listen_overflows: listen_overflows.filter(|_| !measured.is_empty()),
        retransmits: sum(|sample| sample.network.retransmits).filter(|_| !measured.is_empty()),
        answer_bytes: samples().next().map(|sample| sample.answer_bytes),
        checked: checked_answers(samples()),
        differences: Differences::of_all(samples().filter_map(|sample| sample.differences.as_ref())),
        methods: by_method(measured),
        marks,
        ..Cell::default()
    }
}
