//! Which server for whom: what servers are compared by, who is best in it, and what follows for each kind of user.
//!
//! A row is one measured quantity over all servers. Rows come from one run or from several; the recommendations follow
//! from them by [`RULES`] and by nothing else.

use super::pooled::ends;
use super::verdict::Better;
use bench_stats::Estimate;

/// Most prices that are given for one server.
const MOST_PRICES: usize = 2;

/// What servers are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// Successful requests a second.
    Rate,
    /// Server CPU time for a request, over the baseline's.
    Cpu,
    /// 99th percentile of latency, in microseconds.
    P99,
    /// The same while heavy requests run on the same server, in microseconds.
    P99NextToHeavy,
    /// The share of requests that are answered in time while many heavy ones come, from 0 to 1. These are an overload
    /// for some servers only.
    AnsweredUnderLoad,
    /// How long p99 needs to come back after that, in milliseconds.
    Recovery,
    /// The rate that meets a service level, in requests a second.
    Sustained,
    /// Memory for a connection, in bytes.
    ConnectionMemory,
    /// Connections without a failed or late request.
    Connections,
}

impl Topic {
    /// The better direction.
    pub const fn better(self) -> Better {
        match self {
            Self::Rate | Self::AnsweredUnderLoad | Self::Sustained | Self::Connections => Better::More,
            Self::Cpu | Self::P99 | Self::P99NextToHeavy | Self::Recovery | Self::ConnectionMemory => {
                Better::Less
            }
        }
    }
}

/// What one server has of a row's quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// What a table shows, in the topic's unit.
    pub shown: f64,
    /// What servers are compared by, with its interval: a ratio to the baseline where blocks are paired, else the value
    /// itself.
    pub compared: Estimate,
    /// Whether it is a lower bound: the load generator, or the campaign's highest load, was the limit.
    pub at_least: bool,
}

impl Value {
    /// A value that is compared as it is shown.
    pub const fn of(estimate: Estimate) -> Self {
        Self { shown: estimate.value, compared: estimate, at_least: false }
    }

    /// Whether the two intervals share no value: a difference that is resolved.
    fn differs(&self, other: &Self) -> bool {
        let both = self.compared.interval.zip(other.compared.interval);
        both.is_some_and(|((low, high), (other_low, other_high))| high < other_low || other_high < low)
    }
}

/// A row's values on one model of processor.
#[derive(Debug, Clone, PartialEq)]
pub struct OnModel {
    /// The processor, as readers know it.
    pub processor: String,
    /// By server.
    pub values: Vec<Option<Value>>,
    /// Servers that were compared with each other there.
    pub direct: Vec<Direct>,
    /// By server, how many runs its value is of; 0 of the baseline, which others are compared with.
    pub runs: Vec<usize>,
}

impl OnModel {
    /// From the fewest to the most runs that a server's value is of.
    pub fn run_counts(&self) -> Option<(usize, usize)> {
        let counts = || self.runs.iter().copied().filter(|runs| *runs > 0);
        counts().min().zip(counts().max())
    }
}

/// How a server stands to the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Surely less.
    Less,
    /// Surely more.
    More,
    /// Not resolved.
    Open,
}

/// One measured quantity over all servers.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerRow {
    /// What it is.
    pub topic: Topic,
    /// The request that it is of; empty where it is of the server as a whole.
    pub request: String,
    /// The conditions: `at 125 connections`; may be empty.
    pub at: String,
    /// The processor and the run that its values are of, on a page of several runs; empty in a run's own report.
    pub from: String,
    /// By server, in the order of [`Answer::servers`]; none where it was not measured.
    pub values: Vec<Option<Value>>,
    /// Servers that were compared with each other and not by way of the baseline.
    pub direct: Vec<Direct>,
    /// The same of all kept runs, by model of processor; else empty.
    pub models: Vec<OnModel>,
    /// By server, where the values are means over many builds: values of one build, on any processor. Else empty.
    pub one_build: Vec<Option<OneBuild>>,
}

/// Values of one build each, of several runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OneBuild {
    /// The smallest and the largest of all.
    pub range: (f64, f64),
    /// How far a run's values lay outside the range of all other runs' at most, as a share of its end: 0.05 for 5 %. None
    /// of fewer than two runs.
    pub outside: Option<f64>,
}

impl OneBuild {
    /// Of the smallest and the largest value of each run; `None` of no run.
    pub fn of(runs: &[(f64, f64)]) -> Option<Self> {
        let range = ends(runs.iter().copied())?;
        let outside = runs.iter().enumerate().filter_map(|(at, run)| {
            let others = ends([&runs[..at], &runs[at + 1..]].concat().into_iter())?;
            Some((others.0 / run.0).max(run.1 / others.1).max(1.0) - 1.0)
        });
        Some(Self { range, outside: outside.max_by(f64::total_cmp) })
    }
}

/// What was measured of two servers next to each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Direct {
    /// The place of one of them in [`Answer::servers`].
    pub server: usize,
    /// That of the other.
    pub over: usize,
    /// The first one's quantity over the second one's, with its interval.
    pub ratio: Estimate,
}

impl AnswerRow {
    /// The servers that nothing measured is better than, on every processor: one, or several whose difference is not
    /// resolved. Empty where fewer than two servers were measured, where none is worse than the best, or where
    /// processors have no best in common.
    pub fn best(&self) -> Vec<usize> {
        let mut all = self.on_models().map(|(_, values, direct)| self.best_of(values, direct));
        let mut common = all.next().unwrap_or_default();
        for best in all {
            // None is best where all are.
            if common.is_empty() {
                common = best;
            } else if !best.is_empty() {
                common.retain(|server| best.contains(server));
                if common.is_empty() {
                    break;
                }
            }
        }
        common
    }

    /// The servers that may be as good as the best ones, but not on every processor: each with the processors. None
    /// where [`best`](Self::best) gives none.
    pub fn best_somewhere(&self) -> Vec<(usize, Vec<&str>)> {
        let best = self.best();
        let others = (0..self.values.len()).filter(|server| !best.is_empty() && !best.contains(server));
        let there = |server: usize| {
            let is_best = |model: &&OnModel| self.best_of(&model.values, &model.direct).contains(&server);
            let best = self.models.iter().filter(is_best);
            best.map(|model| model.processor.as_str()).collect::<Vec<_>>()
        };
        others.map(|server| (server, there(server))).filter(|(_, on)| !on.is_empty()).collect()
    }

    /// As [`best`](Self::best), on one processor alone.
    pub fn best_on(&self, model: &OnModel) -> Vec<usize> {
        self.best_of(&model.values, &model.direct)
    }

    /// Each model with its values and what was compared directly there; the row's own, without a name, where there is
    /// one model.
    fn on_models(&self) -> impl Iterator<Item = (&str, &[Option<Value>], &[Direct])> {
        let alone = self.models.is_empty().then_some(("", &*self.values, &*self.direct));
        let models = self.models.iter().map(|model| (&*model.processor, &*model.values, &*model.direct));
        alone.into_iter().chain(models)
    }

    fn best_of(&self, values: &[Option<Value>], direct: &[Direct]) -> Vec<usize> {
        let measured = || (0..values.len()).filter(|server| values[*server].is_some());
        let is_better = |a: usize, b: usize| self.is_better(values, direct, a, b);
        let best: Vec<usize> =
            measured().filter(|server| !measured().any(|other| is_better(other, *server))).collect();
        if best.len() == measured().count() { Vec::new() } else { best }
    }

    /// Whether a server is surely better than another: by their direct comparison where there is one, else by both
    /// intervals.
    fn is_better(&self, values: &[Option<Value>], direct: &[Direct], a: usize, b: usize) -> bool {
        let compared = direct.iter().find_map(|pair| match (pair.server, pair.over) {
            (server, over) if (server, over) == (a, b) => Some(pair.ratio.interval),
            (server, over) if (server, over) == (b, a) => {
                Some(pair.ratio.interval.map(|(low, high)| (1.0 / high, 1.0 / low)))
            }
            _ => None,
        });
        let is_less = match (compared, values[a].zip(values[b])) {
            (Some(Some((_, high))), _) if high < 1.0 => true,
            (Some(Some((low, _))), _) if low > 1.0 => false,
            (None, Some((own, other))) if own.differs(&other) => own.compared.value < other.compared.value,
            _ => return false,
        };
        is_less == (self.topic.better() == Better::Less)
    }

    /// Whether a server's difference from the baseline is resolved, in one direction and on every processor; true of
    /// the baseline itself.
    pub fn is_resolved(&self, server: usize, baseline: usize) -> bool {
        let all = self.standings(baseline);
        let own = all.iter().filter(|(other, _)| *other == server).flat_map(|(_, standings)| standings);
        let mut own = own.map(|(_, standing)| *standing);
        let first = own.next();
        first.is_none_or(|first| first != Standing::Open && own.all(|other| other == first))
    }

    /// How each other server stands to the baseline, by processor; where there is one model, without its name.
    pub fn standings(&self, baseline: usize) -> Vec<(usize, Vec<(&str, Standing)>)> {
        let of = |server: usize| {
            let measured = self.on_models().filter(|(_, values, _)| values[server].is_some());
            let standings =
                measured.map(|(processor, values, _)| (processor, standing(values, server, baseline)));
            standings.collect::<Vec<_>>()
        };
        let servers = (0..self.values.len()).filter(|server| *server != baseline);
        let all = servers.map(|server| (server, of(server)));
        all.filter(|(_, standings)| !standings.is_empty()).collect()
    }

    /// Whether some server stands otherwise to the baseline on one processor than on another.
    pub fn differs_by_processor(&self, baseline: usize) -> bool {
        let mut standings = self.standings(baseline).into_iter();
        standings.any(|(_, standings)| standings.windows(2).any(|two| two[0].1 != two[1].1))
    }

    /// The smallest and the largest value of a server over processors, as a table shows them.
    pub fn range(&self, server: usize) -> Option<(f64, f64)> {
        let shown = || {
            self.on_models().filter_map(|(_, values, _)| Some(values.get(server).copied().flatten()?.shown))
        };
        let ends = (shown().fold(f64::INFINITY, f64::min), shown().fold(f64::NEG_INFINITY, f64::max));
        shown().next().map(|_| ends)
    }

    /// By what factor a server is surely behind another, on every processor: the smallest.
    fn factor_behind(&self, server: usize, other: usize) -> Option<f64> {
        let factor = |(_, values, _): (&str, &[Option<Value>], &[Direct])| {
            let (own, better) = (values[server]?, values[other]?);
            let ratio = own.compared.value / better.compared.value;
            own.differs(&better).then_some(ratio.max(1.0 / ratio))
        };
        let factors = self.on_models().map(factor).collect::<Option<Vec<f64>>>()?;
        factors.into_iter().min_by(f64::total_cmp)
    }
}

fn standing(values: &[Option<Value>], server: usize, baseline: usize) -> Standing {
    let value = |server: usize| values.get(server).copied().flatten();
    match value(server).zip(value(baseline)) {
        // Without the baseline there is nothing to differ from.
        None => Standing::Less,
        Some((own, over)) if !own.differs(&over) => Standing::Open,
        Some((own, over)) if own.compared.value < over.compared.value => Standing::Less,
        Some(_) => Standing::More,
    }
}

/// A kind of user, and what decides for it.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// What the user wants.
    pub wants: &'static str,
    /// What decides: the first of these that was measured.
    pub decides: &'static [Topic],
    /// What is missing where none of them was measured, and the campaign that measures it.
    pub measured_by: (&'static str, &'static str),
}

/// The kinds of users, in the order in which they are shown.
pub const RULES: [Rule; 3] = [
    Rule {
        wants: "Least CPU per request",
        decides: &[Topic::Cpu, Topic::Rate],
        measured_by: ("CPU per request", "quick"),
    },
    Rule {
        wants: "Steady p99 next to heavy requests",
        decides: &[Topic::P99NextToHeavy],
        measured_by: ("p99 next to heavy requests", "isolation"),
    },
    Rule {
        wants: "Least memory for a connection",
        decides: &[Topic::ConnectionMemory],
        measured_by: ("memory for a connection", "quick"),
    },
];

/// What a kind of user should choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recommendation {
    /// What the user wants.
    pub wants: &'static str,
    /// What decided; none where it was not measured.
    pub decided_by: Option<Topic>,
    /// The rows that decided, and in each the servers that are best. One entry with all rows where the same servers are
    /// best in all of them; else an entry for each row. Empty where nothing differs.
    pub best: Vec<(Vec<usize>, Vec<usize>)>,
    /// The rows in which the recommended server is furthest behind the best, worst first: the price.
    pub price: Vec<usize>,
    /// What is missing where nothing decided, and the campaign that measures it.
    pub measured_by: (&'static str, &'static str),
}

/// What a reader sees first.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What readers call the servers.
    pub servers: Vec<String>,
    /// The place of the server that the others are compared with.
    pub baseline: usize,
    /// What was measured.
    pub rows: Vec<AnswerRow>,
}

impl Answer {
    /// One for each rule.
    pub fn recommendations(&self) -> Vec<Recommendation> {
        RULES.iter().map(|rule| self.recommend(rule)).collect()
    }

    fn recommend(&self, rule: &Rule) -> Recommendation {
        let measured = |topic: &&Topic| self.rows.iter().any(|row| row.topic == **topic);
        let decided_by = rule.decides.iter().find(measured).copied();
        let rows = self.rows.iter().enumerate().filter(|(_, row)| Some(row.topic) == decided_by);
        let by_row: Vec<(usize, Vec<usize>)> =
            rows.map(|(place, row)| (place, row.best())).filter(|(_, best)| !best.is_empty()).collect();
        let in_all = |server: &usize| by_row.iter().all(|(_, best)| best.contains(server));
        let common: Vec<usize> = (0..self.servers.len()).filter(in_all).collect();
        let best = match (by_row.is_empty(), common.is_empty()) {
            (true, _) => Vec::new(),
            (false, true) => by_row.into_iter().map(|(row, best)| (vec![row], best)).collect(),
            (false, false) => vec![(by_row.into_iter().map(|(row, _)| row).collect(), common)],
        };
        let price = match best.as_slice() {
            [(_, servers)] if servers.len() == 1 => self.price(decided_by, servers[0]),
            _ => Vec::new(),
        };
        Recommendation { wants: rule.wants, decided_by, best, price, measured_by: rule.measured_by }
    }

    /// The rows in which a server is surely worse than the best, by the largest factors.
    fn price(&self, decided_by: Option<Topic>, server: usize) -> Vec<usize> {
        let factor = |row: &AnswerRow| {
            let better = row.best().first().copied()?;
            row.factor_behind(server, better).filter(|_| Some(row.topic) != decided_by)
        };
        let behind = self.rows.iter().enumerate().filter_map(|(place, row)| Some((place, factor(row)?)));
        let mut behind: Vec<(usize, f64)> = behind.collect();
        behind.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        behind.into_iter().map(|(place, _)| place).take(MOST_PRICES).collect()
    }
}

#[cfg(test)]
mod tests;
