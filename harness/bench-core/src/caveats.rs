//! What to distrust in a figure: marks that a report shows next to it.

use serde::{Deserialize, Serialize};

/// A share of the ceiling's rate from which a server may be held back by what holds the ceiling back too.
const NEAR_CEILING: f64 = 0.9;

/// A share of the connections below which too few of them were at work.
const MOST_ACTIVE: f64 = 0.9;

/// Relative disagreement of server and tool about the number of requests that is more than requests under way explain.
const MUCH_DISAGREEMENT: f64 = 0.02;

/// How much more CPU a request of the window's first half may take before the window is not steady.
const MUCH_DEARER: f64 = 1.1;

/// The least share of the requested rate that must have been sent.
const LEAST_ACHIEVED: f64 = 0.99;

/// The share of the latency that the load tool's own lateness may have.
const MUCH_LAG: f64 = 0.1;

/// Each mark: its documentation, its name, one letter for a table's cell, and the footnote.
macro_rules! marks {
    ($(#[doc = $doc:literal] $name:ident $letter:literal $meaning:literal;)+) => {
        /// Why a cell's figures are not the whole truth.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Mark {
            $(#[doc = $doc] $name,)+
        }

        impl Mark {
            /// All marks.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// One letter, for a table's cell.
            pub const fn letter(self) -> char {
                match self { $(Self::$name => $letter,)+ }
            }

            /// The footnote.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning,)+ }
            }
        }
    };
}

marks! {
    /// The load generator used at least as much CPU as the server.
    ClientBound 'c' "client-bound: the load generator used at least as much CPU as the server. So the rate is \"at \
        least\" and a ratio of rates is too small; compare CPU per request instead";
    /// The rate is close to what the ceiling reaches.
    NearCeiling 'n' "within 10 % of the ceiling's rate: what holds the ceiling back may hold this server back too";
    /// Requests failed.
    FailedRequests 'f' "some requests failed; they are not in the rate, and in the latencies those of which the load tool \
        keeps the time";
    /// Connections found the accept queue full.
    ListenOverflow 'q' "connections found the server's accept queue full and were repeated after a second or more";
    /// Some trials of the cell gave no figure.
    FailedTrials 't' "some of its trials failed, and the figure is of the others";
    /// Fewer connections were at work than requested.
    FewActive 'l' "by Little's law (rate times mean latency) fewer than 90 % of the connections waited for an answer on \
        average. The others were starved, or the load generator kept them waiting";
    /// Fewer connections were open than requested.
    FewEstablished 'e' "the server never held all connections open at once";
    /// Server and tool disagree about the number of requests.
    CountsDisagree 'd' "server and load generator disagree by more than 2 % about the number of requests. Requests that were \
        under way when a window closed are the server's alone";
    /// Requests cost more in the first half of the window.
    Unsteady 'w' "the window was not steady. A request of its first half, in which the connections are made, cost over \
        10 % more CPU than one of its second";
    /// The hypervisor took processor time away.
    Steal 's' "the hypervisor took more of the processors' time away in some trials than the campaign allows (2 % \
        where it says nothing); these count nowhere";
    /// Other processes used processor time.
    ForeignCpu 'o' "another process used the CPU in some trials, beyond what the campaign allows; these count nowhere";
    /// The control group was held back.
    Throttled 'h' "the control group was held back in some trials, which count nowhere";
    /// The load tool did not reach the requested rate.
    RateNotReached 'r' "less than 99 % of the requested rate was sent: the figures are of a lower rate than the row's";
    /// The load tool sent requests late by itself.
    SentLate 'g' "the load tool's own lateness, with connections free (99th percentile), is over a tenth of the \
        latency (99th percentile). Much of what is shown may be the tool's; the latency from the send leaves \
        it out";
}

/// What a mark is decided from.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Evidence {
    pub client_bound: bool,
    pub share_of_ceiling: Option<f64>,
    pub failed_requests: u64,
    pub listen_overflows: u64,
    pub failed_trials: usize,
    pub active_share: Option<f64>,
    pub established_share: Option<f64>,
    pub count_disagreement: Option<f64>,
    pub first_half_ratio: Option<f64>,
    pub stolen_trials: usize,
    pub foreign_trials: usize,
    pub throttled_trials: usize,
    pub achieved_share: Option<f64>,
    pub own_lag_share: Option<f64>,
}

impl Mark {
    /// The marks that the evidence calls for.
    pub(super) fn of(evidence: Evidence) -> Vec<Self> {
        let holds = |mark: &Self| match mark {
            Self::ClientBound => evidence.client_bound,
            Self::NearCeiling => evidence.share_of_ceiling.is_some_and(|share| share >= NEAR_CEILING),
            Self::FailedRequests => evidence.failed_requests > 0,
            Self::ListenOverflow => evidence.listen_overflows > 0,
            Self::FailedTrials => evidence.failed_trials > 0,
            Self::FewActive => evidence.active_share.is_some_and(|share| share < MOST_ACTIVE),
            Self::FewEstablished => evidence.established_share.is_some_and(|share| share < 1.0),
            Self::CountsDisagree => {
                evidence.count_disagreement.is_some_and(|share| share > MUCH_DISAGREEMENT)
            }
            Self::Unsteady => evidence.first_half_ratio.is_some_and(|ratio| ratio > MUCH_DEARER),
            Self::Steal => evidence.stolen_trials > 0,
            Self::ForeignCpu => evidence.foreign_trials > 0,
            Self::Throttled => evidence.throttled_trials > 0,
            Self::RateNotReached => evidence.achieved_share.is_some_and(|share| share < LEAST_ACHIEVED),
            Self::SentLate => evidence.own_lag_share.is_some_and(|share| share > MUCH_LAG),
        };
        Self::ALL.iter().copied().filter(holds).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mark_has_its_own_evidence() {
        let good = Evidence::default();
        assert_eq!(Mark::of(good), []);
        let cases = [
            (Evidence { client_bound: true, ..good }, Mark::ClientBound),
            (Evidence { share_of_ceiling: Some(0.95), ..good }, Mark::NearCeiling),
            (Evidence { failed_requests: 1, ..good }, Mark::FailedRequests),
            (Evidence { listen_overflows: 1, ..good }, Mark::ListenOverflow),
            (Evidence { failed_trials: 1, ..good }, Mark::FailedTrials),
            (Evidence { active_share: Some(0.3), ..good }, Mark::FewActive),
            (Evidence { established_share: Some(0.99), ..good }, Mark::FewEstablished),
            (Evidence { count_disagreement: Some(0.05), ..good }, Mark::CountsDisagree),
            (Evidence { first_half_ratio: Some(1.5), ..good }, Mark::Unsteady),
            (Evidence { stolen_trials: 1, ..good }, Mark::Steal),
            (Evidence { foreign_trials: 1, ..good }, Mark::ForeignCpu),
            (Evidence { throttled_trials: 1, ..good }, Mark::Throttled),
            (Evidence { achieved_share: Some(0.98), ..good }, Mark::RateNotReached),
            (Evidence { own_lag_share: Some(0.3), ..good }, Mark::SentLate),
        ];
        for (evidence, mark) in cases {
            assert_eq!(Mark::of(evidence), [mark]);
        }
    }
}
