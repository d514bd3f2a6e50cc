//! Servers in boxes: the highest rate that each holds in each box, why not more, and what it used.

mod ladder;
mod verdict;

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::observed::{counts, disturbed, middle_of, valid};
use super::slo::Judge;
use bench_model::config::{SizedBox, Sizes};
use bench_model::observation::{Observation, Outcome, Sample};
use bench_model::plan::Plan;
use bench_model::results::{Conditions, RunFolder};

pub use ladder::{End, HeldRate, Windows, found};
pub use verdict::{BoxVerdict, FULL, THROTTLED};

/// What the trials in boxes showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SizesSummary {
    /// Every server in every box, with every request: servers and boxes as the campaign orders them.
    pub cells: Vec<SizedCell>,
    /// Trials that are known to be needed and have not run.
    pub left: usize,
    /// Trials.
    pub trials: usize,
    /// Trials that gave no figure and were not the box' doing, one line each.
    pub failed: Vec<String>,
}

impl SizesSummary {
    /// The cell of a server, box and request.
    pub fn cell(&self, server: &str, of: &SizedBox, workload: &str) -> Option<&SizedCell> {
        self.cells.iter().find(|cell| cell.server == server && cell.of == *of && cell.workload == workload)
    }
}

/// A server in a box, with a request.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SizedCell {
    /// The server, by name, without its box.
    pub server: String,
    /// The box.
    #[serde(rename = "box")]
    pub of: SizedBox,
    /// The workload.
    pub workload: String,
    /// The highest rate that it held in every block, in requests a second.
    pub held: Option<u32>,
    /// The lowest rate above, which it did not hold.
    pub not_held: Option<u32>,
    /// Why it holds no more.
    pub verdict: BoxVerdict,
    /// What missed the service level at the lowest rate that is not held, by kind, in windows.
    pub complaints: BTreeMap<String, usize>,
    /// At the highest rate that is held.
    pub at_held: Option<Figures>,
    /// At the lowest rate that is not.
    pub at_not_held: Option<Figures>,
    /// At the rates that every box gets, met or not; a rate at which no window has a figure is left out.
    pub always: Vec<(u32, Figures)>,
    /// In the closed loop.
    pub closed: Option<Figures>,
    /// Threads that the server said it had when it was ready; `None` where it did not start.
    pub threads: Option<u64>,
    /// Trials in which the kernel killed it for want of memory.
    pub out_of_memory: usize,
    /// Trials.
    pub trials: usize,
}

/// Medians over the windows at a load that have a figure.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Requests that succeeded, a second.
    pub rate: f64,
    /// The 99th percentile of latency, in microseconds.
    pub p99_us: f64,
    /// Server CPU time for a request, in microseconds.
    pub cpu_us_per_request: Option<f64>,
    /// Processors that the server used.
    pub server_cores: Option<f64>,
    /// The share of the quota's periods in which it was used up, from 0 to 1.
    pub throttled_share: Option<f64>,
    /// How long the server's threads waited for the next period, in seconds for each second.
    pub throttled_s_per_s: Option<f64>,
    /// The most memory of its group, in bytes.
    pub memory_peak_bytes: Option<f64>,
}

/// Judges windows at a rate by a campaign's service level.
pub fn judge(sizes: &Sizes, cores: usize) -> Judge {
    Judge {
        p99_us: sizes.p99_ms as f64 * 1e3,
        most_failed: 0.0,
        least_achieved: 1.0 - sizes.shortfall.0,
        cores,
    }
}

/// A server in a box in one block: its part of the observations, from which follows what is tried next.
#[derive(Debug)]
pub struct Rungs<'a> {
    sizes: &'a Sizes,
    judge: Judge,
    at: BTreeMap<u32, Vec<&'a Observation>>,
    closed: Vec<&'a Observation>,
}

impl<'a> Rungs<'a> {
    /// Of the observations of one arm, workload and block.
    pub fn new(sizes: &'a Sizes, cores: usize, observations: impl Iterator<Item = &'a Observation>) -> Self {
        let mut rungs = Self { sizes, judge: judge(sizes, cores), at: BTreeMap::new(), closed: Vec::new() };
        for observation in observations {
            match observation.trial.rate {
                Some(rate) => rungs.at.entry(rate).or_default().push(observation),
                None => rungs.closed.push(observation),
            }
        }
        rungs
    }

    /// Where the search stands.
    pub fn found(&self) -> HeldRate {
        found(&self.sizes.rates, &self.sizes.always, self.sizes.windows_to_hold, |rate| {
            let mut windows = Windows::default();
            for window in self.windows(rate) {
                match window.outcome {
                    Outcome::OutOfMemory { .. } => windows.killed += 1,
                    _ => windows.take(self.judge.judgement(window)),
                }
            }
            windows
        })
    }

    fn windows(&self, rate: u32) -> &[&'a Observation] {
        self.at.get(&rate).map_or(&[], Vec::as_slice)
    }

    /// The load to try next: a rate, or the closed loop; `None` where all is done.
    pub fn next(&self) -> Option<BoxLoad> {
        let rate = self.found().next.map(BoxLoad::Rate);
        rate.or_else(|| self.closed.is_empty().then_some(BoxLoad::Closed))
    }
}

/// A load on a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoxLoad {
    /// Requests a second.
    Rate(u32),
    /// The closed loop.
    Closed,
}

/// Reads the folder of trials in boxes.
///
/// # Errors
/// It holds no such trials.
pub fn read(folder: &RunFolder) -> Result<SizesSummary> {
    let (plan, conditions) = (folder.plan()?, folder.conditions()?);
    summary(&plan, &conditions, &folder.observations()?)
}

/// What the observations of a plan with boxes show.
///
/// # Errors
/// The plan has no boxes.
pub fn summary(plan: &Plan, conditions: &Conditions, observations: &[Observation]) -> Result<SizesSummary> {
    let sizes = plan.campaign.sizes.as_ref().context("the plan has no boxes")?;
    let cores = conditions.host.cores;
    let mut cells = Vec::new();
    let mut left = 0;
    for workload in &plan.campaign.workloads {
        for server in &plan.campaign.servers {
            // The plan of the trials names servers by their boxes.
            let Some((base, of)) = base_of(sizes, server) else { continue };
            let of_cell = |observation: &&Observation| {
                observation.trial.server == *server && observation.trial.workload == *workload
            };
            let own: Vec<&Observation> = observations.iter().filter(of_cell).collect();
            let rungs = |block: u32| {
                let in_block = own.iter().copied().filter(|observation| observation.trial.block == block);
                Rungs::new(sizes, cores, in_block)
            };
            let blocks: Vec<Rungs<'_>> = (1..=plan.campaign.max_blocks).map(rungs).collect();
            left += blocks.iter().filter(|rungs| rungs.next().is_some()).count();
            let threads = conditions.servers.get(server).and_then(|ready| ready.get("threads")?.as_u64());
            let killed =
                |observation: &&&Observation| matches!(observation.outcome, Outcome::OutOfMemory { .. });
            cells.push(SizedCell {
                server: base,
                workload: workload.clone(),
                threads,
                out_of_memory: own.iter().filter(killed).count(),
                trials: own.len(),
                ..sized(sizes, cores, of, &blocks)
            });
        }
    }
    let failed = |observation: &&Observation| {
        let is_box = matches!(
            observation.outcome,
            Outcome::OutOfMemory { .. } | Outcome::NoSuccess(_) | Outcome::Silent(_)
        );
        !is_box && observation.outcome.failure().is_some()
    };
    let line = |observation: &Observation| {
        let reason = observation.outcome.failure().unwrap_or_default();
        format!("trial {} of {}: {reason}", observation.trial.number, observation.trial.server)
    };
    Ok(SizesSummary {
        cells,
        left,
        trials: observations.len(),
        failed: observations.iter().filter(failed).map(line).collect(),
    })
}

/// The server and the box that an arm's name stands for.
fn base_of(sizes: &Sizes, arm: &str) -> Option<(String, SizedBox)> {
    // The name of one box may end as that of another: the longest fits.
    let named = |of: &SizedBox| Some((arm.strip_suffix(&Sizes::arm("", of))?.to_owned(), *of));
    sizes.boxes.iter().filter_map(named).min_by_key(|(base, _)| base.len())
}

/// What the blocks of a server in a box show; which server it is, and what was counted, stands elsewhere.
fn sized(sizes: &Sizes, cores: usize, of: SizedBox, blocks: &[Rungs<'_>]) -> SizedCell {
    let all: Vec<HeldRate> = blocks.iter().map(Rungs::found).collect();
    // What holds in every block.
    let lowest = all.iter().min_by_key(|found| found.held);
    let held = lowest.and_then(|found| found.held);
    let not_held = lowest.and_then(|found| found.not_held);
    let end = match lowest {
        Some(found) if all.iter().all(|found| found.end != End::Left) => found.end,
        _ => End::Left,
    };
    let at = |rate: u32| -> Vec<&Observation> {
        blocks.iter().flat_map(|rungs| rungs.windows(rate)).copied().collect()
    };
    let judge = judge(sizes, cores);
    let missed = not_held.map(at).unwrap_or_default();
    let missed: Vec<&Observation> = missed.into_iter().filter(|window| !disturbed(&window.outcome)).collect();
    let complaints = missed.iter().flat_map(|window| judge.missed(window)).map(|missed| missed.kind());
    let always = |rate: &u32| Some((*rate, figures(&at(*rate))?));
    let closed: Vec<&Observation> = blocks.iter().flat_map(|rungs| &rungs.closed).copied().collect();
    SizedCell {
        server: String::new(),
        of,
        workload: String::new(),
        held,
        not_held,
        verdict: BoxVerdict::of(end, &of, &missed, cores),
        complaints: counts(complaints),
        at_held: held.and_then(|rate| figures(&at(rate))),
        at_not_held: figures(&missed),
        always: sizes.always.iter().filter_map(always).collect(),
        closed: figures(&closed),
        threads: None,
        out_of_memory: 0,
        trials: 0,
    }
}

/// Medians over windows; `None` where none has a figure. Windows that the machine disturbed are left out.
fn figures(windows: &[&Observation]) -> Option<Figures> {
    let samples: Vec<&Sample> = windows.iter().filter_map(|window| valid(window)).collect();
    let of =
        |figure: fn(&Sample) -> Option<f64>| middle_of(samples.iter().filter_map(|sample| figure(sample)));
    Some(Figures {
        rate: of(|sample| Some(sample.load.succeeded as f64 / sample.load.time_taken_s))?,
        p99_us: of(|sample| Some(sample.load.latency_us.p99))?,
        cpu_us_per_request: of(Sample::cpu_us_per_request),
        server_cores: of(Sample::server_cores),
        throttled_share: of(|sample| sample.limited?.throttled_share()),
        throttled_s_per_s: of(|sample| Some(sample.limited?.throttled_s? / sample.window_s)),
        memory_peak_bytes: of(|sample| Some(sample.limited?.memory_peak_bytes? as f64)),
    })
}
