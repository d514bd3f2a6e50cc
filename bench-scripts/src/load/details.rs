//! What a load tool's sample holds beyond that of every load.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::Latency;

/// What only some loads have. The default is a load of single calls of one method, by a tool that reports no more.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Details {
    /// Calls in each request, where a request is a batch.
    pub batch: Option<u32>,
    /// Whether connections were held and nothing was sent: there are no requests, and no latency of any.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// How long the tool took to connect, where it reports that.
    pub connects: Option<Connects>,
    /// Latency by method, where requests called several and the tool's records say which.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<MethodLatency>,
}

/// The connections of a load, which were all established at once, before it began.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Connects {
    /// Until the last of them was established or had failed, in seconds.
    pub all_s: f64,
    /// Each, from the call of `connect` until it could carry a request, in microseconds.
    pub each_us: Latency,
}

/// The requests of a load that called one method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MethodLatency {
    /// The method.
    pub method: String,
    /// Requests that were due.
    pub requests: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Latency from when they were due, of those that ended, in microseconds.
    pub latency_us: Latency,
}

impl Details {
    /// Whether there is nothing to keep.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
