//! What a reader sees first: what servers are compared by, and who is best in it. A row is one measured quantity over
//! all servers.

use crate::figure::{Better, Figure};
use crate::stats::Estimate;

/// What servers are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// A figure, as its ratio to the baseline's.
    Figure(Figure),
    /// The highest load that holds what is demanded: connections, or requests a second.
    Held,
}

impl Topic {
    /// The better direction.
    pub fn better(self) -> Option<Better> {
        match self {
            Self::Figure(figure) => figure.better(),
            Self::Held => Some(Better::More),
        }
    }
}

/// What one server has of a row's quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// What a table shows and what servers are compared by: a ratio to the baseline, or a load.
    pub estimate: Estimate,
    /// Whether it is a lower bound: the load generator, or the campaign's highest load, was the limit.
    pub at_least: bool,
}

impl Value {
    /// Whether the two intervals share no value: a difference that is resolved.
    fn differs(&self, other: &Self) -> bool {
        let both = self.estimate.interval.zip(other.estimate.interval);
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
    /// What the baseline has itself, where servers are compared by their ratio to it, in the figure's unit.
    pub one: Option<f64>,
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

    /// Whether a server is shown to be better than another: by their direct comparison where there is one, else by both
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
            (None, Some((own, other))) if own.differs(&other) => own.estimate.value < other.estimate.value,
            _ => return false,
        };
        is_less == (self.topic.better() == Some(Better::Less))
    }

    /// Whether no server differs from the baseline by more than a margin: every interval lies within it.
    pub fn is_equal_within(&self, margin: f64) -> bool {
        let within = |(low, high)| low >= 1.0 / (1.0 + margin) && high <= 1.0 + margin;
        self.one.is_some()
            && self.values.iter().flatten().all(|value| value.estimate.interval.is_some_and(within))
    }

    /// Whether a server's difference from the baseline is resolved; true of the baseline itself, and where one of both
    /// was not measured.
    pub fn is_resolved(&self, server: usize, baseline: usize) -> bool {
        let both = self.values[server].zip(self.values[baseline]);
        server == baseline || both.is_none_or(|(own, over)| own.differs(&over))
    }

    /// Whether a server's own value, compared with the baseline's, is shown to be the better one, or the worse one; none
    /// where that is open.
    pub fn is_shown_better(&self, server: usize, baseline: usize) -> Option<bool> {
        let (own, over) = self.values[server].zip(self.values[baseline])?;
        let is_less = own.estimate.value < over.estimate.value;
        own.differs(&over).then_some(is_less == (self.topic.better() == Some(Better::Less)))
    }
}

/// What a reader sees first.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What readers call the servers.
    pub servers: Vec<String>,
    /// The place of the server that the others are compared with.
    pub baseline: usize,
    /// The largest difference that does not matter: 0.02 for 2 %.
    pub margin: f64,
    /// The figures that are of two servers at the same time on one core.
    pub of_duets: Vec<Figure>,
    /// What was measured.
    pub rows: Vec<AnswerRow>,
}

#[cfg(test)]
mod tests;
