//! A window's latencies as an HdrHistogram interval log, which HdrHistogram's own tools read and merge.
//!
//! One interval, the window, with two histograms of microseconds to three significant digits: the latency from when a
//! request was due, and, tagged `from-send`, from when it was sent. For exchange and charts; a sample's quantiles are
//! exact and do not come from here.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, anyhow};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{
    IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, Tag,
};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};

use super::Record;

/// What the tag of the second histogram says.
const FROM_SEND: &str = "from-send";

/// Significant digits.
const DIGITS: u8 = 3;

/// Writes a file, in place of what a trial that was cut off has left; `began` is when the window did.
///
/// # Errors
/// It can't be written.
pub fn write(path: &Path, records: &[Record], began: SystemTime, window: Duration) -> Result<()> {
    let context = || format!("can't write {}", path.display());
    let file = File::create(path).with_context(context)?;
    let mut out = BufWriter::new(file);
    write_to(&mut out, records, began, window).with_context(context)?;
    out.flush().with_context(context)
}

fn write_to(out: &mut impl Write, records: &[Record], began: SystemTime, window: Duration) -> Result<()> {
    let from_intended = of(records.iter().filter_map(Record::since_due_us))?;
    let from_send = of(records.iter().filter_map(Record::since_sent_us))?;
    let tag = Tag::new(FROM_SEND).context("a tag that can't be written")?;
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("[Values in microseconds, their maxima in milliseconds]")
        .with_start_time(began)
        .with_max_value_divisor(1_000.0)
        .begin_log_with(out, &mut serializer)?;
    let failed = |error| anyhow!("the histogram can't be serialised: {error:?}");
    log.write_histogram(&from_intended, Duration::ZERO, window, None).map_err(failed)?;
    log.write_histogram(&from_send, Duration::ZERO, window, Some(tag)).map_err(failed)?;
    Ok(())
}

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
    let mut sum = empty()?;
    for histogram in histograms {
        sum.add(&histogram).map_err(|error| anyhow!("histograms that can't be added: {error}"))?;
    }
    Ok(sum)
}

/// A histogram that grows with what it is given.
fn empty() -> Result<Histogram<u64>> {
    Histogram::new(DIGITS).map_err(|error| anyhow!("no histogram: {error}"))
}

fn of(times_us: impl Iterator<Item = u64>) -> Result<Histogram<u64>> {
    let mut histogram = empty()?;
    for us in times_us {
        histogram.record(us).map_err(|error| anyhow!("a latency of {us} µs: {error}"))?;
    }
    Ok(histogram)
}

#[cfg(test)]
mod tests {
    use super::super::tests::answered;
    use super::*;

    #[test]
    fn the_log_holds_both_latencies() {
        let mut records: Vec<Record> = (0..1_000).map(|i| answered(100 * i, 1_000 + i, 500)).collect();
        records.push(Record::failed(100_000, &"not sent".into()));
        let mut out = Vec::new();
        write_to(&mut out, &records, SystemTime::UNIX_EPOCH, Duration::from_secs(1)).unwrap();
        let mut found = Vec::new();
        for entry in IntervalLogIterator::new(&out) {
            if let LogEntry::Interval(interval) = entry.unwrap() {
                assert_eq!(interval.duration(), Duration::from_secs(1));
                let bytes = STANDARD.decode(interval.encoded_histogram()).unwrap();
                let histogram: Histogram<u64> =
                    Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
                found.push((interval.tag().map(|tag| tag.as_str().to_owned()), histogram));
            }
        }
        let [(None, waited), (Some(tag), served)] = found.as_slice() else { panic!("{}", found.len()) };
        assert_eq!((tag.as_str(), waited.len(), served.len()), ("from-send", 1_000, 1_000));
        assert_eq!((served.min(), served.max()), (500, 500));
        // Three digits: 2,499 µs falls into a bucket of 2 µs.
        assert!(waited.equivalent(waited.max(), 2_499) && waited.equivalent(waited.min(), 1_500));
        assert!(out.len() < 10_000, "{}", out.len());
    }
}
