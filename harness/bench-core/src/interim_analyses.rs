//! Interim analyses: comparisons are judged at planned block counts only, and the error is shared among all interim
//! analyses (Pocock) and all comparisons (Holm), so that a run may stop early without more false claims.
//!
//! A pure replay: from all observations it works out every decision anew, from the first interim analysis on. So a run
//! that needs to know what is still open, a resumed run, and the final summary always agree.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::verdict::{Demand, Finding};
use crate::figure::Better;
use crate::stats::{FAMILY_ERROR, Ranked, holm, least_count, nominal_level};

/// The data of a comparison that is to be judged. Blocks are numbered anew, from 1, without those that were lost to the
/// machine and are run again.
#[derive(Debug, Clone, Default)]
pub struct PairedRatios {
    /// For each judged figure, ln(first / second) by block that counts; blocks in which a server failed are missing.
    pub log_ratios: Vec<BTreeMap<u32, f64>>,
    /// Blocks that count, in all of which both servers have an observation.
    pub counted_blocks: u32,
}

/// What is common to all comparisons of a family.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The better direction of each judged figure.
    better: Vec<Better>,
    demand: Demand,
    block_counts: Vec<u32>,
    /// The level of one analysis by the bits of the error that all of them share: each takes milliseconds to work out.
    levels: RefCell<BTreeMap<u64, f64>>,
}

impl Rules {
    /// `better` has the better direction of each judged figure; `block_counts` are increasing block counts.
    pub fn new(better: &[Better], demand: Demand, block_counts: Vec<u32>) -> Self {
        Self { better: better.to_vec(), demand, block_counts, levels: RefCell::default() }
    }

    /// The planned interim analyses, in blocks.
    pub fn block_counts(&self) -> &[u32] {
        &self.block_counts
    }

    /// The two-sided level of each analysis where all of them share `alpha`.
    fn level(&self, alpha: f64) -> f64 {
        let mut levels = self.levels.borrow_mut();
        *levels.entry(alpha.to_bits()).or_insert_with(|| nominal_level(&self.block_counts, alpha))
    }
}

/// What the interim analyses decided of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// By figure; none where no block has a valid pair.
    pub findings: Vec<Option<Finding>>,
    /// The analysis, in blocks, at which it was settled: every figure answered, or no analysis left.
    pub settled_at: Option<u32>,
}

/// Replays every interim analysis that the observations reach.
pub fn replay(data: &[PairedRatios], rules: &Rules) -> Vec<Decision> {
    let mut replay = Replay::new(data, rules);
    for &blocks in &rules.block_counts {
        let reached = replay.open().all(|index| data[index].counted_blocks >= blocks);
        if !reached || replay.open().next().is_none() {
            break;
        }
        replay.analyse(blocks);
    }
    replay.decisions
}

/// The first analysis that was not reached, as long as a comparison is open.
pub fn next_block_count(decisions: &[Decision], data: &[PairedRatios], rules: &Rules) -> Option<u32> {
    let mut open =
        decisions.iter().zip(data).filter(|(decision, _)| decision.settled_at.is_none()).peekable();
    open.peek()?;
    let observed = open.map(|(_, data)| data.counted_blocks).min()?;
    rules.block_counts.iter().copied().find(|blocks| *blocks > observed)
}

/// Whether the trials up to the next interim analysis fit into a limit of time, by what a trial took so far.
///
/// That a run ends at an earlier planned analysis than the last does not raise the error, whatever the reason: the
/// levels are such that the chance of a false claim at *any* of the planned analyses is at most [`FAMILY_ERROR`], and
/// the run ends at one of these. So the time used may even depend on how fast other comparisons were settled. What
/// would raise it: an analysis that was not planned, or a last one with the error that the omitted ones would have
/// used.
pub fn fits(spent_s: f64, trial_s: f64, trials: usize, limit_s: f64) -> bool {
    spent_s + trial_s * trials as f64 <= limit_s
}

struct Replay<'a> {
    data: &'a [PairedRatios],
    rules: &'a Rules,
    decisions: Vec<Decision>,
    /// By comparison and figure: the level at which "no difference" was rejected.
    rejected: Vec<Vec<Option<f64>>>,
}

impl<'a> Replay<'a> {
    fn new(data: &'a [PairedRatios], rules: &'a Rules) -> Self {
        let family = data.len().max(1) as f64;
        let least = least_count(rules.level(FAMILY_ERROR / family));
        let unseen = |data: &PairedRatios| {
            let all = |ratios: &BTreeMap<u32, f64>| paired(ratios, u32::MAX);
            let finding =
                |ratios| all(ratios).map(|paired| Finding::unseen(&paired, least.max(paired.count() + 1)));
            Decision { findings: data.log_ratios.iter().map(finding).collect(), settled_at: None }
        };
        Self {
            data,
            rules,
            decisions: data.iter().map(unseen).collect(),
            rejected: vec![vec![None; rules.better.len()]; data.len()],
        }
    }

    fn open(&self) -> impl Iterator<Item = usize> + '_ {
        let all = self.decisions.iter().enumerate();
        all.filter(|(_, decision)| decision.settled_at.is_none()).map(|(index, _)| index)
    }

    fn analyse(&mut self, blocks: u32) {
        let open: Vec<usize> = self.open().collect();
        for (figure, better) in self.rules.better.iter().enumerate() {
            self.judge(blocks, &open, figure, *better);
        }
        let is_last = self.rules.block_counts.last() == Some(&blocks);
        for index in open {
            let answered = |finding: &Option<Finding>| finding.is_some_and(|finding| finding.answered);
            if is_last || self.decisions[index].findings.iter().all(answered) {
                self.decisions[index].settled_at = Some(blocks);
            }
        }
    }

    /// One figure of every open comparison. Each figure is a family of its own.
    fn judge(&mut self, blocks: u32, open: &[usize], figure: usize, better: Better) {
        let paired: BTreeMap<usize, Ranked> = open
            .iter()
            .filter_map(|&index| Some((index, paired(&self.data[index].log_ratios[figure], blocks)?)))
            .collect();
        let undecided: Vec<(usize, f64)> = paired
            .iter()
            .filter(|(index, _)| self.rejected[**index][figure].is_none())
            .map(|(&index, paired)| (index, paired.p_value(0.0)))
            .collect();
        let rejected_before = self.rejected.iter().filter(|levels| levels[figure].is_some()).count();
        let judged = holm(&undecided, rejected_before, self.data.len(), |alpha| self.rules.level(alpha));
        let mut levels: BTreeMap<usize, f64> = BTreeMap::new();
        for verdict in judged {
            levels.insert(verdict.index, verdict.level);
            if verdict.rejected {
                self.rejected[verdict.index][figure] = Some(verdict.level);
            }
        }
        for (index, paired) in &paired {
            let level = self.rejected[*index][figure].or_else(|| levels.get(index).copied());
            let finding = level.map(|level| Finding::of(paired, level, better, self.rules.demand));
            self.decisions[*index].findings[figure] = finding;
        }
    }
}

fn paired(log_ratios: &BTreeMap<u32, f64>, blocks: u32) -> Option<Ranked> {
    Ranked::paired(&log_ratios.range(..=blocks).map(|(_, ratio)| *ratio).collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::verdict::Verdict;

    const DEMAND: Demand = Demand { margin: 0.02, precision: Some(0.02) };

    fn around(centre: f64, spread: f64, blocks: u32) -> PairedRatios {
        // Golden-ratio steps: spread evenly at every length, without a pattern in the order.
        let at = |block: u32| centre + spread * ((f64::from(block) * 0.618_034).fract() * 2.0 - 1.0);
        let ratios: BTreeMap<u32, f64> = (1..=blocks).map(|block| (block, at(block))).collect();
        PairedRatios { log_ratios: vec![ratios], counted_blocks: blocks }
    }

    fn rules(block_counts: &[u32]) -> Rules {
        Rules::new(&[Better::More], DEMAND, block_counts.to_vec())
    }

    #[test]
    fn only_what_is_resolved_stops_early() {
        let data = [around(0.3, 0.05, 12), around(0.01, 0.2, 12)];
        let rules = rules(&[12, 18, 27]);
        let decisions = replay(&data, &rules);
        assert_eq!(decisions[0].findings[0].unwrap().verdict, Verdict::Faster);
        assert_eq!((decisions[0].settled_at, decisions[1].settled_at), (Some(12), None));
        assert_eq!(next_block_count(&decisions, &data, &rules), Some(18));
        let later = [around(0.3, 0.05, 12), around(0.01, 0.2, 27)];
        let decisions = replay(&later, &rules);
        assert_eq!(decisions[1].settled_at, Some(27), "the last analysis settles everything");
        assert_eq!(next_block_count(&decisions, &later, &rules), None);
    }

    #[test]
    fn nothing_is_judged_between_analyses() {
        let rules = rules(&[12, 18]);
        let early = replay(&[around(0.3, 0.01, 11)], &rules);
        let finding = early[0].findings[0].unwrap();
        assert_eq!((finding.verdict, finding.ratio.interval), (Verdict::Inconclusive, None));
        let at = replay(&[around(0.005, 0.3, 12)], &rules);
        let between = replay(&[around(0.005, 0.3, 17)], &rules);
        assert_eq!(at, between, "blocks after an analysis count at the next one");
    }

    /// A run that is ended after one of its analyses by somebody who sees the figures and wants a claim: false claims
    /// are still as rare as promised.
    #[test]
    fn the_error_holds_wherever_a_run_ends() {
        let block_counts = [8, 12, 18, 27];
        let rules = rules(&block_counts);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut normal = || (0..12).map(|_| random.next_u64() as f64 / u64::MAX as f64).sum::<f64>() - 6.0;
        let mut claimed = [0; 4];
        let mut anywhere = 0;
        for _ in 0..1_000 {
            let ratios: BTreeMap<u32, f64> = (1..=27).map(|block| (block, 0.05 * normal())).collect();
            let claims = block_counts.map(|blocks| {
                let ratios = ratios.range(..=blocks).map(|(block, ratio)| (*block, *ratio)).collect();
                let data = PairedRatios { log_ratios: vec![ratios], counted_blocks: blocks };
                let verdict = replay(&[data], &rules)[0].findings[0].unwrap().verdict;
                !matches!(verdict, Verdict::Equivalent | Verdict::Inconclusive)
            });
            claimed.iter_mut().zip(claims).for_each(|(count, claims)| *count += u32::from(claims));
            anywhere += u32::from(claims.contains(&true));
        }
        // 5 % of 1,000, and four standard errors; the plain level would give about 12 %.
        assert!(anywhere < 50 + 28, "{anywhere}");
        assert!(anywhere > 20 && claimed.iter().all(|count| *count <= anywhere), "{claimed:?}, {anywhere}");
    }

    #[test]
    fn the_next_analysis_fits_or_does_not() {
        assert!(fits(60.0, 2.0, 30, 120.0) && !fits(60.1, 2.0, 30, 120.0));
    }

    #[test]
    fn a_larger_family_needs_more_evidence() {
        let one = around(0.025, 0.05, 20);
        let alone = replay(std::slice::from_ref(&one), &rules(&[20]));
        let unknown: Vec<PairedRatios> = (0..11).map(|_| around(0.0, 0.3, 20)).collect();
        let crowd = replay(&[vec![one], unknown].concat(), &rules(&[20]));
        let width = |decision: &Decision| {
            let (low, high) = decision.findings[0].unwrap().ratio.interval.unwrap();
            high / low
        };
        assert!(width(&crowd[0]) > width(&alone[0]));
    }

    #[test]
    fn a_comparison_without_a_valid_pair_still_ends() {
        let lost = PairedRatios { log_ratios: vec![BTreeMap::new()], counted_blocks: 18 };
        let decisions = replay(&[lost], &rules(&[12, 18]));
        assert_eq!((decisions[0].findings[0], decisions[0].settled_at), (None, Some(18)));
    }
}
