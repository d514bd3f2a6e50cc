//! What to distrust in a figure, said beside it.

use serde::{Deserialize, Serialize};

/// A share of `control`'s rate from which a server may be held back by what holds control back too.
const NEAR_CEILING: f64 = 0.9;

/// Steal above this share of the machine's time makes a trial doubtful.
const MUCH_STEAL: f64 = 0.02;

/// Why a cell's figures are not the whole truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// The load generator used at least as much CPU as the server.
    ClientBound,
    /// The rate is close to what the ceiling reaches.
    NearCeiling,
    /// Requests failed.
    FailedRequests,
    /// Connections found the accept queue full.
    ListenOverflow,
    /// Some trials of the cell gave no figure.
    FailedTrials,
    /// The hypervisor took processor time away.
    Steal,
}

/// What a mark is decided from.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Evidence {
    pub server_cores: f64,
    pub client_cores: f64,
    pub share_of_ceiling: Option<f64>,
    pub failed_requests: u64,
    pub listen_overflows: u64,
    pub failed_trials: usize,
    pub steal_share: Option<f64>,
}

impl Mark {
    /// All marks.
    pub const ALL: [Self; 6] = [
        Self::ClientBound,
        Self::NearCeiling,
        Self::FailedRequests,
        Self::ListenOverflow,
        Self::FailedTrials,
        Self::Steal,
    ];

    /// One letter, for a table's cell.
    pub const fn letter(self) -> char {
        match self {
            Self::ClientBound => 'c',
            Self::NearCeiling => 'n',
            Self::FailedRequests => 'f',
            Self::ListenOverflow => 'q',
            Self::FailedTrials => 't',
            Self::Steal => 's',
        }
    }

    /// The footnote.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::ClientBound => {
                "client-bound: the load generator used at least as much CPU as the server, so the rate is \"at least\" and \
                 a ratio of rates is too small; compare CPU per request instead"
            }
            Self::NearCeiling => {
                "within 10 % of the ceiling's rate: what holds the ceiling back may hold this server back too"
            }
            Self::FailedRequests => "some requests failed; they are in the latencies, not in the rate",
            Self::ListenOverflow => {
                "connections found the server's accept queue full and were repeated after a second or more"
            }
            Self::FailedTrials => "some trials gave no figure; see \"What failed\"",
            Self::Steal => "the hypervisor took more than 2 % of the processors' time away",
        }
    }

    /// The marks that the evidence calls for.
    pub(super) fn of(evidence: Evidence) -> Vec<Self> {
        let holds = |mark: &Self| match mark {
            Self::ClientBound => {
                evidence.client_cores > 0.0 && evidence.client_cores >= evidence.server_cores
            }
            Self::NearCeiling => evidence.share_of_ceiling.is_some_and(|share| share >= NEAR_CEILING),
            Self::FailedRequests => evidence.failed_requests > 0,
            Self::ListenOverflow => evidence.listen_overflows > 0,
            Self::FailedTrials => evidence.failed_trials > 0,
            Self::Steal => evidence.steal_share.is_some_and(|share| share > MUCH_STEAL),
        };
        Self::ALL.into_iter().filter(holds).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mark_comes_from_its_own_evidence_and_no_other() {
        let clean = Evidence { server_cores: 1.5, client_cores: 0.4, ..Evidence::default() };
        assert_eq!(Mark::of(clean), []);
        let cases = [
            (Evidence { client_cores: 1.5, ..clean }, Mark::ClientBound),
            (Evidence { share_of_ceiling: Some(0.95), ..clean }, Mark::NearCeiling),
            (Evidence { failed_requests: 1, ..clean }, Mark::FailedRequests),
            (Evidence { listen_overflows: 1, ..clean }, Mark::ListenOverflow),
            (Evidence { failed_trials: 1, ..clean }, Mark::FailedTrials),
            (Evidence { steal_share: Some(0.05), ..clean }, Mark::Steal),
        ];
        for (evidence, mark) in cases {
            assert_eq!(Mark::of(evidence), [mark]);
        }
    }
}
