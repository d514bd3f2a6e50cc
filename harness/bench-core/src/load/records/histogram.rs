//! HdrHistogram interval logs, which load tools print of a closed loop: those of several load hosts are added.

use anyhow::{Context, Result, anyhow};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

/// Significant digits.
const DIGITS: u8 = 3;

/// Reads a line of a log, or a whole log, and gives its first histogram without a tag.
///
/// # Errors
/// There is none in it.
pub fn read(log: &str) -> Result<Histogram<u64>> {
    // A line is one only with its end, which a single line may lack.
    let log = format!("{}\n", log.trim_end());
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        match entry.map_err(|error| anyhow!("it is no HdrHistogram log: {error:?}"))? {
            LogEntry::Interval(interval) if interval.tag().is_none() => {
                let bytes = STANDARD.decode(interval.encoded_histogram()).context("it is no base64")?;
                let histogram = Deserializer::new().deserialize(&mut bytes.as_slice());
                return histogram.map_err(|error| anyhow!("it is no histogram: {error:?}"));
            }
            _ => {}
        }
    }
    Err(anyhow!("the log holds no histogram"))
}

/// All histograms together.
///
/// # Errors
/// They can't be added.
pub fn added(histograms: impl IntoIterator<Item = Histogram<u64>>) -> Result<Histogram<u64>> {
    // One that was read does not grow; a new one does.
    let mut sum = Histogram::new(DIGITS).map_err(|error| anyhow!("no histogram: {error}"))?;
    for histogram in histograms {
        sum.add(&histogram).map_err(|error| anyhow!("histograms that can't be added: {error}"))?;
    }
    Ok(sum)
}
