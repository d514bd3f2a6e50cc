//! What users in stages saw, worked out from k6's samples: those of the script's metrics, and how many users there
//! were.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Read;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::LATENCY;
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

/// The CSV's columns that are read.
const COLUMNS: [&str; 4] = ["metric_name", "timestamp", "metric_value", "extra_tags"];

/// What is read of a load. Times are in microseconds since k6's clock began, which is when the first users may come.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// When each request ended, and its latency.
    pub latency: Vec<(u64, u64)>,
    /// By how much each request was sent late.
    pub lag_us: Vec<u64>,
    /// How long each connection took.
    pub connect_us: Vec<u64>,
    /// When each failed request ended, and what kind of failure that was.
    pub failures: Vec<(u64, Arc<str>)>,
    /// How many users there were at some moments.
    pub users: Vec<(u64, u32)>,
}

impl Samples {
    /// Reads k6's CSV, with timestamps in microseconds.
    ///
    /// # Errors
    /// It is not that: where, and what is missing.
    pub fn read(csv: impl Read) -> Result<Self> {
        let mut reader = csv::Reader::from_reader(csv);
        let headers = reader.headers()?;
        let mut columns = [0; 4];
        for (column, name) in columns.iter_mut().zip(COLUMNS) {
            let place = headers.iter().position(|header| header == name);
            *column = place.with_context(|| format!("it has no column {name}"))?;
        }
        let row = |(index, record): (usize, csv::Result<csv::StringRecord>)| {
            let record = record?;
            let [metric, at_us, value, tags] = columns.map(|place| record.get(place).unwrap_or_default());
            let numbers = number::<i64>(at_us).and_then(|at_us| Ok((at_us, number::<f64>(value)?)));
            let (at_us, value) = numbers.with_context(|| format!("row {}", index + 2))?;
            Ok((metric.to_owned(), at_us, value, tags.to_owned()))
        };
        let rows: Vec<_> = reader.records().enumerate().map(row).collect::<Result<_>>()?;
        // Every user states what the clock said when its sample was made, so the least of the differences is when it
        // began.
        let began = rows.iter().filter(|(metric, ..)| metric == "rpc_began");
        let began = began.map(|(_, at_us, value, _)| at_us - us(*value) as i64).min();
        let began = began.context("it has no row of rpc_began, so no user came")?;
        let mut samples = Self::default();
        for (metric, at_us, value, tags) in rows {
            // The users before the clock began are those of k6's start.
            let Ok(at_us) = u64::try_from(at_us - began) else { continue };
            match metric.as_str() {
                LATENCY => samples.latency.push((at_us, us(value))),
                "rpc_lag" => samples.lag_us.push(us(value)),
                "rpc_connect" => samples.connect_us.push(us(value)),
                "rpc_failures" => samples.failures.push((at_us, kind(&tags).into())),
                "vus" => samples.users.push((at_us, value as u32)),
                _ => {}
            }
        }
        Ok(samples)
    }

    /// Requests that ended, answered or not.
    pub fn ended(&self) -> u64 {
        self.latency.len() as u64
    }
}

/// Microseconds of a time that the script gives in milliseconds.
fn us(ms: f64) -> u64 {
    (ms.max(0.0) * 1e3).round() as u64
}

/// The kind of a failure, from the tags of its sample.
fn kind(tags: &str) -> &str {
    tags.split('&').find_map(|tag| tag.strip_prefix("kind=")).unwrap_or("unknown")
}

fn number<T: FromStr<Err: Error + Send + Sync + 'static>>(text: &str) -> Result<T> {
    text.parse().with_context(|| format!("{text:?} is no number"))
}
