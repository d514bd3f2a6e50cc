//! Which server for whom: what servers are compared by, who is best in it, and what follows for each kind of user.
//!
//! A row is one measured quantity over all servers. The recommendations follow from the rows by [`RULES`] and by
//! nothing else.

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

/// One measured quantity over all servers.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerRow {
    /// What it is.
    pub topic: Topic,
    /// The request that it is of; empty where it is of the server as a whole.
    pub request: String,
    /// The conditions: `at 125 connections`; may be empty.
    pub at: String,
    /// By server, in the order of [`Answer::servers`]; none where it was not measured.
    pub values: Vec<Option<Value>>,
    /// Servers that were compared with each other and not by way of the baseline.
    pub direct: Vec<Direct>,
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
    /// The servers that nothing measured is better than: one, or several whose difference is not resolved. Empty where
    /// fewer than two servers were measured, or where none is worse than the best.
    pub fn best(&self) -> Vec<usize> {
        let measured = || (0..self.values.len()).filter(|server| self.values[*server].is_some());
        let best: Vec<usize> =
            measured().filter(|server| !measured().any(|other| self.is_better(other, *server))).collect();
        if best.len() == measured().count() { Vec::new() } else { best }
    }

    /// Whether a server is surely better than another: by their direct comparison where there is one, else by both
    /// intervals.
    fn is_better(&self, a: usize, b: usize) -> bool {
        let compared = self.direct.iter().find_map(|pair| match (pair.server, pair.over) {
            (server, over) if (server, over) == (a, b) => Some(pair.ratio.interval),
            (server, over) if (server, over) == (b, a) => {
                Some(pair.ratio.interval.map(|(low, high)| (1.0 / high, 1.0 / low)))
            }
            _ => None,
        });
        let is_less = match (compared, self.values[a].zip(self.values[b])) {
            (Some(Some((_, high))), _) if high < 1.0 => true,
            (Some(Some((low, _))), _) if low > 1.0 => false,
            (None, Some((own, other))) if own.differs(&other) => own.compared.value < other.compared.value,
            _ => return false,
        };
        is_less == (self.topic.better() == Better::Less)
    }

    /// Whether a server's difference from the baseline is resolved; true of the baseline itself, and where one of both
    /// was not measured.
    pub fn is_resolved(&self, server: usize, baseline: usize) -> bool {
        let both = self.values[server].zip(self.values[baseline]);
        server == baseline || both.is_none_or(|(own, over)| own.differs(&over))
    }

    /// Whether a server's own value, compared with the baseline's, is surely the better one, or the worse one; none
    /// where that is open.
    pub fn is_surely_better(&self, server: usize, baseline: usize) -> Option<bool> {
        let (own, over) = self.values[server].zip(self.values[baseline])?;
        let is_less = own.compared.value < over.compared.value;
        own.differs(&over).then_some(is_less == (self.topic.better() == Better::Less))
    }

    /// By what factor a server is surely behind another.
    fn factor_behind(&self, server: usize, other: usize) -> Option<f64> {
        let (own, better) = self.values[server].zip(self.values[other])?;
        let ratio = own.compared.value / better.compared.value;
        own.differs(&better).then_some(ratio.max(1.0 / ratio))
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
