//! The same ratio from several runs: which of them may be pooled, their mean, how much of their spread lies between
//! runs, and what a new run may give. The statistics are those of [`bench_stats::random_effects`], on logarithms.
//!
//! Only runs of one model of processor and of the same builds of both servers are pooled: what a build or a processor
//! changes is no spread between runs. Across models there is a range, and from three models on a mean with its
//! interval.

mod model;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::model::{Model, Pooled};
use super::comparison::Comparison;
use super::observed::grouped;
use super::summary::Summary;
use super::verdict::Finding;
use bench_model::config::{Environment, Placement, Pool};
use bench_model::load::{Level, at};
use bench_model::plan::Plan;
use bench_model::provenance::Program;
use bench_model::results::Conditions;
use bench_model::workload::Traffic;
use bench_stats::{CONFIDENCE, Estimate, RunEstimate, random_effects, standard_error};

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
    /// 99th percentile of latency.
    P99,
}

/// As many models of processors it takes for an interval across models.
const LEAST_MODELS: usize = 3;

/// As many characters of a fingerprint as readers see.
const SHORT: usize = 12;

/// What a server was built from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Built {
    /// The fingerprint of its sources; of a program that cargo did not build, its SHA-256; of older runs, the commit.
    /// Where none of these is known, no two runs share it.
    pub from: String,
    /// The compiler and its flags, where cargo built it.
    pub by: Option<String>,
}

impl Built {
    fn of(server: &str, source: &Source<'_>) -> Self {
        let Conditions { programs, host, .. } = source.conditions;
        let alone = |what: &str| Self { from: format!("{what} of {}", source.name), by: None };
        match (programs.get(server), &host.commit) {
            (Some(Program { sources: Some(from), compiler, flags, .. }), _) => {
                let by = compiler.iter().chain(flags).cloned().collect::<Vec<_>>().join(", ");
                Self { from: from.clone(), by: Some(by) }
            }
            (Some(Program { sha256: Some(from), unknown: None, .. }), _) => {
                Self { from: from.clone(), by: None }
            }
            (Some(_), _) => alone("the server"),
            (None, Some(commit)) if !commit.ends_with('+') => {
                Self { from: format!("commit {commit}"), by: None }
            }
            (None, _) => alone("a commit with changes"),
        }
    }

    /// For readers: the beginning of a fingerprint, anything else as it is.
    pub fn words(&self) -> String {
        if self.from.contains(' ') { self.from.clone() } else { self.from.chars().take(SHORT).collect() }
    }
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
    /// What it was built from.
    pub built: Built,
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
    /// Connections and the load tool.
    #[serde(flatten)]
    pub level: Level,
    /// The load hosts, where several put the load on together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Pool>,
    /// Bytes of one answer's body.
    pub answer_bytes: Option<u64>,
    /// Threads of each server, where it states none of its own.
    pub threads: u32,
    /// Tuning, ledger and all else that the campaign states of it.
    pub environment: Environment,
    /// Whether each block drew builds of both servers, so that the ratio is of many builds and its interval allows for
    /// their luck.
    #[serde(default)]
    pub many_builds: bool,
    /// Both servers.
    pub servers: [Identity; 2],
    /// The requests; what is pooled has the same.
    #[serde(skip)]
    pub traffic: Option<Traffic>,
}

impl Setting {
    /// `getBlocks at 500`, with what is unusual of the load: `getBlocks at 500, by rpc-load, from 2 load hosts`.
    pub fn place(&self) -> String {
        let Self { workload, level, hosts, .. } = self;
        let mut place = at(workload, *level);
        if level.in_flight {
            place += " in flight";
        }
        if !level.tool.is_default() {
            place = format!("{place}, by {}", level.tool.name());
        }
        if let Some(pool) = hosts {
            place = format!("{place}, from {} load hosts", pool.hosts);
        }
        place
    }
}

/// One run's ratio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRatio {
    /// The run's name.
    pub run: String,
    /// When it began, in UTC.
    pub started_at: String,
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
    /// The smallest and the largest ratio of one build of each server: of a run whose blocks draw builds, of its
    /// blocks; else its ratio twice, since all of it is of one build.
    pub one_build: Option<(f64, f64)>,
}

/// What models of processors show together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Across {
    /// Models.
    pub models: usize,
    /// The smallest and the largest ratio of a model.
    pub range: (f64, f64),
    /// The mean over models with its interval; none below three models.
    pub ratio: Option<Estimate>,
}

/// A ratio of one setting from every run that has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// What the runs share.
    #[serde(flatten)]
    pub setting: Setting,
    /// Whether no run of the same pair, load and environment, with other builds, is newer than its newest.
    pub newest: bool,
    /// By model of processor.
    pub models: Vec<Model>,
    /// All models; none where there is only one.
    pub across: Option<Across>,
}

impl Group {
    /// Whether anything of it was measured more than once.
    pub fn is_repeated(&self) -> bool {
        self.models.len() > 1 || self.models.iter().any(|model| model.pooled.is_some())
    }

    /// Its runs on all models.
    pub fn runs(&self) -> impl Iterator<Item = &RunRatio> {
        self.models.iter().flat_map(|model| &model.runs)
    }

    fn began(&self) -> &str {
        self.runs().map(|run| run.started_at.as_str()).max().unwrap_or_default()
    }
}

/// Every ratio of the runs, by what they share: CPU time in duets first, then by request, connections and pair.
pub fn pool(sources: &[Source<'_>]) -> Vec<Group> {
    let of_pair = |(source, pair): (&Source<'_>, &Comparison)| {
        let ratio = |measured: Measured<'_>| {
            let processor = source.conditions.host.processor_name();
            Some((setting(source, pair, measured.figure)?, (processor, run_ratio(source, &measured))))
        };
        measured(source, pair).into_iter().filter_map(ratio).collect::<Vec<_>>()
    };
    let pairs =
        sources.iter().flat_map(|source| source.summary.comparisons.iter().map(move |pair| (source, pair)));
    let group = |(setting, ratios): (Setting, Vec<(String, RunRatio)>)| {
        let models = grouped(ratios).into_iter();
        let mut models: Vec<Model> = models.map(|(processor, runs)| Model::new(processor, runs)).collect();
        models.sort_by(|a, b| a.processor.cmp(&b.processor));
        Group { setting, newest: false, across: across(&models), models }
    };
    let mut groups: Vec<Group> = grouped(pairs.flat_map(of_pair)).into_iter().map(group).collect();
    let mut newest: BTreeMap<String, String> = BTreeMap::new();
    for group in &groups {
        let known = newest.entry(order_text(&group.setting)).or_default();
        *known = known.as_str().max(group.began()).to_owned();
    }
    for group in &mut groups {
        group.newest = newest.get(&order_text(&group.setting)).is_some_and(|at| at == group.began());
    }
    // Of one pair and load the newest builds come first.
    groups.sort_by(|a, b| order(&a.setting).cmp(&order(&b.setting)).then_with(|| b.began().cmp(a.began())));
    groups
}

/// A text of its own for each pair, load and environment, whatever the builds: a run on more processors, or of another
/// tuning, is no newer one.
fn order_text(setting: &Setting) -> String {
    format!("{:?} {:?} {} {:?}", order(setting), setting.hosts, setting.threads, setting.environment)
}

fn across(models: &[Model]) -> Option<Across> {
    let ratios = || models.iter().map(|model| model.ratio().value).filter(|value| value.is_finite());
    let count = ratios().count();
    let range = ends(ratios().map(|ratio| (ratio, ratio)))?;
    let estimates: Option<Vec<RunEstimate>> = models.iter().map(Model::log_estimate).collect();
    let estimates = estimates.filter(|known| known.len() >= LEAST_MODELS);
    let ratio = estimates.and_then(|known| Some(random_effects(&known)?.mean.map(f64::exp)));
    (count > 1).then_some(Across { models: count, range, ratio })
}

fn order(setting: &Setting) -> (bool, PooledFigure, &str, Level, &str, &str, bool) {
    let Setting { figure, placement, workload, server, over, level, many_builds, .. } = setting;
    (*placement != Placement::Duet, *figure, workload, *level, over, server, !*many_builds)
}

/// A ratio of a comparison that can be pooled.
struct Measured<'a> {
    figure: PooledFigure,
    ratio: Estimate,
    /// The interval's confidence by itself; none where there is no interval.
    confidence: Option<f64>,
    blocks: usize,
    /// The ratio of each block, where these are kept.
    by_block: &'a [f64],
}

/// Those of a closed loop: an open loop's latencies count from another moment, and in a duet the kernel divides the
/// core.
fn measured<'a>(source: &Source<'_>, pair: &'a Comparison) -> Vec<Measured<'a>> {
    if pair.level.rate.is_some() {
        return Vec::new();
    }
    let judged = |figure, finding: &Finding, by_block| {
        let Finding { ratio, confidence, blocks, .. } = *finding;
        Measured { figure, ratio, confidence, blocks, by_block }
    };
    let [rates, cpu] = &pair.block_ratios;
    let mut measured = vec![judged(PooledFigure::Cpu, &pair.cpu, cpu.as_slice())];
    if source.plan.campaign.environment.placement != Placement::Duet {
        measured.push(judged(PooledFigure::Rate, &pair.rate, rates.as_slice()));
        let blocks = pair.p99_blocks;
        measured.extend(pair.p99_ratio.map(|ratio| {
            let confidence = ratio.interval.map(|_| CONFIDENCE);
            Measured { figure: PooledFigure::P99, ratio, confidence, blocks, by_block: &[] }
        }));
    }
    measured
}

/// `None` where the run does not record what a server or its request was, so that the meaning of its ratio is unknown.
fn setting(source: &Source<'_>, pair: &Comparison, figure: PooledFigure) -> Option<Setting> {
    let Source { plan, conditions, summary, .. } = source;
    let identity = |name: &str| {
        let title = plan.server(name).ok()?.title.clone();
        let mut settings = conditions.servers.get(name)?.clone();
        if let Some(fields) = settings.as_object_mut() {
            fields.retain(|field, _| !NO_SETTINGS.contains(&field.as_str()));
        }
        Some(Identity { name: name.to_owned(), title, settings, built: Built::of(name, source) })
    };
    let cell = summary.cell(&pair.server, &pair.workload, pair.level);
    let traffic = &plan.workload(&pair.workload).ok()?.traffic;
    Some(Setting {
        figure,
        placement: plan.campaign.environment.placement,
        workload: pair.workload.clone(),
        server: pair.server.clone(),
        over: pair.over.clone(),
        level: pair.level,
        hosts: plan.hosts.clone(),
        answer_bytes: cell.and_then(|cell| cell.answer_bytes),
        threads: plan.threads,
        environment: plan.campaign.environment.clone(),
        many_builds: plan.campaign.layouts.is_some(),
        servers: [identity(&pair.server)?, identity(&pair.over)?],
        traffic: Some(traffic.clone()),
    })
}

fn run_ratio(source: &Source<'_>, measured: &Measured<'_>) -> RunRatio {
    let Source { name, plan, conditions, .. } = source;
    let Measured { ratio, confidence, blocks, by_block, .. } = *measured;
    let logs = ratio.interval.map(|(low, high)| (low.ln(), high.ln()));
    let log_standard_error = logs.zip(confidence).and_then(|(interval, confidence)| {
        // Rounding in 1 - (1 - level) must not change a rank.
        let level = 1.0 - confidence + 1e-12;
        standard_error(interval, blocks, level)
    });
    RunRatio {
        run: (*name).to_owned(),
        started_at: conditions.started_at.clone(),
        cores: conditions.host.cores,
        kernel: conditions.host.kernel.clone(),
        commit: conditions.host.commit.clone(),
        window_ms: plan.campaign.window_ms,
        blocks,
        ratio,
        log_standard_error,
        one_build: match plan.campaign.layouts {
            Some(_) => ends(by_block.iter().map(|ratio| (*ratio, *ratio))),
            None => Some((ratio.value, ratio.value)),
        },
    }
}

/// From the lowest to the highest end.
pub fn ends(ranges: impl Iterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
    ranges.reduce(|(low, high), (other_low, other_high)| (low.min(other_low), high.max(other_high)))
}

impl RunRatio {
    pub(super) fn log_estimate(&self) -> Option<RunEstimate> {
        Some(RunEstimate { value: self.ratio.value.ln(), standard_error: self.log_standard_error? })
    }
}
