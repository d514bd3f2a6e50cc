//! Pairs of servers on the same workload and load: what is asked of them, what was found, and which trials are still needed.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::figure::Figure;
use super::observed::{Observed, Place, Samples, invalid, log_ratios, valid};
use super::sequence::{Answer, Question, Rules, next_look, planned_looks, replay};
use super::stats::{Estimate, hodges_lehmann};
use super::verdict::{Better, Demand, Finding};
use crate::config::{Campaign, Placement};
use crate::load::Level;
use crate::plan::Trial;

/// The figures that get a verdict, and which way each is better. Each is a question, and so a family, of its own.
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
    /// Successful requests a second.
    pub rate: Finding,
    /// Server CPU time for a request.
    pub cpu: Finding,
    /// Ratio of 99th percentiles over all valid blocks, its interval right by itself with 95 %; not judged.
    pub p99_ratio: Option<Estimate>,
    /// The same of latency from the send, in an open loop: without what the load tool was late by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_from_send_ratio: Option<Estimate>,
    /// Blocks left out, since a trial was invalid (steal, throttling).
    pub invalid_blocks: u32,
    /// The ratios of rate and CPU with those blocks; none where there are none.
    pub with_invalid: Option<(f64, f64)>,
    /// The look, in blocks, at which it was settled; none while it is open.
    pub settled_at: Option<u32>,
    /// What the ratio of rates is made of, over all valid blocks; not judged. None in runs of before it was worked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Terms>,
}

/// Requests a second are the processors that a server uses over the CPU time that it needs for a request; so the ratio of two
/// rates is that of the first over that of the second. Paired by block; each interval is right by itself with 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// Ratio of successful requests a second.
    pub rate: Estimate,
    /// Ratio of processors used.
    pub cores: Estimate,
    /// Ratio of server CPU time for a request.
    pub cpu: Estimate,
}

impl Terms {
    /// From the samples of two servers. `None` where no block has both.
    pub fn new(a: &Samples<'_>, b: &Samples<'_>) -> Option<Self> {
        Some(Self {
            rate: ratio(Figure::RequestsPerSecond, a, b)?,
            cores: ratio(Figure::ServerCores, a, b)?,
            cpu: ratio(Figure::CpuUsPerRequest, a, b)?,
        })
    }
}

/// A pair at a place.
struct Pair {
    server: String,
    over: String,
    workload: String,
    level: Level,
    is_duet: bool,
}

/// All pairs of a campaign with their questions and answers.
pub struct Standing<'a> {
    observed: &'a Observed<'a>,
    pairs: Vec<Pair>,
    questions: Vec<Question>,
    answers: Vec<Answer>,
    rules: Rules,
    campaign: &'a Campaign,
}

impl<'a> Standing<'a> {
    /// Where a campaign stands. `levels` are those of the plan, which may be fewer than the campaign's.
    pub fn new(campaign: &'a Campaign, levels: &[Level], observed: &'a Observed<'a>) -> Self {
        let mut pairs = Vec::new();
        for workload in &campaign.workloads {
            let headline = campaign.headline_level(workload, levels);
            let compared = |level: &&Level| !campaign.compare_headline_only || **level == headline;
            for &level in levels.iter().filter(compared) {
                pairs.extend(campaign.compared().into_iter().map(|(server, over)| Pair {
                    server,
                    over,
                    workload: workload.clone(),
                    level,
                    is_duet: campaign.environment.placement == Placement::Duet,
                }));
            }
        }
        let questions: Vec<Question> = pairs.iter().map(|pair| pair.question(observed)).collect();
        let looks = planned_looks(pairs.len(), campaign.max_blocks, campaign.precision.is_some());
        let rules = Rules::new(&JUDGED.map(|(_, better)| better), demand(campaign), looks);
        let answers = replay(&questions, &rules);
        Self { observed, pairs, questions, answers, rules, campaign }
    }

    /// What was found of each pair that was measured at all.
    pub fn comparisons(&self) -> Vec<Comparison> {
        let pairs = self.pairs.iter().zip(&self.answers);
        pairs.filter_map(|(pair, answer)| pair.comparison(self.observed, answer)).collect()
    }

    /// The planned looks, in blocks.
    pub fn looks(&self) -> &[u32] {
        self.rules.looks()
    }

    /// The trials that have no observation and are needed up to the next look, in the plan's order. None are left where
    /// every question is settled.
    pub fn needed<'t>(&self, trials: &'t [Trial], done: &HashSet<u32>) -> Vec<&'t Trial> {
        let look = next_look(&self.answers, &self.questions, &self.rules).unwrap_or(0);
        let needed = |trial: &&Trial| {
            !done.contains(&trial.number) && {
                let mut pairs =
                    self.pairs.iter().zip(&self.answers).filter(|(pair, _)| pair.holds(trial)).peekable();
                if pairs.peek().is_none() {
                    trial.block <= self.uncompared_blocks()
                } else {
                    trial.block <= look && pairs.any(|(_, answer)| answer.settled_at.is_none())
                }
            }
        };
        trials.iter().filter(needed).collect()
    }

    fn uncompared_blocks(&self) -> u32 {
        match self.campaign.precision {
            Some(_) => UNCOMPARED_BLOCKS.min(self.campaign.max_blocks),
            None => self.campaign.max_blocks,
        }
    }
}

/// What a campaign asks of its comparisons.
pub fn demand(campaign: &Campaign) -> Demand {
    Demand { margin: campaign.margin.0, precision: campaign.precision.map(|precision| precision.0) }
}

impl Pair {
    fn samples<'a>(&self, observed: &Observed<'a>) -> (Samples<'a>, Samples<'a>) {
        let [a, b] = self.places().map(|place| observed.samples_of(place));
        (a, b)
    }

    /// Where the two are measured.
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

    fn question(&self, observed: &Observed<'_>) -> Question {
        let (a, b) = self.samples(observed);
        let (a, b) = (valid(&a), valid(&b));
        let [a_blocks, b_blocks] = self.places().map(|place| observed.blocks(place));
        Question {
            log_ratios: JUDGED.iter().map(|(figure, _)| log_ratios(*figure, &a, &b)).collect(),
            observed_blocks: a_blocks.min(b_blocks),
        }
    }

    fn comparison(&self, observed: &Observed<'_>, answer: &Answer) -> Option<Comparison> {
        let &[Some(rate), Some(cpu)] = answer.findings.as_slice() else { return None };
        let (a, b) = self.samples(observed);
        let lost = |block: &&u32| {
            let invalid =
                |samples: &Samples<'_>| samples.get(block).is_some_and(|sample| invalid(sample).is_some());
            invalid(&a) || invalid(&b)
        };
        let invalid_blocks = a.keys().filter(|block| b.contains_key(block)).filter(lost).count() as u32;
        let value = |figure| ratio(figure, &a, &b).map(|ratio| ratio.value);
        let with_invalid = value(Figure::RequestsPerSecond).zip(value(Figure::CpuUsPerRequest));
        Some(Comparison {
            server: self.server.clone(),
            over: self.over.clone(),
            workload: self.workload.clone(),
            level: self.level,
            rate,
            cpu,
            p99_ratio: ratio(Figure::P99Us, &valid(&a), &valid(&b)),
            p99_from_send_ratio: ratio(Figure::P99FromSendUs, &valid(&a), &valid(&b)),
            invalid_blocks,
            with_invalid: with_invalid.filter(|_| invalid_blocks > 0),
            settled_at: answer.settled_at,
            terms: Terms::new(&valid(&a), &valid(&b)),
        })
    }
}

/// The ratio of a figure between two cells, paired by block, with an interval that is right by itself. `None` where no block
/// has both.
pub fn ratio(figure: Figure, a: &Samples<'_>, b: &Samples<'_>) -> Option<Estimate> {
    let ratios: Vec<f64> = log_ratios(figure, a, b).into_values().collect();
    Some(hodges_lehmann(&ratios)?.map(f64::exp))
}
