//! What users in stages saw, worked out from k6's samples.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::samples::Samples;
use crate::load::records::Sorted;
use crate::load::{Latency, LoadSample};

const SECOND_US: u64 = 1_000_000;

/// What only a load with users has, each of whom sends one request a second.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Staged {
    /// How long users took to connect, in microseconds: TCP's handshake, and with WebSocket its own after that. `None`
    /// where no user connected.
    pub connect_us: Option<Latency>,
    /// By how much requests were sent later than they were due, in microseconds: k6 was late, or the answer before was.
    pub send_lag_us: Option<Latency>,
    /// Requests whose user left before they ended. They are neither answered nor failed.
    pub left: u64,
    /// Processors that k6 used in its busiest twentieth of the load; unknown where the machine does not report it.
    pub busiest_cores: Option<f64>,
    /// The load by the second, without a gap.
    pub seconds: Vec<Second>,
}

/// One second of a load with users.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Users in it; unknown where k6 did not count them in it.
    pub users: Option<u32>,
    /// Requests that ended in it.
    pub requests: u32,
    /// Those of them that failed.
    pub failed: u32,
    /// Median latency, in microseconds; none where no request ended.
    pub p50_us: Option<f64>,
    /// 99th percentile.
    pub p99_us: Option<f64>,
}

/// Works the sample of a load out that was `duration_ms` long, in which k6 received and sent that many bytes.
///
/// # Errors
/// No request ended.
pub(super) fn sample(samples: Samples, duration_ms: u64, bytes: (u64, u64)) -> Result<LoadSample> {
    let latency = Sorted::new(samples.latency.iter().map(|(_, us)| *us));
    let latency_us = latency.latency().context("no request of any user ended")?;
    let mut failed: BTreeMap<String, u64> = BTreeMap::new();
    for (_, kind) in &samples.failures {
        *failed.entry(kind.to_string()).or_default() += 1;
    }
    let ended = samples.ended();
    let staged = Staged {
        seconds: seconds(&samples, duration_ms),
        left: (samples.lag_us.len() as u64).saturating_sub(ended),
        connect_us: Sorted::new(samples.connect_us.into_iter()).latency(),
        send_lag_us: Sorted::new(samples.lag_us.into_iter()).latency(),
        busiest_cores: None,
    };
    Ok(LoadSample {
        succeeded: ended.saturating_sub(samples.failures.len() as u64),
        failed,
        time_taken_s: duration_ms as f64 / 1e3,
        bytes_read: bytes.0,
        bytes_written: Some(bytes.1),
        latency_us,
        quantiles: latency.quantiles(),
        staged: Some(Box::new(staged)),
        ..LoadSample::default()
    })
}

/// The load by the second. What ended after the last one, by k6's own end, counts into it.
fn seconds(samples: &Samples, duration_ms: u64) -> Vec<Second> {
    let count = duration_ms.div_ceil(1_000).max(1) as usize;
    let place = |at_us: u64| ((at_us / SECOND_US) as usize).min(count - 1);
    let mut seconds = vec![Second::default(); count];
    let mut times: Vec<Vec<u64>> = vec![Vec::new(); count];
    for (at_us, us) in &samples.latency {
        times[place(*at_us)].push(*us);
    }
    for (at_us, _) in &samples.failures {
        seconds[place(*at_us)].failed += 1;
    }
    for (at_us, users) in &samples.users {
        seconds[place(*at_us)].users = Some(*users);
    }
    for (second, times) in seconds.iter_mut().zip(times) {
        second.requests = times.len() as u32;
        let sorted = Sorted::new(times.into_iter());
        (second.p50_us, second.p99_us) = (sorted.quantile(0.5), sorted.quantile(0.99));
    }
    seconds
}
