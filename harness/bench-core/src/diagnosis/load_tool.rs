//! Whether the load tool is what is slow, by its own evidence: its CPU time, or by how much it sent late by itself.

use super::facts::Facts;
use crate::readable_numbers::{percent, time};

/// A tool that uses this share of the processors that it may use has none left.
const NEAR_ITS_CORES: f64 = 0.9;

/// The share of the time that is the load tool's own.
pub(super) fn slow(facts: &Facts) -> Option<f64> {
    late(facts)
        .or_else(|| Some(facts.client_cores / facts.cores as f64).filter(|share| *share >= NEAR_ITS_CORES))
}

/// The share of the mean latency by which requests were sent late although a connection was free.
fn late(facts: &Facts) -> Option<f64> {
    let share = facts.own_lag_us? / facts.mean_us;
    (share >= super::LEAST_SHARE).then_some(share)
}

/// What a person reads of it.
pub(super) fn sentence(facts: &Facts) -> String {
    match facts.own_lag_us.filter(|_| late(facts).is_some()) {
        Some(lag_us) => format!(
            "the load tool, not the server: with a connection free, it sent a request {} late on average, of a mean \
             latency of {}",
            time(lag_us),
            time(facts.mean_us)
        ),
        None => format!(
            "the load tool, not the server: it used {} of the {} cores",
            percent(facts.client_cores / facts.cores as f64),
            facts.cores
        ),
    }
}
