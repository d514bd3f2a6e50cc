//! Which true answers of a server the campaign's ledger gives.

use serde::{Deserialize, Serialize};

/// Which requests a server answers as the campaign's ledger does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WrittenHolds", into = "WrittenHolds")]
pub enum Holds {
    /// All of them: it has the ledger's accounts and slots.
    #[default]
    Everything,
    /// These methods: its chain is its own and grows, so the context of an answer (slot and version) is not compared.
    Methods(Vec<String>),
}

#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "give \"nothing\", or the methods: [\"getBalance\"]")]
enum WrittenHolds {
    Word(HoldsWord),
    Methods(Vec<String>),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum HoldsWord {
    Everything,
    /// `accounts` is of plans of before methods were listed; such a run is only read.
    #[serde(alias = "accounts")]
    Nothing,
}

impl From<WrittenHolds> for Holds {
    fn from(written: WrittenHolds) -> Self {
        match written {
            WrittenHolds::Word(HoldsWord::Everything) => Self::Everything,
            WrittenHolds::Word(HoldsWord::Nothing) => Self::Methods(Vec::new()),
            WrittenHolds::Methods(methods) => Self::Methods(methods),
        }
    }
}

impl From<Holds> for WrittenHolds {
    fn from(holds: Holds) -> Self {
        match holds {
            Holds::Everything => Self::Word(HoldsWord::Everything),
            Holds::Methods(methods) if methods.is_empty() => Self::Word(HoldsWord::Nothing),
            Holds::Methods(methods) => Self::Methods(methods),
        }
    }
}

impl Holds {
    /// Whether it is the whole ledger.
    pub fn is_everything(&self) -> bool {
        *self == Self::Everything
    }

    /// Whether a method is answered as the ledger answers it.
    pub fn answers(&self, method: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Methods(methods) => methods.iter().any(|known| known == method),
        }
    }
}
