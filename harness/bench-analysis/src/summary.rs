//! The summary: a cell for each server, workload and load; comparisons by pairs; bounds; and what failed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::boxed::{Boxed, is_answer};
use super::by_rate::ByRate;
use super::caveats::{Evidence, Mark};
use super::comparison::{Comparison, Comparisons, ratio};
use super::crossed::Crossed;
use super::diagnosed::{Diagnosed, TriedRemedy};
use super::gateways::GatewayAdds;
use super::head_of_line::HeadOfLine;
use super::hosts::{HostSummary, hosts, is_client_bound};
use super::idle_connections::Held;
use super::invalid_trials::{FailedTrial, InvalidTrial, failed_trial, invalid_trial};
use super::latency_course::{LatencyMoment, latency_course};
use super::observed::{Lost, Observed, Place, Samples, median_figure, median_of, valid};
use super::open_loop::{Agreement, Isolation, Recovery, agreement, isolation, recovery};
use super::original::Reproduced;
use super::quantiles::{fewest_requests, quantiles};
use super::sizes::SizesSummary;
use super::slo::SloSummary;
use super::soak::{Soak, soaks};
use super::stages::StagedCell;
use super::threshold::ThresholdSummary;
use super::timeline::{Moment, timeline};
use super::views::Shown;
use bench_model::config::{Campaign, PassRule, Placement};
use bench_model::figure::Figure;
use bench_model::load::Level;
use bench_model::observation::Carrier;
use bench_model::observation::{Checked, Differences, Observation, Sample, checked_answers, failed_requests};
use bench_model::plan::{self, Trial};
use bench_stats::Estimate;

/// What a run showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Trials that were planned at most, without those that may be run in place of lost ones.
    pub planned: usize,
    /// Trials that have an observation.
    pub observed: usize,
    /// Trials without an observation that are known to be needed, up to the next interim analysis; 0 for a run that is
    /// complete.
    pub left: usize,
    /// The block counts at which comparisons are judged: the interim analyses.
    pub block_counts: Vec<u32>,
    /// By workload, load and server, in the campaign's order.
    pub cells: Vec<Cell>,
    /// By workload, load and pair, in the campaign's order.
    pub comparisons: Vec<Comparison>,
    /// The campaign's bounds.
    pub bounds: Vec<Bound>,
    /// What HTTP and JSON-RPC each do to CPU per request, where servers differ in one of them alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crossed: Vec<Crossed>,
    /// The results of the arms that repeat the original test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub original: Vec<Reproduced>,
    /// Trials that gave no figure, in order.
    pub failed: Vec<FailedTrial>,
    /// Trials that were measured and count nowhere, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<InvalidTrial>,
    /// What it cost to read the servers' resources: CPU time of the harness over the window's length, in processors.
    /// None where nothing was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling_cores: Option<SamplingCores>,
    /// Why requests failed or a server was slow, where there is something to explain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Diagnosed>,
    /// Load hosts, where several put the load on together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostSummary>,
    /// Long windows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub soaks: Vec<Soak>,
    /// Remedies that were tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<TriedRemedy>,
    /// What another load did to servers' latency, in an open loop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub isolation: Vec<Isolation>,
    /// How servers came back from an overload, in an open loop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recovery: Vec<Recovery>,
    /// Whether load tools agree, in an open loop that names several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agreement: Vec<Agreement>,
    /// Where servers start to fail. None where that was not searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<ThresholdSummary>,
    /// The highest rates that servers sustain under a service level. None where that was not searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<SloSummary>,
    /// Users in stages, server by server and transport by transport.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StagedCell>,
    /// Short calls by themselves and among calls with long answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub head_of_line: Vec<HeadOfLine>,
    /// What gateways add to the latency of the server behind them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gateways: Vec<GatewayAdds>,
    /// Connections that were held and carried nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<Held>,
    /// What servers used, rate by rate, in an open loop with several rates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_rate: Vec<ByRate>,
    /// Connections that were held in boxes of limited memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boxed: Vec<Boxed>,
    /// What carried packets between load tools and servers, where the campaign makes networks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carriers: Vec<Carrier>,
    /// Servers in boxes, box by box.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<SizesSummary>,
    /// What the campaign's views show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<Shown>,
}

/// What it cost to read the servers' resources, in processors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SamplingCores {
    /// The median over all trials that recorded it.
    pub median: f64,
    /// The trial in which it cost most.
    pub most: f64,
}

/// One server, workload and load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// What to distrust.
    pub marks: Vec<Mark>,
    /// The server through the window, medians over trials. Only at the headline's load, so that a summary stays small;
    /// empty elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<Moment>,
    /// Latency through the window, in an open loop; empty elsewhere.
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

/// A bound of the campaign and how it came out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The rule.
    pub rule: PassRule,
    /// The workload.
    pub workload: String,
    /// The load.
    #[serde(flatten)]
    pub level: Level,
    /// The ratio; none where a side was not measured.
    pub ratio: Option<Estimate>,
    /// Whether the ratio is within the bound. An unmeasured one is not.
    pub holds: bool,
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

impl Summary {
    /// The cell of a server, workload and load.
    pub fn cell(&self, server: &str, workload: &str, level: impl Into<Level>) -> Option<&Cell> {
        let level = level.into();
        self.cells
            .iter()
            .find(|cell| cell.server == server && cell.workload == workload && cell.level == level)
    }

    /// The comparison of a pair on a workload and load.
    pub fn comparison(
        &self,
        server: &str,
        over: &str,
        workload: &str,
        level: impl Into<Level>,
    ) -> Option<&Comparison> {
        let level = level.into();
        self.comparisons.iter().find(|comparison| {
            comparison.server == server
                && comparison.over == over
                && comparison.workload == workload
                && comparison.level == level
        })
    }
}

/// What carried packets, each once.
fn carriers(observations: &[Observation]) -> Vec<Carrier> {
    let samples = observations.iter().filter_map(valid);
    let mut carriers: Vec<Carrier> = Vec::new();
    for link in samples.filter_map(|sample| sample.link) {
        if !carriers.contains(&link.carrier) {
            carriers.push(link.carrier);
        }
    }
    carriers
}

/// Works the summary out, except causes, remedies and layers, which need more than the observations. `levels` are those
/// of the plan, which may be fewer than the campaign's.
pub fn summarize(
    campaign: &Campaign,
    levels: &[impl Into<Level> + Copy],
    trials: &[Trial],
    observations: &[Observation],
) -> Summary {
    let levels: Vec<Level> = levels.iter().map(|level| (*level).into()).collect();
    let observed = Observed::new(observations);
    let judged = Comparisons::new(campaign, &levels, trials, &observed);
    let done = observations.iter().map(|observation| observation.trial.number).collect();
    let comparisons = judged.comparisons();
    let has_failed = |observation: &&Observation| !is_answer(campaign, &observation.outcome);
    let failed: Vec<FailedTrial> = observations.iter().filter(has_failed).filter_map(failed_trial).collect();
    let mut cells = Vec::new();
    let mut bounds = Vec::new();
    for workload in &campaign.workloads {
        for &level in &levels {
            let samples = |server: &str| observed.samples(server, workload, level);
            let ceiling = campaign.ceiling.as_ref().map(|server| samples(server));
            let cells_of =
                arms(campaign).into_iter().filter(|(arm, _)| campaign.measures(arm, workload, level));
            for (server, beside) in cells_of {
                let place = (server.as_str(), beside.as_deref(), workload.as_str(), level);
                let measured = observed.samples_of(place);
                let invalid = observed.invalid(place);
                let mut cell = cell(place, &measured, &invalid, ceiling.as_ref(), &failed);
                if level.rate.is_some() || level == campaign.headline_level(workload, &levels) {
                    cell.timeline = timeline(measured.values().copied(), campaign.window_ms);
                    cell.latency = latency_course(measured.values().copied());
                    let samples: Vec<&Sample> = measured.values().copied().collect();
                    cell.quantiles = quantiles(&samples);
                    cell.requests_of_a_trial =
                        fewest_requests(&samples).filter(|_| !cell.quantiles.is_empty());
                }
                cells.push(cell);
            }
            for rule in &campaign.pass {
                let compared = comparisons.iter().find(|pair| {
                    (&pair.server, &pair.over, &pair.workload, pair.level)
                        == (&rule.server, &rule.over, workload, level)
                });
                // A comparison's interval allows for its interim analyses and for the other comparisons.
                let ratio = match (rule.figure, compared) {
                    (Figure::CpuUsPerRequest, Some(pair)) => Some(pair.cpu.ratio),
                    (Figure::RequestsPerSecond, Some(pair)) => Some(pair.rate.ratio),
                    (figure, _) => ratio(figure, &samples(&rule.server), &samples(&rule.over)),
                };
                let holds = ratio.is_some_and(|ratio| rule.holds(ratio));
                let (rule, workload) = (rule.clone(), workload.clone());
                bounds.push(Bound { rule, workload, level, ratio, holds });
            }
        }
    }
    Summary {
        planned: plan::planned(campaign, trials),
        observed: observations.len(),
        left: judged.needed(trials, &done).len(),
        block_counts: judged.block_counts().to_vec(),
        cells,
        comparisons,
        bounds,
        crossed: Vec::new(),
        original: Vec::new(),
        failed,
        invalid: observations.iter().filter_map(invalid_trial).collect(),
        sampling_cores: sampling_cores(observations),
        causes: Vec::new(),
        remedies: Vec::new(),
        isolation: isolation(campaign, &levels, &observed),
        recovery: recovery(campaign, &levels, &observed),
        agreement: agreement(campaign, &levels, &observed),
        threshold: None,
        slo: None,
        stages: Vec::new(),
        head_of_line: Vec::new(),
        gateways: Vec::new(),
        held: Vec::new(),
        boxed: Vec::new(),
        by_rate: Vec::new(),
        hosts: hosts(observations),
        soaks: soaks(campaign, observations),
        carriers: carriers(observations),
        sizes: None,
        views: Vec::new(),
    }
}

/// The servers of a campaign's cells; in a duet each once for every server that it is paired with.
fn arms(campaign: &Campaign) -> Vec<(String, Option<String>)> {
    match campaign.environment.placement {
        Placement::Free | Placement::OneCore => {
            campaign.servers.iter().map(|server| (server.clone(), None)).collect()
        }
        Placement::Duet => {
            let pairs = campaign.compared().into_iter();
            pairs.flat_map(|(a, b)| [(a.clone(), Some(b.clone())), (b, Some(a))]).collect()
        }
    }
}

fn sampling_cores(observations: &[Observation]) -> Option<SamplingCores> {
    let samples = observations.iter().filter_map(valid);
    let cores: Vec<f64> =
        samples.filter_map(|sample| Some(sample.sampler_cpu_s? / sample.window_s)).collect();
    Some(SamplingCores {
        median: median_of(cores.iter().copied())?.value,
        most: cores.into_iter().fold(0.0, f64::max),
    })
}

fn cell(
    place: Place<'_>,
    measured: &Samples<'_>,
    invalid: &BTreeMap<Lost, usize>,
    ceiling: Option<&Samples<'_>>,
    failed: &[FailedTrial],
) -> Cell {
    let (server, beside, workload, level) = place;
    let figures: BTreeMap<Figure, Estimate> = Figure::ALL
        .into_iter()
        .filter_map(|figure| Some((figure, median_figure(measured, figure)?)))
        .collect();
    let sum = |count: fn(&Sample) -> Option<u64>| {
        measured.values().map(|sample| count(sample)).sum::<Option<u64>>()
    };
    let share_of_ceiling = ceiling
        .and_then(|ceiling| ratio(Figure::RequestsPerSecond, measured, ceiling))
        .map(|ratio| ratio.value);
    let failed_requests = failed_requests(measured.values().copied());
    let listen_overflows = sum(|sample| sample.network.listen_overflows);
    let is_ceiling = share_of_ceiling == Some(1.0);
    let disagreement = median_of(measured.values().filter_map(|sample| sample.count_disagreement()));
    let is_open = level.rate.is_some();
    let value = |figure: Figure| figures.get(&figure).map(|estimate| estimate.value);
    // In an open loop the tool holds as many connections as it happens to need, and its CPU limits no rate.
    let share_of_connections =
        |figure: Figure| value(figure).filter(|_| !is_open).map(|value| value / f64::from(level.connections));
    let of_cell =
        |t: &&FailedTrial| (t.server.as_str(), t.beside.as_deref(), t.workload.as_str(), t.level) == place;
    let lost_to = |lost: Lost| invalid.get(&lost).copied().unwrap_or(0);
    let marks = Mark::of(Evidence {
        client_bound: !is_open && is_client_bound(value, measured),
        share_of_ceiling: share_of_ceiling.filter(|_| !is_ceiling && !is_open),
        failed_requests: failed_requests.values().sum(),
        listen_overflows: listen_overflows.unwrap_or(0),
        failed_trials: failed.iter().filter(of_cell).count(),
        stolen_trials: lost_to(Lost::Steal),
        foreign_trials: lost_to(Lost::ForeignCpu),
        throttled_trials: lost_to(Lost::Throttled),
        active_share: share_of_connections(Figure::ActiveConnections),
        established_share: share_of_connections(Figure::EstablishedConnections),
        count_disagreement: disagreement.map(|share| share.value),
        first_half_ratio: value(Figure::FirstHalfCpuRatio),
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
        answer_bytes: measured.values().next().map(|sample| sample.answer_bytes),
        checked: checked_answers(measured.values().copied()),
        differences: Differences::of_all(measured.values().filter_map(|sample| sample.differences.as_ref())),
        marks,
        timeline: Vec::new(),
        latency: Vec::new(),
        quantiles: Vec::new(),
        requests_of_a_trial: None,
    }
}
