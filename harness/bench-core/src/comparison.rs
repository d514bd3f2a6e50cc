//! Pairs of servers on the same workload and load: what was found of them, and which trials are still needed.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::{Deserialize, Serialize};

use super::block_counts::planned_block_counts;
use super::interim_analyses::{Decision, PairedRatios, Rules, fits, next_block_count, replay};
use super::observed::{ByBlock, Lost, Observed, Place, by_block};
use super::run_again::{Blocks, Uncompared};
use super::verdict::{Demand, Finding};
use crate::config::{Campaign, Placement};
use crate::figure::{Better, Figure};
use crate::load::Level;
use crate::observation::Observation;
use crate::plan::Trial;
use crate::stats::{Estimate, Ranked};

/// What is compared though a campaign does not judge it.
const UNJUDGED: [Figure; 2] = [Figure::P99Us, Figure::P99FromSendUs];

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
    /// By figure: those that the campaign judges, and p99.
    pub findings: BTreeMap<Figure, Finding>,
    /// Blocks left out because a trial was lost to the machine or to the load tool.
    pub invalid_blocks: u32,
    /// How many were lost to what.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lost: BTreeMap<Lost, u32>,
    /// How many of these were run again, as new blocks.
    pub run_again: u32,
    /// The interim analysis, in blocks, at which it was settled; none while it is open.
    pub settled_at: Option<u32>,
    /// The ratios of each block that counts, of judged figures: what a chart shows behind the estimate.
    pub block_ratios: BTreeMap<Figure, Vec<f64>>,
}

impl Comparison {
    /// Whether it is that of a pair on a workload and load.
    pub(super) fn is_of(&self, server: &str, over: &str, workload: &str, level: Level) -> bool {
        (&*self.server, &*self.over, &*self.workload, self.level) == (server, over, workload, level)
    }

    /// The ratio of a figure.
    pub fn ratio(&self, figure: Figure) -> Option<Estimate> {
        self.findings.get(&figure).map(|finding| finding.ratio)
    }

    /// What was found of the figures that compare the servers.
    pub fn shown(&self, placement: Placement) -> impl Iterator<Item = (Figure, &Finding)> {
        let all = self.findings.iter().map(|(figure, finding)| (*figure, finding));
        all.filter(move |(figure, _)| compares(*figure, placement, self.level))
    }
}

/// Whether a figure says which of two servers is the better one. The kernel divides a duet's core, and an open loop's
/// rate is the campaign's; a latency of a duet that has no moment without work says how many connections wait.
pub fn compares(figure: Figure, placement: Placement, level: Level) -> bool {
    let is_at_rate = level.rate.is_some();
    match figure {
        Figure::RequestsPerSecond => placement != Placement::Duet && !is_at_rate,
        figure if figure.is_latency() => is_at_rate || placement != Placement::Duet,
        _ => true,
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
        let judged = campaign.judged();
        let data: Vec<PairedRatios> =
            pairs.iter().map(|pair| pair.paired_ratios(observed, &judged)).collect();
        let block_counts =
            planned_block_counts(pairs.len(), campaign.max_blocks, campaign.precision.is_some());
        let better: Vec<Better> = judged.iter().map(|(_, better)| *better).collect();
        let demand =
            Demand { margin: campaign.margin.0, precision: campaign.precision.map(|precision| precision.0) };
        let rules = Rules::new(&better, demand, block_counts);
        let decisions = replay(&data, &rules);
        Self { observed, pairs, uncompared, data, decisions, rules, campaign }
    }

    /// The results of each pair that was measured at all.
    pub fn comparisons(&self) -> Vec<Comparison> {
        let pairs = self.pairs.iter().zip(&self.decisions).zip(&self.data);
        let judged = self.campaign.judged();
        let of = |((pair, decision), data): ((&Pair, &Decision), &PairedRatios)| {
            pair.comparison(self.observed, &judged, decision, data)
        };
        pairs.filter_map(of).collect()
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

impl Pair {
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

    /// ln(server / over) of a figure, by the count of its block among those that count.
    fn log_ratios(&self, observed: &Observed<'_>, figure: Figure) -> BTreeMap<u32, f64> {
        let [a, b] = self.places().map(|place| by_block(&observed.samples_for_ratio(place, figure), figure));
        let ratios = log_ratios(&a, &b);
        let counted = (1..).zip(&self.blocks.counted);
        counted.filter_map(|(count, block)| Some((count, *ratios.get(block)?))).collect()
    }

    fn paired_ratios(&self, observed: &Observed<'_>, judged: &[(Figure, Better)]) -> PairedRatios {
        let log_ratios = judged.iter().map(|(figure, _)| self.log_ratios(observed, *figure)).collect();
        PairedRatios { log_ratios, counted_blocks: self.blocks.counted.len() as u32 }
    }

    /// None where no block has a judged figure of both.
    fn comparison(
        &self,
        observed: &Observed<'_>,
        judged: &[(Figure, Better)],
        decision: &Decision,
        data: &PairedRatios,
    ) -> Option<Comparison> {
        let figures = || judged.iter().map(|(figure, _)| *figure);
        let mut findings: BTreeMap<Figure, Finding> = figures()
            .zip(&decision.findings)
            .filter_map(|(figure, found)| Some((figure, (*found)?)))
            .collect();
        if findings.is_empty() {
            return None;
        }
        for figure in UNJUDGED.into_iter().filter(|figure| !figures().any(|judged| judged == *figure)) {
            let logs: Vec<f64> = self.log_ratios(observed, figure).into_values().collect();
            findings.extend(Ranked::paired(&logs).map(|ranked| (figure, Finding::unjudged(&ranked))));
        }
        let ratios = |logs: &BTreeMap<u32, f64>| logs.values().map(|ratio| ratio.exp()).collect();
        let blocks = &self.blocks;
        Some(Comparison {
            server: self.server.clone(),
            over: self.over.clone(),
            workload: self.workload.clone(),
            level: self.level,
            findings,
            invalid_blocks: blocks.lost.values().sum(),
            lost: blocks.lost.clone(),
            run_again: blocks.run_again.len() as u32,
            settled_at: decision.settled_at,
            block_ratios: figures().zip(data.log_ratios.iter().map(ratios)).collect(),
        })
    }
}

/// The ratio of a figure between two cells, from its values by block, with an interval that is right by itself. `None`
/// where no block has both.
pub(super) fn ratio(a: &ByBlock, b: &ByBlock) -> Option<Estimate> {
    let logs: Vec<f64> = log_ratios(a, b).into_values().collect();
    Some(Ranked::paired(&logs)?.at_confidence().map(f64::exp))
}

/// ln(a / b) by block, where both have a value.
fn log_ratios(a: &ByBlock, b: &ByBlock) -> ByBlock {
    let ratio = |(block, value): (&u32, &f64)| {
        let ratio = (value / b.get(block)?).ln();
        ratio.is_finite().then_some((*block, ratio))
    };
    a.iter().filter_map(ratio).collect()
}
