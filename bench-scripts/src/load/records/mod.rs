//! An open-loop load request by request, whatever tool it came from, and the sample worked out from that.
//!
//! [`kept`] keeps the records, [`histogram`] writes them as HdrHistogram's tools read them. Nothing here reads a tool's output.

pub mod histogram;
pub mod kept;
mod lateness;

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, ensure};

use self::lateness::{Lateness, lateness};
use super::{Bin, Latency, LoadSample, OpenLoad, OpenWindow};

/// Parts that a window is divided into.
const PARTS: u64 = 80;

/// The shortest part, in milliseconds.
const LEAST_PART_MS: u64 = 50;

/// The kind of failure of a request that was due and never sent: the window was over before its turn came. Whose fault that was
/// only a whole window shows; see [`HELD`] and [`TOOL_LATE`].
pub const NOT_SENT: &str = "not sent";

/// In a window, those of [`NOT_SENT`] that the server did not let be sent. It did not serve them, so they are its failures.
pub const HELD: &str = "not sent: the server held all connections";

/// In a window, the others of [`NOT_SENT`]. The window was not at the requested rate, and the server failed none of them.
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
    /// Bytes of its answer's body.
    pub bytes_in: u64,
    /// Why it failed; `None` where it was answered with a 2xx status.
    pub failure: Option<Arc<str>>,
}

impl Record {
    /// A request of which no more is known than when it was due and why it failed.
    pub fn failed(intended_us: u64, kind: &Arc<str>) -> Self {
        Self { intended_us, sent_us: None, ended_us: None, bytes_in: 0, failure: Some(kind.clone()) }
    }

    /// Whether it was sent, known when or not.
    pub fn was_sent(&self) -> bool {
        !matches!(self.failure.as_deref(), Some(NOT_SENT | EXHAUSTED))
    }

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

/// Probabilities that a sample's quantile function is given at: those of `bombardier.template`.
const PROBABILITIES: [f64; 55] = [
    0.0, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65,
    0.7, 0.75, 0.8, 0.85, 0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99, 0.991, 0.992, 0.993,
    0.994, 0.995, 0.996, 0.997, 0.998, 0.999, 0.9991, 0.9992, 0.9993, 0.9994, 0.9995, 0.9996, 0.9997, 0.9998,
    0.9999, 0.99995, 0.99999, 0.999995, 0.999999, 1.0,
];

/// Works a window's sample out. Requests that succeeded and those that failed are together all that were due.
///
/// # Errors
/// There are fewer records than requests that were due, or none whose time is known, so that there is no latency.
pub fn sample(records: &[Record], load: &OpenLoad) -> Result<LoadSample> {
    ensure!(
        records.len() as u64 >= load.intended(),
        "{} records of {} requests that were due",
        records.len(),
        load.intended()
    );
    let mut failed: BTreeMap<String, u64> = BTreeMap::new();
    for kind in records.iter().filter_map(|record| record.failure.as_deref()) {
        // A kind is looked up before it is copied: there may be hundreds of thousands.
        match failed.get_mut(kind) {
            Some(count) => *count += 1,
            None => {
                failed.insert(kind.to_owned(), 1);
            }
        }
    }
    let waited = Sorted::new(records.iter().filter_map(Record::since_due_us));
    let served = Sorted::new(records.iter().filter_map(Record::since_sent_us));
    let lag = Sorted::new(records.iter().filter_map(Record::lag_us));
    let (Some(latency_us), Some(from_send_us), Some(send_lag_us)) =
        (waited.latency(), served.latency(), lag.latency())
    else {
        let kinds: Vec<String> = failed.iter().map(|(kind, count)| format!("{count} x {kind}")).collect();
        anyhow::bail!("no request has a known time, so there are no latencies; failed: {}", kinds.join(", "));
    };
    let Lateness { own_us, held } = lateness(records, load);
    if let Some(count) = failed.remove(NOT_SENT) {
        let of = [(HELD, held), (TOOL_LATE, count - held)];
        failed.extend(
            of.into_iter().filter(|(_, count)| *count > 0).map(|(kind, count)| (kind.to_owned(), count)),
        );
    }
    let own_lag = Sorted::new(own_us.into_iter());
    let sent = records.iter().filter(|record| record.was_sent()).count() as u64;
    let last_ended_us = records.iter().filter_map(|record| record.ended_us).max().unwrap_or(0);
    Ok(LoadSample {
        succeeded: records.iter().filter(|record| record.failure.is_none()).count() as u64,
        failed,
        time_taken_s: last_ended_us.max(load.duration_ms * 1_000) as f64 / 1e6,
        bytes_read: records.iter().map(|record| record.bytes_in).sum(),
        bytes_written: None,
        latency_us,
        quantiles: PROBABILITIES.iter().filter_map(|of| Some((*of, waited.quantile(*of)?))).collect(),
        open: Some(OpenWindow {
            requested_rate: f64::from(load.rate),
            achieved_rate: sent as f64 / sending_s(records, load.rate),
            intended: records.len() as u64,
            sent,
            send_lag_us: Some(send_lag_us),
            own_lag_us: own_lag.latency(),
            from_send_us,
        }),
        series: series(records, load.duration_ms),
    })
}

/// The window in parts by when requests were due, so that a change within it is seen. A part without an answer is left out.
fn series(records: &[Record], duration_ms: u64) -> Vec<Bin> {
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

/// From when the first request was due to when the last was sent, and the time that the last stands for, in seconds; no less than
/// all requests were due in, because of some that were sent it is not known when.
fn sending_s(records: &[Record], rate: u32) -> f64 {
    let first_us = records.iter().map(|record| record.intended_us).min().unwrap_or(0);
    let last_us = records.iter().filter_map(|record| record.sent_us).max().unwrap_or(first_us);
    let due_s = records.len() as f64 / f64::from(rate);
    (last_us.saturating_sub(first_us) as f64 / 1e6 + 1.0 / f64::from(rate)).max(due_s)
}

/// Times, sorted, in microseconds.
struct Sorted(Vec<u64>);

impl Sorted {
    fn new(times_us: impl Iterator<Item = u64>) -> Self {
        let mut sorted: Vec<u64> = times_us.collect();
        sorted.sort_unstable();
        Self(sorted)
    }

    /// The smallest time that so large a share of all does not exceed.
    fn quantile(&self, probability: f64) -> Option<f64> {
        let count = self.0.len();
        // A hair less, since 0.999 of 1,000 is not quite 999.
        let rank = (probability * count as f64 - 1e-6).ceil().max(1.0) as usize;
        self.0.get(rank.min(count).checked_sub(1)?).map(|us| *us as f64)
    }

    fn latency(&self) -> Option<Latency> {
        Some(Latency {
            mean: self.0.iter().sum::<u64>() as f64 / self.0.len() as f64,
            p50: self.quantile(0.5)?,
            p90: self.quantile(0.9)?,
            p99: self.quantile(0.99)?,
            p999: Some(self.quantile(0.999)?),
            max: self.quantile(1.0)?,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::load::bombardier;

    pub(in crate::load) fn load(rate: u32, duration_ms: u64) -> OpenLoad {
        OpenLoad { rate, connections: 10, duration_ms, timeout_ms: 1_000 }
    }

    pub(in crate::load) fn answered(intended_us: u64, lag_us: u64, took_us: u64) -> Record {
        let sent_us = intended_us + lag_us;
        let times = (Some(sent_us), Some(sent_us + took_us));
        Record { intended_us, sent_us: times.0, ended_us: times.1, bytes_in: 40, failure: None }
    }

    #[test]
    fn the_probabilities_are_those_of_the_template() {
        let list = bombardier::TEMPLATE.split("FloatsToArray").nth(1).unwrap().split(')').next().unwrap();
        let theirs: Vec<f64> = list.split_whitespace().map(|word| word.parse().unwrap()).collect();
        assert_eq!(theirs, PROBABILITIES);
    }

    #[test]
    fn quantiles_are_exact() {
        let thousand = Sorted::new((1..=1_000).rev());
        let of = |probability| thousand.quantile(probability).unwrap();
        assert_eq!((of(0.0), of(0.001), of(0.5), of(0.99)), (1.0, 1.0, 500.0, 990.0));
        assert_eq!((of(0.999), of(0.9991), of(1.0)), (999.0, 1_000.0, 1_000.0));
        assert_eq!(Sorted::new([7].into_iter()).quantile(0.5), Some(7.0));
        assert_eq!(Sorted::new(std::iter::empty()).quantile(0.5), None);
    }

    #[test]
    fn a_wait_before_the_send_counts_from_when_a_request_was_due() {
        // A hundred a second for a second; the server takes 1 ms, and from the 50th to the 70th nothing could be sent.
        let records: Vec<Record> = (0..100)
            .map(|i| {
                let lag_us = if (50..70).contains(&i) { 10_000 * (70 - i) } else { 100 };
                answered(10_000 * i, lag_us, 1_000)
            })
            .collect();
        let sample = sample(&records, &load(100, 1_000)).unwrap();
        let open = sample.open.unwrap();
        assert_eq!((sample.succeeded, sample.failures(), open.intended, open.sent), (100, 0, 100, 100));
        assert_eq!((sample.latency_us.p50, sample.latency_us.max), (1_100.0, 201_000.0));
        assert_eq!((sample.latency_us.p90, open.from_send_us.max), (101_000.0, 1_000.0));
        assert_eq!(open.send_lag_us.unwrap().max, 200_000.0);
        assert_eq!(sample.quantiles.len(), PROBABILITIES.len());
        assert_eq!((sample.bytes_read, sample.time_taken_s), (4_000, 1.0));
        // The last was due at 990 ms and sent 0.1 ms late.
        assert!((open.achieved_rate - 100.0 / (0.9901 + 0.01)).abs() < 1e-9, "{}", open.achieved_rate);
    }

    #[test]
    fn what_was_not_sent_is_a_failure_and_no_latency() {
        let not_sent: Arc<str> = NOT_SENT.into();
        let refused: Arc<str> = "refused".into();
        let mut records: Vec<Record> = (0..60).map(|i| answered(10_000 * i, 0, 500)).collect();
        records[3].failure = Some(refused.clone());
        records.extend((60..62).map(|i| Record::failed(10_000 * i, &refused)));
        records.extend((62..100).map(|i| Record::failed(10_000 * i, &not_sent)));
        let sample = sample(&records, &load(100, 1_000)).unwrap();
        assert_eq!((sample.succeeded, sample.failures()), (59, 41));
        assert_eq!(sample.failed, BTreeMap::from([(TOOL_LATE.to_owned(), 38), ("refused".to_owned(), 3)]));
        assert_eq!(sample.open.unwrap().sent, 62);
        assert_eq!(sample.latency_us.max, 500.0);
    }

    #[test]
    fn without_a_known_time_there_is_no_sample() {
        let records: Vec<Record> = (0..10).map(|i| Record::failed(i, &"refused".into())).collect();
        let error = sample(&records, &load(10, 1_000)).unwrap_err().to_string();
        assert!(error.ends_with("failed: 10 x refused"), "{error}");
        assert!(sample(&records, &load(11, 1_000)).unwrap_err().to_string().contains("10 records of 11"));
    }
}
