//! An open-loop load request by request, whatever tool it came from, and the sample worked out from that.
//!
//! [`kept`] keeps the records. Nothing here reads a tool's output, but for its [`histogram`].

pub mod histogram;
pub mod kept;
mod lateness;
#[cfg(test)]
pub(super) mod tests;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};

use self::lateness::lateness;
use super::sample_details::Details;
use super::silences::silences_between;
use super::{Bin, Latency, Load, LoadSample, OpenWindow};

/// Parts that a window is divided into.
const PARTS: u64 = 80;

/// The shortest part, in milliseconds.
const LEAST_PART_MS: u64 = 50;

/// The kind of failure of a request that was due and never sent: the window was over before its turn came. Whose fault
/// that was only a whole window shows; see [`HELD`] and [`TOOL_LATE`].
pub const NOT_SENT: &str = "not sent";

/// In a window, those of [`NOT_SENT`] that the server did not let be sent. It did not serve them, so they are its
/// failures.
pub const HELD: &str = "not sent: the server held all connections";

/// In a window, the others of [`NOT_SENT`]. The window was not at the requested rate, and the server failed none of
/// them.
pub const TOOL_LATE: &str = "not sent: the load tool was late";

/// The kind of failure of a request that was due after the last body.
pub const EXHAUSTED: &str = "target stream exhausted";

/// One request. Times are in microseconds since the window began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// When it was due.
    pub intended_us: u64,
    /// When it was sent, never before it was due; `None` where it was not, or the tool does not report it.
    pub sent_us: Option<u64>,
    /// When it ended, by its answer or by its failure; known only where `sent_us` is.
    pub ended_us: Option<u64>,
    /// By how much it was sent late, or how long it waited in vain, by the tool's own fault; `None` where the tool does
    /// not report it.
    pub own_lag_us: Option<u64>,
    /// Bytes of its answer's body.
    pub bytes_in: u64,
    /// Why it failed; `None` where it was answered with a 2xx status.
    pub failure: Option<Arc<str>>,
}

impl Record {
    /// A request of which no more is known than when it was due and why it failed.
    pub fn failed(intended_us: u64, kind: &Arc<str>) -> Self {
        Self {
            intended_us,
            sent_us: None,
            ended_us: None,
            own_lag_us: None,
            bytes_in: 0,
            failure: Some(kind.clone()),
        }
    }

    /// Whether it was sent, known when or not.
    pub fn was_sent(&self) -> bool {
        !matches!(self.failure.as_deref(), Some(NOT_SENT | EXHAUSTED))
    }

    /// How late it was sent, in microseconds.
    fn lag_us(&self) -> Option<u64> {
        Some(self.sent_us?.saturating_sub(self.intended_us))
    }

    fn since_sent_us(&self) -> Option<u64> {
        Some(self.ended_us?.saturating_sub(self.sent_us?))
    }

    fn since_due_us(&self) -> Option<u64> {
        Some(self.ended_us?.saturating_sub(self.intended_us))
    }
}

/// The requests of these places in a window's order that were not sent: there were bodies for the first `bodies` of
/// all.
pub(super) fn not_sent(
    places: Range<u64>,
    bodies: u64,
    due_us: impl Fn(u64) -> u64,
) -> impl Iterator<Item = Record> {
    let (not_sent, exhausted): (Arc<str>, Arc<str>) = (NOT_SENT.into(), EXHAUSTED.into());
    places
        .map(move |place| Record::failed(due_us(place), if place < bodies { &not_sent } else { &exhausted }))
}

/// Probabilities that a sample's quantile function is given at: those of `bombardier.template`.
pub(super) const PROBABILITIES: [f64; 55] = [
    0.0, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65,
    0.7, 0.75, 0.8, 0.85, 0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99, 0.991, 0.992, 0.993,
    0.994, 0.995, 0.996, 0.997, 0.998, 0.999, 0.9991, 0.9992, 0.9993, 0.9994, 0.9995, 0.9996, 0.9997, 0.9998,
    0.9999, 0.99995, 0.99999, 0.999995, 0.999999, 1.0,
];

/// Works a window's sample out. Requests that succeeded and those that failed are together all that were due.
///
/// # Errors
/// There are fewer records than requests that were due, or none whose time is known, so that there is no latency.
pub fn sample(records: &[Record], load: &Load) -> Result<LoadSample> {
    merged(&[(records, load)], load)
}

/// Works a window's sample out that several hosts sent, each its share. Quantiles are those of all records together;
/// which of the late ones are a tool's own is found host by host, since each has connections of its own.
///
/// # Errors
/// As of [`sample`], of any host.
pub fn merged(shares: &[(&[Record], &Load)], load: &Load) -> Result<LoadSample> {
    let rate = load.rate.context("records of a closed loop")?;
    let (mut failed, mut own_us) = (BTreeMap::<String, u64>::new(), Vec::new());
    for (records, share) in shares {
        ensure!(
            records.len() as u64 >= share.intended(),
            "{} records of {} requests that were due",
            records.len(),
            share.intended()
        );
        let late = lateness(records, share);
        own_us.extend(late.own_us);
        add_failed(&mut failed, records, late.held);
    }
    let records: Vec<&Record> = shares.iter().flat_map(|(records, _)| records.iter()).collect();
    let waited = Sorted::new(records.iter().filter_map(|record| record.since_due_us()));
    let served = Sorted::new(records.iter().filter_map(|record| record.since_sent_us()));
    let lag = Sorted::new(records.iter().filter_map(|record| record.lag_us()));
    let (Some(latency_us), Some(from_send_us), Some(send_lag_us)) =
        (waited.latency(), served.latency(), lag.latency())
    else {
        let kinds: Vec<String> = failed.iter().map(|(kind, count)| format!("{count} x {kind}")).collect();
        anyhow::bail!("no request has a known time, so there are no latencies; failed: {}", kinds.join(", "));
    };
    let own_lag = Sorted::new(own_us.into_iter());
    let answered = records.iter().filter(|record| record.failure.is_none());
    let answered_us = answered.filter_map(|record| record.ended_us);
    let sent = records.iter().filter(|record| record.was_sent()).count() as u64;
    let last_ended_us = records.iter().filter_map(|record| record.ended_us).max().unwrap_or(0);
    Ok(LoadSample {
        succeeded: records.iter().filter(|record| record.failure.is_none()).count() as u64,
        failed,
        time_taken_s: last_ended_us.max(load.duration_ms * 1_000) as f64 / 1e6,
        bytes_read: records.iter().map(|record| record.bytes_in).sum(),
        latency_us,
        quantiles: waited.quantiles(),
        open: Some(OpenWindow {
            requested_rate: f64::from(rate),
            achieved_rate: sent as f64 / sending_s(&records, rate),
            intended: records.len() as u64,
            sent,
            send_lag_us: Some(send_lag_us),
            own_lag_us: own_lag.latency(),
            from_send_us,
        }),
        series: series(&records, load.duration_ms),
        details: Details { silences: silences_between(answered_us, load.duration_ms), ..Details::default() },
        ..LoadSample::default()
    })
}

/// Adds why a host's requests failed. Those that were never sent are its load tool's but for the `held` ones, which are
/// the server's.
fn add_failed(failed: &mut BTreeMap<String, u64>, records: &[Record], held: u64) {
    // A kind is counted before it is copied: there may be hundreds of thousands.
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for kind in records.iter().filter_map(|record| record.failure.as_deref()) {
        *counts.entry(kind).or_default() += 1;
    }
    let late = counts.remove(NOT_SENT).unwrap_or(0) - held;
    for (kind, count) in counts.into_iter().chain([(HELD, held), (TOOL_LATE, late)]) {
        if count > 0 {
            *failed.entry(kind.to_owned()).or_default() += count;
        }
    }
}

/// The window in parts by when requests were due, so that a change within it is seen. A part without an answer is left
/// out.
fn series(records: &[&Record], duration_ms: u64) -> Vec<Bin> {
    let width_ms = (duration_ms / PARTS).max(LEAST_PART_MS);
    let mut parts: BTreeMap<u64, (Vec<u64>, u32)> = BTreeMap::new();
    for record in records {
        if let Some(us) = record.since_due_us() {
            let (times, answered) = parts.entry(record.intended_us / 1_000 / width_ms).or_default();
            times.push(us);
            *answered += u32::from(record.failure.is_none());
        }
    }
    let bin = |(part, (times, answered)): (u64, (Vec<u64>, u32))| {
        let requests = times.len() as u32;
        let sorted = Sorted::new(times.into_iter());
        Some(Bin {
            from_ms: (part * width_ms) as u32,
            requests,
            answered: Some(answered),
            p50_us: sorted.quantile(0.5)?,
            p99_us: sorted.quantile(0.99)?,
            max_us: sorted.quantile(1.0)?,
        })
    };
    parts.into_iter().filter_map(bin).collect()
}

/// From when the first request was due to when the last was sent, and the time that the last stands for, in seconds; no
/// less than all requests were due in, because of some that were sent it is not known when.
fn sending_s(records: &[&Record], rate: u32) -> f64 {
    let first_us = records.iter().map(|record| record.intended_us).min().unwrap_or(0);
    let last_us = records.iter().filter_map(|record| record.sent_us).max().unwrap_or(first_us);
    let due_s = records.len() as f64 / f64::from(rate);
    (last_us.saturating_sub(first_us) as f64 / 1e6 + 1.0 / f64::from(rate)).max(due_s)
}

/// Times, sorted, in microseconds.
pub(super) struct Sorted(Vec<u64>);

impl Sorted {
    pub(super) fn new(times_us: impl Iterator<Item = u64>) -> Self {
        let mut sorted: Vec<u64> = times_us.collect();
        sorted.sort_unstable();
        Self(sorted)
    }

    /// The smallest time that so large a share of all does not exceed.
    pub(super) fn quantile(&self, probability: f64) -> Option<f64> {
        let count = self.0.len();
        // A hair less, since 0.999 of 1,000 is not quite 999.
        let rank = (probability * count as f64 - 1e-6).ceil().max(1.0) as usize;
        self.0.get(rank.min(count).checked_sub(1)?).map(|us| *us as f64)
    }

    /// The quantile function, where there are times.
    pub(super) fn quantiles(&self) -> Vec<(f64, f64)> {
        PROBABILITIES.iter().filter_map(|of| Some((*of, self.quantile(*of)?))).collect()
    }

    pub(super) fn latency(&self) -> Option<Latency> {
        let mean = self.0.iter().sum::<u64>() as f64 / self.0.len() as f64;
        let quantile = |probability| self.quantile(probability).context("no time");
        Latency::of(mean, self.quantile(1.0)?, quantile).ok()
    }
}
