//! k6's samples, from its CSV: those of the script's metrics, and how many users there were.

use std::io::Read;
use std::sync::Arc;

use anyhow::{Context, Result};

use super::LATENCY;

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

/// A row of the CSV.
struct Row {
    metric: String,
    at_us: i64,
    value: f64,
    tags: String,
}

impl Samples {
    /// Reads k6's CSV, with timestamps in microseconds.
    ///
    /// # Errors
    /// It is not that: where, and what is missing.
    pub fn read(csv: impl Read) -> Result<Self> {
        let mut reader = csv::Reader::from_reader(std::io::BufReader::new(csv));
        let columns = Columns::of(reader.headers()?)?;
        let rows = reader
            .records()
            .enumerate()
            .map(|(index, record)| columns.row(&record?).with_context(|| format!("row {}", index + 2)));
        let rows: Vec<Row> = rows.collect::<Result<_>>()?;
        // Every user states what the clock said when its sample was made, so the least of the differences is when it
        // began.
        let began = |row: &Row| (row.metric == "rpc_began").then(|| row.at_us - us(row.value) as i64);
        let began =
            rows.iter().filter_map(began).min().context("it has no row of rpc_began, so no user came")?;
        let mut samples = Self::default();
        for Row { metric, at_us, value, tags } in rows {
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

/// Where the CSV's columns are.
struct Columns([usize; 4]);

impl Columns {
    fn of(headers: &csv::StringRecord) -> Result<Self> {
        let place = |name: &str| {
            let place = headers.iter().position(|header| header == name);
            place.with_context(|| format!("it has no column {name}"))
        };
        Ok(Self([place("metric_name")?, place("timestamp")?, place("metric_value")?, place("extra_tags")?]))
    }

    fn row(&self, record: &csv::StringRecord) -> Result<Row> {
        let [metric, at_us, value, tags] =
            self.0.map(|place| record.get(place).unwrap_or_default().to_owned());
        let number = |text: &str| format!("{text:?} is no number");
        Ok(Row {
            at_us: at_us.parse().with_context(|| number(&at_us))?,
            value: value.parse().with_context(|| number(&value))?,
            metric,
            tags,
        })
    }
}
