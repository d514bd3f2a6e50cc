//! When to look, and what each look decides: comparisons are judged at planned block counts only, with the error shared
//! among all looks (Pocock) and all comparisons (Holm), so that stopping early costs no honesty.
//!
//! A pure replay: it is given what was observed and works out every decision from the first look on. A run that asks it
//! "what is still open?", a resumed run, and the final summary therefore always agree.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::verdict::{Better, Demand, Finding};
use crate::stats::{FAMILY_ERROR, Paired, holm, least_count, nominal_level};

/// Each look has this many times the blocks of the one before.
const LOOK_FACTOR: f64 = 1.5;

/// The block counts at which a family of so many comparisons is judged: from the first that can decide anything, growing
/// by half, to `max_blocks`. Where nothing stops early there is one look, at the end.
pub fn planned_looks(family: usize, max_blocks: u32, stops_early: bool) -> Vec<u32> {
    if !stops_early {
        return vec![max_blocks];
    }
    let alpha = FAMILY_ERROR / family.max(1) as f64;
    // The level of a look depends on how many there are, and their number on where they begin.
    let from = |first: usize| growing(first as f64, max_blocks);
    let decides = |first: &usize| *first >= least_count(nominal_level(&from(*first), alpha));
    let first = (least_count(alpha)..max_blocks as usize).find(decides).unwrap_or(max_blocks as usize);
    from(first)
}

fn growing(first: f64, max_blocks: u32) -> Vec<u32> {
    let mut look = first;
    let mut looks = Vec::new();
    // A look just before the last would cost error and save nothing.
    while look * LOOK_FACTOR.sqrt() < f64::from(max_blocks) {
        looks.push(look as u32);
        look = (look * LOOK_FACTOR).round();
    }
    looks.push(max_blocks);
    looks
}

/// A comparison to be judged: for each figure its log ratios, and how far it was observed. Blocks are numbered anew, from 1,
/// without those that were lost to the machine and are run again.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// For each judged figure, ln(first / second) by block that counts; blocks in which a server failed are missing.
    pub log_ratios: Vec<BTreeMap<u32, f64>>,
    /// Blocks that count, in all of which both servers have an observation.
    pub counted_blocks: u32,
}

/// What is common to all comparisons of a family.
#[derive(Debug, Clone)]
pub struct Rules {
    /// For each judged figure, which way it is better.
    better: Vec<Better>,
    demand: Demand,
    looks: Vec<u32>,
    /// The level of one look by the bits of the error that all looks share: each takes milliseconds to work out.
    levels: RefCell<BTreeMap<u64, f64>>,
}

impl Rules {
    /// `better` says of each judged figure which way it is better; `looks` are increasing block counts.
    pub fn new(better: &[Better], demand: Demand, looks: Vec<u32>) -> Self {
        Self { better: better.to_vec(), demand, looks, levels: RefCell::default() }
    }

    /// The planned looks.
    pub fn looks(&self) -> &[u32] {
        &self.looks
    }

    /// The two-sided level of each look where all of them share `alpha`.
    fn level(&self, alpha: f64) -> f64 {
        let mut levels = self.levels.borrow_mut();
        *levels.entry(alpha.to_bits()).or_insert_with(|| nominal_level(&self.looks, alpha))
    }
}

/// What the looks made of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// By figure; none where no block has a valid pair.
    pub findings: Vec<Option<Finding>>,
    /// The look, in blocks, at which it was settled: every figure answered, or no look left.
    pub settled_at: Option<u32>,
}

/// Replays every look that the observations reach.
pub fn replay(questions: &[Question], rules: &Rules) -> Vec<Answer> {
    let mut replay = Replay::new(questions, rules);
    for &look in &rules.looks {
        let reached = replay.open().all(|index| questions[index].counted_blocks >= look);
        if !reached || replay.open().next().is_none() {
            break;
        }
        replay.look(look);
    }
    replay.answers
}

/// The first look that was not reached, as long as a question is open.
pub fn next_look(answers: &[Answer], questions: &[Question], rules: &Rules) -> Option<u32> {
    let mut open = answers.iter().zip(questions).filter(|(answer, _)| answer.settled_at.is_none()).peekable();
    open.peek()?;
    let observed = open.map(|(_, question)| question.counted_blocks).min()?;
    rules.looks.iter().copied().find(|look| *look > observed)
}

struct Replay<'a> {
    questions: &'a [Question],
    rules: &'a Rules,
    answers: Vec<Answer>,
    /// By question and figure: the level at which "no difference" was rejected.
    rejected: Vec<Vec<Option<f64>>>,
}

impl<'a> Replay<'a> {
    fn new(questions: &'a [Question], rules: &'a Rules) -> Self {
        let family = questions.len().max(1) as f64;
        let least = least_count(rules.level(FAMILY_ERROR / family));
        let unseen = |question: &Question| {
            let all = |ratios: &BTreeMap<u32, f64>| paired(ratios, u32::MAX);
            let finding =
                |ratios| all(ratios).map(|paired| Finding::unseen(&paired, least.max(paired.count() + 1)));
            Answer { findings: question.log_ratios.iter().map(finding).collect(), settled_at: None }
        };
        Self {
            questions,
            rules,
            answers: questions.iter().map(unseen).collect(),
            rejected: vec![vec![None; rules.better.len()]; questions.len()],
        }
    }

    fn open(&self) -> impl Iterator<Item = usize> + '_ {
        self.answers
            .iter()
            .enumerate()
            .filter(|(_, answer)| answer.settled_at.is_none())
            .map(|(index, _)| index)
    }

    fn look(&mut self, look: u32) {
        let open: Vec<usize> = self.open().collect();
        for (figure, better) in self.rules.better.iter().enumerate() {
            self.judge(look, &open, figure, *better);
        }
        let is_last = self.rules.looks.last() == Some(&look);
        for index in open {
            let answered = |finding: &Option<Finding>| finding.is_some_and(|finding| finding.answered);
            if is_last || self.answers[index].findings.iter().all(answered) {
                self.answers[index].settled_at = Some(look);
            }
        }
    }

    /// One figure of every open question at one look. Each figure is a family of its own: a question of its own.
    fn judge(&mut self, look: u32, open: &[usize], figure: usize, better: Better) {
        let paired: BTreeMap<usize, Paired> = open
            .iter()
            .filter_map(|&index| Some((index, paired(&self.questions[index].log_ratios[figure], look)?)))
            .collect();
        let undecided: Vec<(usize, f64)> = paired
            .iter()
            .filter(|(index, _)| self.rejected[**index][figure].is_none())
            .map(|(&index, paired)| (index, paired.p_value(0.0)))
            .collect();
        let rejected_before = self.rejected.iter().filter(|levels| levels[figure].is_some()).count();
        let judged = holm(&undecided, rejected_before, self.questions.len(), |alpha| self.rules.level(alpha));
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
            self.answers[*index].findings[figure] = finding;
        }
    }
}

fn paired(log_ratios: &BTreeMap<u32, f64>, look: u32) -> Option<Paired> {
    Paired::new(&log_ratios.range(..=look).map(|(_, ratio)| *ratio).collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::verdict::Verdict;

    const DEMAND: Demand = Demand { margin: 0.02, precision: Some(0.02) };

    fn question(centre: f64, spread: f64, blocks: u32) -> Question {
        // Golden-ratio steps: spread evenly at every length, without a pattern in the order.
        let at = |block: u32| centre + spread * ((f64::from(block) * 0.618_034).fract() * 2.0 - 1.0);
        let ratios: BTreeMap<u32, f64> = (1..=blocks).map(|block| (block, at(block))).collect();
        Question { log_ratios: vec![ratios], counted_blocks: blocks }
    }

    fn rules(looks: &[u32]) -> Rules {
        Rules::new(&[Better::More], DEMAND, looks.to_vec())
    }

    #[test]
    fn looks_begin_where_something_can_be_decided_and_end_at_the_cap() {
        assert_eq!(planned_looks(1, 40, true), [8, 12, 18, 27, 40]);
        assert_eq!(planned_looks(12, 40, true)[0], 11);
        assert_eq!(planned_looks(12, 7, true), [7], "too few to decide anything: one look, at the end");
        assert_eq!(planned_looks(12, 40, false), [40]);
        assert_eq!(planned_looks(0, 1, true), [1]);
    }

    #[test]
    fn what_is_told_apart_stops_and_what_is_not_goes_on() {
        let questions = [question(0.3, 0.05, 12), question(0.01, 0.2, 12)];
        let rules = rules(&[12, 18, 27]);
        let answers = replay(&questions, &rules);
        assert_eq!(answers[0].findings[0].unwrap().verdict, Verdict::Faster);
        assert_eq!((answers[0].settled_at, answers[1].settled_at), (Some(12), None));
        assert_eq!(next_look(&answers, &questions, &rules), Some(18));
        let later = [question(0.3, 0.05, 12), question(0.01, 0.2, 27)];
        let answers = replay(&later, &rules);
        assert_eq!(answers[1].settled_at, Some(27), "the last look settles everything");
        assert_eq!(next_look(&answers, &later, &rules), None);
    }

    #[test]
    fn nothing_is_judged_between_looks() {
        let rules = rules(&[12, 18]);
        let early = replay(&[question(0.3, 0.01, 11)], &rules);
        let finding = early[0].findings[0].unwrap();
        assert_eq!((finding.verdict, finding.ratio.interval), (Verdict::Inconclusive, None));
        let at = replay(&[question(0.005, 0.3, 12)], &rules);
        let between = replay(&[question(0.005, 0.3, 17)], &rules);
        assert_eq!(at, between, "blocks after a look count at the next one");
    }

    #[test]
    fn a_larger_family_needs_more_evidence() {
        let one = question(0.025, 0.05, 20);
        let alone = replay(std::slice::from_ref(&one), &rules(&[20]));
        let unknown: Vec<Question> = (0..11).map(|_| question(0.0, 0.3, 20)).collect();
        let crowd = replay(&[vec![one], unknown].concat(), &rules(&[20]));
        let width = |answer: &Answer| {
            let (low, high) = answer.findings[0].unwrap().ratio.interval.unwrap();
            high / low
        };
        assert!(width(&crowd[0]) > width(&alone[0]));
    }

    #[test]
    fn a_question_without_a_valid_pair_has_no_finding_and_still_ends() {
        let lost = Question { log_ratios: vec![BTreeMap::new()], counted_blocks: 18 };
        let answers = replay(&[lost], &rules(&[12, 18]));
        assert_eq!((answers[0].findings[0], answers[0].settled_at), (None, Some(18)));
    }
}
