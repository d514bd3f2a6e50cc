//! k6's samples, from its CSV: those of the script's metrics, and how many users there were.

use std::error::Error;
use std::io::Read;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, Result};

use super::LATENCY;

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
