//! Pairs of servers on the same workload and load: what was found of them, and which trials are still needed.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::{Deserialize, Serialize};

use super::block_counts::planned_block_counts;
use super::interim_analyses::{Decision, PairedRatios, Rules, fits, next_block_count, replay};
use super::observed::{Lost, Observed, Place, Samples, log_ratios, log_ratios_of};
use super::run_again::{Blocks, Uncompared};
use super::verdict::{Better, Demand, Finding};
use bench_model::config::{Campaign, Placement};
use bench_model::figure::Figure;
use bench_model::load::Level;
use bench_model::observation::Observation;
use bench_model::plan::Trial;
use bench_stats::{Estimate, hodges_lehmann};

/// The figures that get a verdict, and the better direction of each. Each is a family of its own.
pub const JUDGED: [(Figure, Better); 2] =
    [(Figure::RequestsPerSecond, Better::More), (Figure::CpuUsPerRequest, Better::Less)];

/// Blocks of a server that is compared with none, in a campaign that stops early: enough for a median's interval.
const UNCOMPARED_BLOCKS: u32 = 6;

/// Two servers on the same workload and load, paired by block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The server in the numerator.
    pub server: String,
    /// The server in the denominator.
    pub over: String,
    /// The workload.
    pub workload: String,
    /// The load.
    #[serde(flatten)]
    pub level: Level,
    /// Successful requests a second. In JSON, where the load's fields stand next to it, `rate` is that of an open loop.
    #[serde(rename = "throughput")]
    pub rate: Finding,
    /// Server CPU time for a request.
    pub cpu: Finding,
    /// Ratio of 99th percentiles over all valid blocks, its interval right by itself with 95 %; not judged.
    pub p99_ratio: Option<Estimate>,
    /// Blocks that it comes from.
    #[serde(default)]
    pub p99_blocks: usize,
    /// The same of latency from the send, in an open loop: without the load tool's own lateness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_from_send_ratio: Option<Estimate>,
    /// Blocks left out because a trial was lost to the machine or to the load tool.
    pub invalid_blocks: u32,
    /// How many were lost to what.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lost: BTreeMap<Lost, u32>,
    /// How many of these were run again, as new blocks.
    pub run_again: u32,
    /// The ratios of rate and CPU with what was measured in the lost blocks too; none where nothing was.
    pub with_invalid: Option<(f64, f64)>,
    /// The interim analysis, in blocks, at which it was settled; none while it is open.
    pub settled_at: Option<u32>,
    /// The ratios of each block that counts, in the order of [`JUDGED`]: what a chart shows behind the estimate.
    pub block_ratios: [Vec<f64>; 2],
}

impl Comparison {
    /// Whether it is that of a pair on a workload and load.
    pub(super) fn is_of(&self, server: &str, over: &str, workload: &str, level: Level) -> bool {
        (&*self.server, &*self.over, &*self.workload, self.level) == (server, over, workload, level)
    }
}

/// Two servers to compare on one workload and load.
struct Pair {
    server: String,
    over: String,
    workload: String,
    level: Level,
    is_duet: bool,
    blocks: Blocks,
}

/// All pairs of a campaign, with what was observed and decided of each.
pub struct Comparisons<'a> {
    observed: &'a Observed<'a>,
    pairs: Vec<Pair>,
    uncompared: Uncompared,
    data: Vec<PairedRatios>,
    decisions: Vec<Decision>,
    rules: Rules,
    campaign: &'a Campaign,
}

impl<'a> Comparisons<'a> {
    /// `levels` and `trials` are those of the plan: it may have fewer levels than the campaign, and older plans have no
    /// blocks to run again.
    pub fn new(
        campaign: &'a Campaign,
        levels: &[Level],
        trials: &[Trial],
        observed: &'a Observed<'a>,
    ) -> Self {
        let last_block = trials.last().map_or(0, |trial| trial.block);
        let extra = last_block.saturating_sub(campaign.max_blocks);
        let mut pairs = Vec::new();
        for workload in &campaign.workloads {
            let headline = campaign.headline_level(workload, levels);
            let compared = |level: &&Level| !campaign.compare_headline_only || **level == headline;
            for &level in levels.iter().filter(compared) {
                let measured = |server: &String| campaign.measures(server, workload, level);
                let compared = campaign.compared().into_iter().filter(|(a, b)| measured(a) && measured(b));
                pairs.extend(compared.map(|(server, over)| {
                    let is_duet = campaign.environment.placement == Placement::Duet;
                    let (workload, blocks) = (workload.clone(), Blocks::default());
                    let pair = Pair { server, over, workload, level, is_duet, blocks };
                    Pair { blocks: pair.blocks(observed, extra), ..pair }
                }));
            }
        }
        let is_compared = |trial: &Trial| pairs.iter().any(|pair| pair.holds(trial));
        let others = trials.iter().filter(|trial| !is_compared(trial));
        let uncompared = Uncompared::new(campaign, others, extra, observed);
        let data: Vec<PairedRatios> = pairs.iter().map(|pair| pair.paired_ratios(observed)).collect();
        let block_counts =
            planned_block_counts(pairs.len(), campaign.max_blocks, campaign.precision.is_some());
        let rules = Rules::new(&JUDGED.map(|(_, better)| better), demand(campaign), block_counts);
        let decisions = replay(&data, &rules);
        Self { observed, pairs, uncompared, data, decisions, rules, campaign }
    }

    /// The results of each pair that was measured at all.
    pub fn comparisons(&self) -> Vec<Comparison> {
        let pairs = self.pairs.iter().zip(&self.decisions).zip(&self.data);
        pairs.filter_map(|((pair, decision), data)| pair.comparison(self.observed, decision, data)).collect()
    }

    /// Blocks that were lost to some pair, or to a cell that no pair holds, and are run again as later ones.
    pub fn run_again(&self) -> u32 {
        let of_pairs = self.pairs.iter().map(|pair| &pair.blocks);
        let blocks: BTreeSet<u32> =
            of_pairs.chain(self.uncompared.blocks()).flat_map(|blocks| blocks.run_again.clone()).collect();
        blocks.len() as u32
    }

    /// The planned interim analyses, in blocks.
    pub fn block_counts(&self) -> &[u32] {
        self.rules.block_counts()
    }

    /// Whether an interim analysis was reached: before, nothing is judged.
    pub fn is_analysed(&self) -> bool {
        let next = next_block_count(&self.decisions, &self.data, &self.rules);
        next.is_none() || next.as_ref() != self.block_counts().first()
    }

    /// The trials that have no observation and are needed up to the next interim analysis, in the plan's order. None
    /// are left where every comparison is settled, or where the next analysis is beyond the campaign's limit of time.
    pub fn needed<'t>(&self, trials: &'t [Trial], done: &HashSet<u32>) -> Vec<&'t Trial> {
        let blocks = next_block_count(&self.decisions, &self.data, &self.rules).unwrap_or(0);
        let is_compared = |trial: &Trial| self.pairs.iter().any(|pair| pair.holds(trial));
        let needed = |trial: &&Trial| {
            if !is_compared(trial) {
                return trial.block <= self.uncompared_blocks() + self.uncompared.blocks_again(trial);
            }
            self.pairs.iter().zip(&self.decisions).any(|(pair, decision)| {
                pair.holds(trial)
                    && decision.settled_at.is_none()
                    && trial.block <= blocks + self.blocks_again(pair)
            })
        };
        let mut needed: Vec<&Trial> =
            trials.iter().filter(|trial| !done.contains(&trial.number)).filter(needed).collect();
        if !self.has_time_for(blocks, needed.len()) {
            needed.retain(|trial| !is_compared(trial));
        }
        needed
    }

    /// Whether this number of trials, up to an interim analysis, is within the limit of time. The first analysis always
    /// is: without it nothing would be judged.
    fn has_time_for(&self, blocks: u32, trials: usize) -> bool {
        let Some(minutes) = self.campaign.max_minutes else { return true };
        let is_first = self.block_counts().first().is_none_or(|first| blocks <= *first);
        // The two trials of a duet run at the same time.
        let at_once = if self.campaign.environment.placement == Placement::Duet { 2.0 } else { 1.0 };
        let times: Vec<f64> = self.observed.times_s().map(|seconds| seconds / at_once).collect();
        let spent_s: f64 = times.iter().sum();
        is_first || fits(spent_s, spent_s / times.len().max(1) as f64, trials, minutes as f64 * 60.0)
    }

    /// The blocks that a pair runs beyond a planned count, in place of lost ones. Open pairs that may share a server
    /// run the same blocks, so that trials that are compared are still made at about the same time.
    fn blocks_again(&self, pair: &Pair) -> u32 {
        let pairs = self.pairs.iter().zip(&self.decisions);
        let shared = pairs.filter(|(other, decision)| decision.settled_at.is_none() && pair.runs_with(other));
        shared.map(|(other, _)| other.blocks.run_again.len() as u32).max().unwrap_or(0)
    }

    fn uncompared_blocks(&self) -> u32 {
        let most = self.campaign.max_blocks;
        let enough = self.campaign.precision.map_or(most, |_| UNCOMPARED_BLOCKS);
        self.campaign.curve_blocks.unwrap_or(enough).min(most)
    }
}

/// What a campaign demands of its comparisons.
pub fn demand(campaign: &Campaign) -> Demand {
    Demand { margin: campaign.margin.0, precision: campaign.precision.map(|precision| precision.0) }
}

impl Pair {
    /// The ratios of the rates and of CPU per request if invalid trials counted too; `None` where there are none.
    fn with_invalid(&self, observed: &Observed<'_>) -> Option<(f64, f64)> {
        let [a, b] = self.places().map(|place| observed.samples_with_invalid(place));
        let value = |figure| ratio(figure, &a, &b).map(|ratio| ratio.value);
        a.keys().any(|block| b.contains_key(block) && self.lost(observed, *block).is_some()).then_some(())?;
        value(Figure::RequestsPerSecond).zip(value(Figure::CpuUsPerRequest))
    }

    /// The cells of both servers.
    fn places(&self) -> [Place<'_>; 2] {
        let place = |server, other| {
            let beside = self.is_duet.then_some(other);
            (server, beside, self.workload.as_str(), self.level)
        };
        let (a, b) = (self.server.as_str(), self.over.as_str());
        [place(a, b), place(b, a)]
    }

    fn holds(&self, trial: &Trial) -> bool {
        let beside = trial.beside.as_deref();
        self.places().contains(&(&trial.server, beside, &trial.workload, trial.level()))
    }

    /// Whether the trials of both pairs are made in the same blocks: on the same workload and load, disturbed or not
    /// and by whichever tool. In duets every pair is by itself.
    fn runs_with(&self, other: &Self) -> bool {
        let cell = |pair: &Self| (pair.workload.clone(), pair.level.connections, pair.level.rate);
        let is_same = || (&self.server, &self.over) == (&other.server, &other.over);
        cell(self) == cell(other) && (!self.is_duet || is_same())
    }

    /// What a block was lost to; `None` where it counts. A server that failed is a result, whatever the other's trial
    /// gave. Steal spoils no ratio of CPU times in a duet, and its closed loops have no other figure.
    fn lost(&self, observed: &Observed<'_>, block: u32) -> Option<Lost> {
        let both = self.places().map(|place| observed.observation(place, block));
        let both = || both.into_iter().flatten();
        let has_failed = |of: &Observation| of.outcome.sample().is_none() && Lost::of(of).is_none();
        let has_cpu_alone = self.is_duet && self.level.rate.is_none();
        let counts = |lost: &Lost| !(has_cpu_alone && *lost == Lost::Steal);
        // In a duet the other trial of a lost one is only "not measured", which comes last.
        if both().any(has_failed) { None } else { both().filter_map(Lost::of).filter(counts).min() }
    }

    fn blocks(&self, observed: &Observed<'_>, most: u32) -> Blocks {
        let [a_blocks, b_blocks] = self.places().map(|place| observed.blocks(place));
        Blocks::new((1..=a_blocks.min(b_blocks)).map(|block| self.lost(observed, block)), most)
    }

    fn paired_ratios(&self, observed: &Observed<'_>) -> PairedRatios {
        let by_count = |(figure, _): (Figure, Better)| {
            let [a, b] = self.places().map(|place| observed.samples_for_ratio(place, figure));
            let ratios = log_ratios(figure, &a, &b);
            let counted = (1..).zip(&self.blocks.counted);
            counted.filter_map(|(count, block)| Some((count, *ratios.get(block)?))).collect()
        };
        let log_ratios = JUDGED.into_iter().map(by_count).collect();
        PairedRatios { log_ratios, counted_blocks: self.blocks.counted.len() as u32 }
    }

    fn comparison(
        &self,
        observed: &Observed<'_>,
        decision: &Decision,
        data: &PairedRatios,
    ) -> Option<Comparison> {
        let &[Some(rate), Some(cpu)] = decision.findings.as_slice() else { return None };
        let [a, b] = self.places().map(|place| observed.samples_of(place));
        let blocks = &self.blocks;
        let ratios = |figure: usize| data.log_ratios[figure].values().map(|ratio| ratio.exp()).collect();
        Some(Comparison {
            server: self.server.clone(),
            over: self.over.clone(),
            workload: self.workload.clone(),
            level: self.level,
            rate,
            cpu,
            p99_ratio: ratio(Figure::P99Us, &a, &b),
            p99_blocks: log_ratios(Figure::P99Us, &a, &b).len(),
            p99_from_send_ratio: ratio(Figure::P99FromSendUs, &a, &b),
            invalid_blocks: blocks.lost.values().sum(),
            lost: blocks.lost.clone(),
            run_again: blocks.run_again.len() as u32,
            with_invalid: self.with_invalid(observed),
            settled_at: decision.settled_at,
            block_ratios: [ratios(0), ratios(1)],
        })
    }
}

/// The ratio of a figure between two cells, paired by block, with an interval that is right by itself. `None` where no
/// block has both.
pub fn ratio(figure: Figure, a: &Samples<'_>, b: &Samples<'_>) -> Option<Estimate> {
    of_logs(log_ratios(figure, a, b))
}

/// The same of values by block.
pub(super) fn ratio_of(a: &BTreeMap<u32, f64>, b: &BTreeMap<u32, f64>) -> Option<Estimate> {
    of_logs(log_ratios_of(a, b))
}

fn of_logs(logs: BTreeMap<u32, f64>) -> Option<Estimate> {
    let logs: Vec<f64> = logs.into_values().collect();
    Some(hodges_lehmann(&logs)?.map(f64::exp))
}
