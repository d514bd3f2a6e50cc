//! The same ratio from several runs: which of them may be pooled, their mean, how much of their spread lies between runs, and
//! what a new run may give. The statistics are those of [`crate::stats::random_effects`], on logarithms.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::comparison::Comparison;
use super::summary::Summary;
use super::verdict::Finding;
use crate::config::{Environment, Placement};
use crate::plan::Plan;
use crate::results::Conditions;
use crate::stats::{Estimate, RandomEffects, RunEstimate, random_effects, standard_error};
use crate::workload::Traffic;

/// Fields of a ready line that are no property of the server: its addresses, and a limit of the machine.
const NO_SETTINGS: [&str; 6] = ["ready", "addr", "metrics", "ws", "server", "open_files"];

/// A run, or a part of one, whose comparisons are pooled.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The run's name; of a part, with the part's folder behind it.
    pub name: &'a str,
    /// What was to be done.
    pub plan: &'a Plan,
    /// What it was measured with and on.
    pub conditions: &'a Conditions,
    /// Its results.
    pub summary: &'a Summary,
}

/// Which figure a ratio is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PooledFigure {
    /// Server CPU time for a request.
    Cpu,
    /// Successful requests a second.
    Rate,
}

/// A server as two runs must have it for their ratios to be of one and the same thing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// What campaigns call it.
    pub name: String,
    /// Its full name for readers.
    pub title: String,
    /// Every effective setting in its ready line, without addresses and limits of the machine.
    pub settings: Value,
}

/// What two runs must share for their ratios to be pooled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The figure.
    pub figure: PooledFigure,
    /// Which cores server and load tool had; `duet` where the pair ran at the same time.
    pub placement: Placement,
    /// The workload.
    pub workload: String,
    /// The server in the numerator.
    pub server: String,
    /// The server in the denominator.
    pub over: String,
    /// Connections.
    pub connections: u32,
    /// Bytes of one answer's body.
    pub answer_bytes: Option<u64>,
    /// Threads of each server.
    pub threads: u32,
    /// Tuning and ledger.
    pub environment: Environment,
    /// Both servers.
    pub servers: [Identity; 2],
    #[serde(skip)]
    traffic: Option<Traffic>,
}

/// One run's ratio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRatio {
    /// The run's name.
    pub run: String,
    /// When it began, in UTC.
    pub started_at: String,
    /// The processor.
    pub cpu: String,
    /// Processors.
    pub cores: usize,
    /// Kernel release.
    pub kernel: Option<String>,
    /// The commit that was measured, with `+` where files had changed since.
    pub commit: Option<String>,
    /// The measured window, in milliseconds.
    pub window_ms: u64,
    /// Blocks.
    pub blocks: usize,
    /// The ratio, with the interval that the run's report prints.
    pub ratio: Estimate,
    /// The standard error of its logarithm within the run; none where the run has too few blocks for an interval.
    pub log_standard_error: Option<f64>,
}

/// What several runs show together. Spreads are relative: 0.05 is 5 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pooled {
    /// Runs that were pooled.
    pub runs: usize,
    /// The mean ratio over runs, with its interval.
    pub ratio: Estimate,
    /// The interval for the true ratio of a new run; none below three runs.
    pub prediction: Option<(f64, f64)>,
    /// The typical standard error within a run.
    pub within: f64,
    /// The standard deviation between runs.
    pub between: f64,
    /// The share of the variance that lies between runs, from 0 to 1.
    pub i_squared: f64,
}

impl Pooled {
    fn new(runs: usize, logs: RandomEffects) -> Self {
        Self {
            runs,
            ratio: logs.mean.map(f64::exp),
            prediction: logs.prediction.map(|(low, high)| (low.exp(), high.exp())),
            within: logs.within.exp_m1(),
            between: logs.between.exp_m1(),
            i_squared: logs.i_squared,
        }
    }
}

/// A ratio of one setting from every run that has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// What the runs share.
    #[serde(flatten)]
    pub setting: Setting,
    /// Each run's ratio, in the order of the runs.
    pub runs: Vec<RunRatio>,
    /// All of them as one; none where fewer than two runs have an interval.
    pub pooled: Option<Pooled>,
}

/// Every ratio of the runs, by what they share: CPU time in duets first, then by request, connections and pair.
pub fn pool(sources: &[Source<'_>]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for source in sources {
        for pair in &source.summary.comparisons {
            for (figure, finding) in judged(source, pair) {
                let Some(setting) = setting(source, pair, figure) else { continue };
                let ratio = run_ratio(source, finding);
                match groups.iter_mut().find(|group| group.setting == setting) {
                    Some(group) => group.runs.push(ratio),
                    None => groups.push(Group { setting, runs: vec![ratio], pooled: None }),
                }
            }
        }
    }
    for group in &mut groups {
        let estimates: Vec<RunEstimate> = group.runs.iter().filter_map(RunRatio::log_estimate).collect();
        group.pooled = random_effects(&estimates).map(|logs| Pooled::new(estimates.len(), logs));
    }
    groups.sort_by(|a, b| order(&a.setting).cmp(&order(&b.setting)));
    groups
}

fn order(setting: &Setting) -> (bool, PooledFigure, &str, u32, &str, &str) {
    let Setting { figure, placement, workload, server, over, connections, .. } = setting;
    (*placement != Placement::Duet, *figure, workload, *connections, over, server)
}

/// The ratios of a comparison that can be pooled: an open loop is another model, and in a duet the kernel divides the core.
fn judged<'a>(source: &Source<'_>, pair: &'a Comparison) -> Vec<(PooledFigure, &'a Finding)> {
    if pair.level.rate.is_some() {
        return Vec::new();
    }
    let mut judged = vec![(PooledFigure::Cpu, &pair.cpu)];
    if source.plan.campaign.environment.placement != Placement::Duet {
        judged.push((PooledFigure::Rate, &pair.rate));
    }
    judged
}

/// `None` where the run does not record what a server or its request was, so that the meaning of its ratio is unknown.
fn setting(source: &Source<'_>, pair: &Comparison, figure: PooledFigure) -> Option<Setting> {
    let Source { plan, conditions, summary, .. } = source;
    let identity = |name: &str| {
        let title = plan.servers.iter().find(|server| server.name == name)?.title.clone();
        let mut settings = conditions.servers.get(name)?.clone();
        if let Some(fields) = settings.as_object_mut() {
            fields.retain(|field, _| !NO_SETTINGS.contains(&field.as_str()));
        }
        Some(Identity { name: name.to_owned(), title, settings })
    };
    let of_pair = |cell: &&super::Cell| {
        cell.server == pair.server && cell.workload == pair.workload && cell.level == pair.level
    };
    let traffic = &plan.workloads.iter().find(|workload| workload.name == pair.workload)?.traffic;
    Some(Setting {
        figure,
        placement: plan.campaign.environment.placement,
        workload: pair.workload.clone(),
        server: pair.server.clone(),
        over: pair.over.clone(),
        connections: pair.level.connections,
        answer_bytes: summary.cells.iter().find(of_pair).and_then(|cell| cell.answer_bytes),
        threads: plan.threads,
        environment: plan.campaign.environment.clone(),
        servers: [identity(&pair.server)?, identity(&pair.over)?],
        traffic: Some(traffic.clone()),
    })
}

fn run_ratio(source: &Source<'_>, finding: &Finding) -> RunRatio {
    let Source { name, plan, conditions, .. } = source;
    let logs = finding.ratio.interval.map(|(low, high)| (low.ln(), high.ln()));
    let log_standard_error = logs.zip(finding.confidence).and_then(|(interval, confidence)| {
        // Rounding in 1 - (1 - level) must not change a rank.
        let level = 1.0 - confidence + 1e-12;
        standard_error(interval, finding.blocks, level)
    });
    RunRatio {
        run: (*name).to_owned(),
        started_at: conditions.started_at.clone(),
        cpu: conditions.host.processor_name(),
        cores: conditions.host.cores,
        kernel: conditions.host.kernel.clone(),
        commit: conditions.host.commit.clone(),
        window_ms: plan.campaign.window_ms,
        blocks: finding.blocks,
        ratio: finding.ratio,
        log_standard_error,
    }
}

impl RunRatio {
    fn log_estimate(&self) -> Option<RunEstimate> {
        Some(RunEstimate { value: self.ratio.value.ln(), standard_error: self.log_standard_error? })
    }
}
