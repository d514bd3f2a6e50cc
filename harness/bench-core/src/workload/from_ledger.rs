//! What of the campaign's ledger a request is about.

use serde::{Deserialize, Serialize};

/// Which accounts a request names.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(
    rename_all = "lowercase",
    deny_unknown_fields,
    expecting = "give \"uniform\", \"absent\" or { zipf = 1.0 } with the exponent"
)]
pub enum Account {
    /// Each account of the ledger as often as any other.
    Uniform,
    /// Valid addresses that are not in the ledger.
    Absent,
    /// By Zipf's law: the ledger's k-th account as often as k to the power of minus this exponent.
    #[serde(untagged)]
    Zipf {
        /// The exponent.
        zipf: f64,
    },
}

/// Which slots a request names. The chain does not advance while it is measured, so its tip is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockRange {
    /// How many slots, skipped ones included.
    pub slots: u64,
    /// Where they are.
    pub from: Place,
    /// Whether the second parameter is their number, and not the last of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limit: bool,
}

/// Where in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// The newest finalized ones.
    Tip,
    /// Anywhere below it, each place as often as any other.
    Random,
}
