//! Which true answers of a server the campaign's ledger gives.

use serde::{Deserialize, Serialize};

/// Which requests a server answers as the campaign's ledger does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", expecting = "give \"nothing\", or the methods: [\"getBalance\"]")]
pub enum Holds {
    /// All of them: it has the ledger's accounts and slots.
    #[default]
    Everything,
    /// None. `accounts` is of plans of before methods were listed; such a run is only read.
    #[serde(alias = "accounts")]
    Nothing,
    /// These methods: its chain is its own and grows, so the context of an answer (slot and version) is not compared.
    #[serde(untagged)]
    Methods(Vec<String>),
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
            Self::Nothing => false,
            Self::Methods(methods) => methods.iter().any(|known| known == method),
        }
    }
}
