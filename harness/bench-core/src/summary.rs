//! The summary: a cell for each server, workload and load; comparisons by pairs; bounds; and what failed.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::cell::{Cell, cell};
use super::comparison::{Comparison, Comparisons, ratio};
use super::diagnosed::{Diagnosed, TriedRemedy};
use super::faults::{self, Fault, Purpose};
use super::invalid_trials::Uncounted;
use super::latency::{fewest_requests, latency_course, quantiles};
use super::observed::{Observed, Samples, by_block, middle_of, valid};
use super::search::Searches;
use super::timeline::timeline;
use super::verdict::Verdict;
use super::views::Shown;
use crate::config::{Campaign, PassRule, Placement};
use crate::load::Level;
use crate::observation::{Observation, Sample};
use crate::plan::{self, Trial};
use crate::stats::Estimate;

/// The version of `summary.json`, whose form is in `schemas/summary.schema.json`. Raised where a field changes its
/// meaning or goes.
pub const SUMMARY_VERSION: u32 = 9;

/// What a run showed.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    /// What went wrong, the gravest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// Trials that gave no figure, in order.
    pub failed: Vec<Uncounted>,
    /// Trials that were measured and count nowhere, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<Uncounted>,
    /// What it cost to read the servers' resources: CPU time of the harness over the window's length, in processors.
    /// None where nothing was read.
    pub sampling_cores: Option<SamplingCores>,
    /// Why requests failed or a server was slow, where there is something to explain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Diagnosed>,
    /// Remedies that were tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<TriedRemedy>,
    /// From which load on servers fail. None where that was not searched.
    pub search: Option<Searches>,
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
    /// The ratio; of a bound on a figure itself the median, with the smallest and the largest value of any trial. None
    /// where a side was not measured.
    pub found: Option<Estimate>,
    /// Whether the ratio is within the bound. An unmeasured one is not.
    pub holds: bool,
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
        self.comparisons.iter().find(|pair| pair.is_of(server, over, workload, level))
    }
}

/// The campaign's bounds, those of each server once for each.
fn rules(campaign: &Campaign) -> Vec<PassRule> {
    let servers = || campaign.servers.iter().filter(|name| Some(*name) != campaign.ceiling.as_ref());
    let of_each = |rule: &PassRule| match rule.server {
        Some(_) => vec![rule.clone()],
        None => servers().map(|name| PassRule { server: Some(name.clone()), ..rule.clone() }).collect(),
    };
    campaign.pass.iter().flat_map(of_each).collect()
}

/// How a bound came out on a request and load; `None` where these are not measured.
fn bound<'a>(
    rule: &PassRule,
    campaign: &Campaign,
    workload: &str,
    level: Level,
    comparisons: &[Comparison],
    samples: &impl Fn(&str) -> Samples<'a>,
) -> Option<Bound> {
    let server = rule.server.as_deref()?;
    let is_measured = |server: &str| campaign.measures(server, workload, level);
    if !is_measured(server) || !rule.over.as_deref().is_none_or(is_measured) {
        return None;
    }
    let found = match &rule.over {
        Some(over) => {
            let compared = comparisons.iter().find(|pair| pair.is_of(server, over, workload, level));
            // A comparison's interval allows for its interim analyses and for the other comparisons.
            let judged = compared.and_then(|pair| pair.findings.get(&rule.figure));
            match judged.filter(|finding| finding.verdict != Verdict::NotJudged) {
                Some(finding) => Some(finding.ratio),
                None => {
                    ratio(&by_block(&samples(server), rule.figure), &by_block(&samples(over), rule.figure))
                }
            }
        }
        None => {
            let samples = samples(server);
            let values: Vec<f64> = by_block(&samples, rule.figure).into_values().collect();
            let [least, most] = [f64::min, f64::max].map(|of| values.iter().copied().reduce(of));
            middle_of(values).map(|value| Estimate { value, interval: least.zip(most) })
        }
    };
    let holds = found.is_some_and(|found| rule.holds(found));
    Some(Bound { rule: rule.clone(), workload: workload.to_owned(), level, found, holds })
}

/// Works the summary out, except causes and remedies, which need more than the observations. `levels` are those
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
    let failed: Vec<Uncounted> = observations.iter().filter_map(Uncounted::failed).collect();
    let arms = arms(campaign);
    let mut cells = Vec::new();
    let rules = rules(campaign);
    let mut bounds = Vec::new();
    for workload in &campaign.workloads {
        for &level in &levels {
            let samples = |server: &str| observed.samples(server, workload, level);
            let ceiling = campaign.ceiling.as_ref().map(|server| samples(server));
            let is_headline = level == campaign.headline_level(workload, &levels);
            for (server, beside) in &arms {
                if !campaign.measures(server, workload, level) {
                    continue;
                }
                let place = (server.as_str(), beside.as_deref(), workload.as_str(), level);
                let measured = observed.samples_of(place);
                let invalid = observed.invalid(place);
                let mut cell = cell(place, &measured, &invalid, ceiling.as_ref(), &failed);
                if level.rate.is_some() || is_headline {
                    let samples: Vec<&Sample> = measured.values().copied().collect();
                    cell.timeline = timeline(samples.iter().copied(), campaign.window_ms);
                    cell.latency = latency_course(samples.iter().copied());
                    cell.quantiles = quantiles(&samples);
                    cell.requests_of_a_trial =
                        fewest_requests(&samples).filter(|_| !cell.quantiles.is_empty());
                }
                cells.push(cell);
            }
            let is_compared = !campaign.compare_headline_only || is_headline;
            if is_compared {
                let judged = |rule: &PassRule| bound(rule, campaign, workload, level, &comparisons, &samples);
                bounds.extend(rules.iter().filter_map(judged));
            }
        }
    }
    // A bound that was judged nowhere was not shown.
    let unseen = rules.iter().filter(|rule| !bounds.iter().any(|bound| bound.rule == **rule));
    let unseen: Vec<PassRule> = unseen.cloned().collect();
    if let Some((workload, level)) = campaign.workloads.first().zip(levels.first()) {
        let bound =
            |rule| Bound { rule, workload: workload.clone(), level: *level, found: None, holds: false };
        bounds.extend(unseen.into_iter().map(bound));
    }
    Summary {
        planned: plan::planned(campaign, trials),
        observed: observations.len(),
        left: judged.needed(trials, &done).len(),
        block_counts: judged.block_counts().to_vec(),
        cells,
        comparisons,
        bounds,
        faults: faults::faults(observations.iter().map(|of| (Purpose::Measure, of))),
        failed,
        invalid: observations.iter().filter_map(Uncounted::invalid).collect(),
        sampling_cores: sampling_cores(observations),
        ..Summary::default()
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
    let most = cores.iter().copied().fold(0.0, f64::max);
    Some(SamplingCores { median: middle_of(cores)?, most })
}
