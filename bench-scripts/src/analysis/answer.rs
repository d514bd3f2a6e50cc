//! Which server for whom: what servers are compared by, who is best in it, and what follows for each kind of user.
//!
//! A row is one measured quantity over all servers. Rows come from one run or from several; the recommendations follow from them by
//! [`RULES`] and by nothing else.

use super::verdict::Better;
use crate::stats::Estimate;

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
    /// The share of requests that are answered in time while there are more than the server can answer, from 0 to 1.
    OverloadAnswered,
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
            Self::Rate | Self::OverloadAnswered | Self::Sustained | Self::Connections => Better::More,
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
    /// What servers are compared by, with its interval: a ratio to the baseline where blocks are paired, else the value itself.
    pub compared: Estimate,
    /// Whether it is a lower bound: the load generator, or the campaign's highest load, was the limit.
    pub at_least: bool,
}

impl Value {
    /// A value that is compared as it is shown.
    pub const fn of(estimate: Estimate) -> Self {
        Self { shown: estimate.value, compared: estimate, at_least: false }
    }

    fn ends(&self) -> Option<(f64, f64)> {
        self.compared.interval
    }

    /// Whether the two intervals share no value: a difference that is resolved.
    fn differs(&self, other: &Self) -> bool {
        match (self.ends(), other.ends()) {
            (Some((low, high)), Some((other_low, other_high))) => high < other_low || other_high < low,
            _ => false,
        }
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
    /// Where it is from, on a page of several runs: how many, with a link; empty in a run's own report.
    pub from: String,
    /// By server, in the order of [`Answer::servers`]; none where it was not measured.
    pub values: Vec<Option<Value>>,
}

impl AnswerRow {
    /// The servers that nothing measured is better than: one, or several whose difference is not resolved. Empty where fewer than
    /// two servers were measured, or where none is worse than the best.
    pub fn best(&self) -> Vec<usize> {
        let measured =
            || self.values.iter().enumerate().filter_map(|(server, value)| Some((server, (*value)?)));
        let order = |a: &Value, b: &Value| match self.topic.better() {
            Better::More => b.compared.value.total_cmp(&a.compared.value),
            Better::Less => a.compared.value.total_cmp(&b.compared.value),
        };
        let Some((_, first)) = measured().min_by(|(_, a), (_, b)| order(a, b)) else { return Vec::new() };
        let best: Vec<usize> =
            measured().filter(|(_, value)| !value.differs(&first)).map(|(server, _)| server).collect();
        if best.len() == measured().count() { Vec::new() } else { best }
    }

    /// Whether a server's difference from the baseline is resolved; true of the baseline itself.
    pub fn is_resolved(&self, server: usize, baseline: usize) -> bool {
        let value = |server: usize| self.values.get(server).copied().flatten();
        server == baseline || value(server).zip(value(baseline)).is_none_or(|(a, b)| a.differs(&b))
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
pub const RULES: [Rule; 4] = [
    Rule {
        wants: "Most requests for each core",
        decides: &[Topic::Cpu, Topic::Rate],
        measured_by: ("CPU per request", "quick"),
    },
    Rule {
        wants: "Steady p99 next to heavy requests",
        decides: &[Topic::P99NextToHeavy],
        measured_by: ("p99 next to heavy requests", "isolation"),
    },
    Rule {
        wants: "Most answers during overload",
        decides: &[Topic::OverloadAnswered, Topic::Recovery],
        measured_by: ("overload", "recovery"),
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
    /// The rows that decided, and in each the servers that are best. One entry with all rows where the same servers are best in all
    /// of them; else an entry for each row. Empty where nothing differs.
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
            let own = row.values[server]?;
            let better = row.best().first().and_then(|first| row.values[*first])?;
            let ratio = own.compared.value / better.compared.value;
            (Some(row.topic) != decided_by && own.differs(&better)).then_some(ratio.max(1.0 / ratio))
        };
        let behind = self.rows.iter().enumerate().filter_map(|(place, row)| Some((place, factor(row)?)));
        let mut behind: Vec<(usize, f64)> = behind.collect();
        behind.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        behind.into_iter().map(|(place, _)| place).take(MOST_PRICES).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(value: f64, spread: f64) -> Option<Value> {
        Some(Value::of(Estimate { value, interval: Some((value - spread, value + spread)) }))
    }

    fn answer(rows: &[(Topic, &str, [Option<Value>; 3])]) -> Answer {
        let row = |(topic, request, values): &(Topic, &str, [Option<Value>; 3])| AnswerRow {
            topic: *topic,
            request: (*request).to_owned(),
            at: String::new(),
            from: String::new(),
            values: values.to_vec(),
        };
        let servers = ["a", "b", "c"].map(str::to_owned).to_vec();
        Answer { servers, baseline: 0, rows: rows.iter().map(row).collect() }
    }

    #[test]
    fn the_best_are_those_that_nothing_is_surely_better_than() {
        let best = |topic, values| answer(&[(topic, "", values)]).rows[0].best();
        let apart = [value(1.0, 0.01), value(0.9, 0.01), value(0.7, 0.01)];
        assert_eq!(best(Topic::Cpu, apart), [2], "less CPU is better");
        assert_eq!(best(Topic::Rate, apart), [0], "a higher rate is better");
        assert_eq!(best(Topic::Cpu, [value(1.0, 0.01), value(0.71, 0.02), value(0.7, 0.01)]), [1, 2]);
        assert!(best(Topic::Cpu, [value(1.0, 0.2), value(0.9, 0.2), value(0.8, 0.2)]).is_empty());
        assert!(best(Topic::Cpu, [None, None, None]).is_empty());
    }

    #[test]
    fn a_server_that_is_best_in_all_rows_is_recommended_for_all() {
        let cpu = |b, c| [value(1.0, 0.0), value(b, 0.01), value(c, 0.01)];
        let best = |second| {
            let rows = [(Topic::Cpu, "x", cpu(0.9, 0.7)), (Topic::Cpu, "y", second)];
            answer(&rows).recommendations()[0].best.clone()
        };
        assert_eq!(best(cpu(0.9, 0.6)), [(vec![0, 1], vec![2])]);
        assert_eq!(best(cpu(0.61, 0.6)), [(vec![0, 1], vec![2])], "as good as another in one of them");
        assert_eq!(best(cpu(0.9, 1.6)), [(vec![0], vec![2]), (vec![1], vec![1])]);
    }

    #[test]
    fn the_price_is_where_the_recommended_server_is_furthest_behind() {
        let cpu = (Topic::Cpu, "x", [value(1.0, 0.0), value(0.9, 0.01), value(0.7, 0.01)]);
        let p99 = (Topic::P99, "x", [value(5.0, 0.1), value(6.0, 0.1), value(5.8, 0.1)]);
        let memory = (Topic::ConnectionMemory, "", [value(10.0, 0.1), value(30.0, 0.1), value(20.0, 0.1)]);
        let paid = answer(&[cpu, p99, memory]);
        assert_eq!(paid.recommendations()[0].price, [2, 1], "twice the memory, then p99");
        let free = answer(&[cpu, (Topic::P99, "x", [value(5.0, 0.5), value(6.0, 0.5), value(5.0, 0.5)])]);
        assert!(free.recommendations()[0].price.is_empty());
    }

    #[test]
    fn what_was_not_measured_is_not_decided() {
        let answer = answer(&[(Topic::P99, "x", [value(5.0, 0.1), value(6.0, 0.1), value(7.0, 0.1)])]);
        for recommendation in answer.recommendations() {
            assert!(recommendation.decided_by.is_none() && recommendation.best.is_empty());
        }
    }

    #[test]
    fn a_difference_is_resolved_where_the_intervals_are_apart() {
        let answer = answer(&[(Topic::Cpu, "x", [value(1.0, 0.0), value(0.99, 0.02), value(0.7, 0.01)])]);
        let resolved = [0, 1, 2].map(|server| answer.rows[0].is_resolved(server, 0));
        assert_eq!(resolved, [true, false, true]);
    }
}
