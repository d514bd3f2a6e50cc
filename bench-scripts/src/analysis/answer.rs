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
    /// The share of requests that are answered in time while many heavy ones come, from 0 to 1. These are an overload for some servers only.
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

/// A row's values on one model of processor.
#[derive(Debug, Clone, PartialEq)]
pub struct OnModel {
    /// The processor, as readers know it.
    pub processor: String,
    /// By server.
    pub values: Vec<Option<Value>>,
    /// Servers that were compared with each other there.
    pub direct: Vec<Direct>,
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
    /// Where it is from, on a page of several runs: how many, with a link; empty in a run's own report.
    pub from: String,
    /// By server, in the order of [`Answer::servers`]; none where it was not measured.
    pub values: Vec<Option<Value>>,
    /// Servers that were compared with each other and not by way of the baseline.
    pub direct: Vec<Direct>,
    /// The same by model of processor, where several were measured; else empty.
    pub models: Vec<OnModel>,
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
    /// The servers that nothing measured is better than, on every processor: one, or several whose difference is not resolved. Empty where
    /// fewer than two servers were measured, where none is worse than the best, or where processors have no best in common.
    pub fn best(&self) -> Vec<usize> {
        let mut all = self.every_with_direct();
        let mut common = self.best_of(all.next().unwrap_or((&self.values, &self.direct)));
        for there in all {
            // None is best where all are.
            let best = self.best_of(there);
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

    /// The values of each model; those of the row where there is one model.
    fn every(&self) -> impl Iterator<Item = &[Option<Value>]> {
        self.every_with_direct().map(|(values, _)| values)
    }

    /// The same, with what was compared directly there.
    fn every_with_direct(&self) -> impl Iterator<Item = (&[Option<Value>], &[Direct])> {
        let alone = self.models.is_empty().then_some((self.values.as_slice(), self.direct.as_slice()));
        alone.into_iter().chain(self.models.iter().map(|model| (&*model.values, &*model.direct)))
    }

    fn best_of(&self, (values, direct): (&[Option<Value>], &[Direct])) -> Vec<usize> {
        let measured = || (0..values.len()).filter(|server| values[*server].is_some());
        let is_better = |a: usize, b: usize| self.is_better(values, direct, a, b);
        let best: Vec<usize> =
            measured().filter(|server| !measured().any(|other| is_better(other, *server))).collect();
        if best.len() == measured().count() { Vec::new() } else { best }
    }

    /// Whether a server is surely better than another: by their direct comparison where there is one, else by both intervals.
    fn is_better(&self, values: &[Option<Value>], direct: &[Direct], a: usize, b: usize) -> bool {
        let compared = direct.iter().find_map(|pair| match (pair.server, pair.over) {
            (server, over) if (server, over) == (a, b) => Some(pair.ratio.interval),
            (server, over) if (server, over) == (b, a) => {
                Some(pair.ratio.interval.map(|(low, high)| (1.0 / high, 1.0 / low)))
            }
            _ => None,
        });
        let (less, more) = match (compared, values[a].zip(values[b])) {
            (Some(ratio), _) => {
                (ratio.is_some_and(|(_, high)| high < 1.0), ratio.is_some_and(|(low, _)| low > 1.0))
            }
            (None, Some((own, other))) if own.differs(&other) => {
                let is_less = own.compared.value < other.compared.value;
                (is_less, !is_less)
            }
            _ => (false, false),
        };
        match self.topic.better() {
            Better::Less => less,
            Better::More => more,
        }
    }

    /// Whether a server's difference from the baseline is resolved, on every processor and in one direction; true of the baseline itself.
    pub fn is_resolved(&self, server: usize, baseline: usize) -> bool {
        let measured = |values: &&[Option<Value>]| values.get(server).copied().flatten().is_some();
        let mut standings = self.every().filter(measured).map(|values| standing(values, server, baseline));
        let first = standings.next();
        server == baseline
            || first.is_none_or(|first| first != Standing::Open && standings.all(|other| other == first))
    }

    /// The servers whose standing to the baseline is not the same on all processors, each with the processors and the standings there.
    pub fn disagreements(&self, baseline: usize) -> Vec<(usize, Vec<(&str, Standing)>)> {
        let of = |server: usize| {
            let measured = self.models.iter().filter(|model| model.values[server].is_some());
            let standings =
                measured.map(|model| (&*model.processor, standing(&model.values, server, baseline)));
            standings.collect::<Vec<_>>()
        };
        let servers = (0..self.values.len()).filter(|server| *server != baseline);
        let all = servers.map(|server| (server, of(server)));
        all.filter(|(_, standings)| standings.windows(2).any(|two| two[0].1 != two[1].1)).collect()
    }

    /// The smallest and the largest value of a server over processors, as a table shows them.
    pub fn range(&self, server: usize) -> Option<(f64, f64)> {
        let shown = || self.every().filter_map(|values| Some(values.get(server).copied().flatten()?.shown));
        let ends = (shown().fold(f64::INFINITY, f64::min), shown().fold(f64::NEG_INFINITY, f64::max));
        shown().next().map(|_| ends)
    }

    /// By what factor a server is surely behind another, on every processor: the smallest.
    fn factor_behind(&self, server: usize, other: usize) -> Option<f64> {
        let factor = |values: &[Option<Value>]| {
            let (own, better) = (values[server]?, values[other]?);
            let ratio = own.compared.value / better.compared.value;
            own.differs(&better).then_some(ratio.max(1.0 / ratio))
        };
        let factors = self.every().map(factor).collect::<Option<Vec<f64>>>()?;
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
            direct: Vec::new(),
            models: Vec::new(),
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
    fn a_direct_comparison_decides_between_two_servers() {
        let best = |ratio: Option<(f64, f64)>| {
            let values = [value(1.0, 0.01), value(0.71, 0.02), value(0.7, 0.02)];
            let mut row = answer(&[(Topic::Cpu, "", values)]).rows.remove(0);
            row.direct.push(Direct { server: 2, over: 1, ratio: Estimate { value: 0.97, interval: ratio } });
            row.best()
        };
        assert_eq!(best(Some((0.96, 0.98))), [2], "closer than the intervals to the baseline show");
        assert_eq!(best(Some((1.02, 1.04))), [1]);
        assert_eq!(best(Some((0.96, 1.01))), [1, 2]);
        assert_eq!(best(None), [1, 2]);
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
    fn what_is_said_of_several_processors_is_true_on_each() {
        let mut answer = answer(&[(Topic::Cpu, "x", [value(1.0, 0.0), value(1.4, 0.01), value(0.7, 0.01)])]);
        let on = |b: f64, c: f64| OnModel {
            processor: format!("{b}"),
            values: vec![value(1.0, 0.0), value(b, 0.01), value(c, 0.01)],
            direct: Vec::new(),
        };
        answer.rows[0].models = vec![on(1.4, 0.7), on(1.1, 0.8)];
        let row = &answer.rows[0];
        assert_eq!((row.best(), row.range(2)), (vec![2], Some((0.7, 0.8))));
        assert!(row.disagreements(0).is_empty() && row.is_resolved(1, 0));

        answer.rows[0].models[1] = on(1.005, 0.8);
        let row = &answer.rows[0];
        let open = vec![("1.4", Standing::More), ("1.005", Standing::Open)];
        assert_eq!((row.disagreements(0), row.is_resolved(1, 0)), (vec![(1, open)], false));
        assert!(row.is_resolved(2, 0));

        answer.rows[0].models[1] = on(0.5, 0.8);
        let row = &answer.rows[0];
        assert!(row.best().is_empty(), "one is best here and another there");
        assert_eq!(row.disagreements(0).len(), 1);
        assert_eq!(answer.recommendations()[0].best, []);
    }

    #[test]
    fn a_difference_is_resolved_where_the_intervals_are_apart() {
        let answer = answer(&[(Topic::Cpu, "x", [value(1.0, 0.0), value(0.99, 0.02), value(0.7, 0.01)])]);
        let resolved = [0, 1, 2].map(|server| answer.rows[0].is_resolved(server, 0));
        assert_eq!(resolved, [true, false, true]);
    }
}
