//! Records as a run keeps them: a gzipped CSV of differences, about 4 bytes a request.
//!
//! A line is a request, in the order in which they were due: `due` counts from the line before, `lag` from when it was
//! due to when it was sent, `took` from there to its end, all in microseconds; then the bytes of the answer's body, why
//! it failed, and the part of the lag that is the tool's own, where it reports that. What is not known is left empty.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use super::Record;

#[derive(Serialize, Deserialize)]
struct Line<'a> {
    due_us: u64,
    lag_us: Option<u64>,
    took_us: Option<u64>,
    bytes: u64,
    failure: Option<&'a str>,
    /// Of tools that record it.
    own_lag_us: Option<u64>,
}

/// Writes a file, in place of what a trial that was cut off has left.
///
/// # Errors
/// It can't be written, or the records are not in the order in which they were due.
pub fn write(path: &Path, records: &[Record]) -> Result<()> {
    let context = || format!("can't write {}", path.display());
    let file = File::create(path).with_context(context)?;
    write_to(BufWriter::new(file), records).with_context(context)
}

fn write_to(out: impl Write, records: &[Record]) -> Result<()> {
    let mut lines = csv::Writer::from_writer(GzEncoder::new(out, Compression::default()));
    let mut previous_us = 0;
    for record in records {
        let due_us = record.intended_us.checked_sub(previous_us);
        lines.serialize(Line {
            due_us: due_us.context("the records are not in the order in which they were due")?,
            lag_us: record.lag_us(),
            took_us: record.since_sent_us(),
            bytes: record.bytes_in,
            failure: record.failure.as_deref(),
            own_lag_us: record.own_lag_us,
        })?;
        previous_us = record.intended_us;
    }
    let compressed = lines.into_inner().map_err(|error| error.into_error())?;
    compressed.finish()?.flush()?;
    Ok(())
}

/// Reads what [`write`] wrote.
///
/// # Errors
/// It can't be read, or is something else.
pub fn read(path: &Path) -> Result<Vec<Record>> {
    let context = || format!("can't read {}", path.display());
    let file = File::open(path).with_context(context)?;
    read_from(BufReader::new(file)).with_context(context)
}

fn read_from(kept: impl Read) -> Result<Vec<Record>> {
    let mut lines = csv::Reader::from_reader(GzDecoder::new(kept));
    let head = lines.headers()?.clone();
    let mut text = csv::StringRecord::new();
    let mut records: Vec<Record> = Vec::new();
    let mut kinds: Vec<Arc<str>> = Vec::new();
    let mut intended_us = 0;
    while lines.read_record(&mut text)? {
        let line: Line<'_> = text.deserialize(Some(&head))?;
        intended_us += line.due_us;
        let sent_us = line.lag_us.map(|lag_us| intended_us + lag_us);
        records.push(Record {
            intended_us,
            sent_us,
            ended_us: sent_us.zip(line.took_us).map(|(sent_us, took_us)| sent_us + took_us),
            own_lag_us: line.own_lag_us,
            bytes_in: line.bytes,
            failure: line.failure.map(|kind| shared(&mut kinds, kind)),
        });
    }
    Ok(records)
}

/// The kind, which many records share.
pub(in crate::load) fn shared(kinds: &mut Vec<Arc<str>>, kind: &str) -> Arc<str> {
    if let Some(known) = kinds.iter().find(|known| known.as_ref() == kind) {
        return known.clone();
    }
    let new: Arc<str> = kind.into();
    kinds.push(new.clone());
    new
}

#[cfg(test)]
mod tests {

    use super::super::NOT_SENT;
    use super::super::tests::answered;
    use super::*;

    fn back(records: &[Record]) -> Vec<Record> {
        let mut out = Vec::new();
        write_to(&mut out, records).unwrap();
        read_from(out.as_slice()).unwrap()
    }

    #[test]
    fn what_was_written_is_read() {
        let mut records: Vec<Record> = (0..5).map(|i| answered(333 * i, 20 + i, 400 + 7 * i)).collect();
        records[1].failure = Some("a \"kind\", with a comma".into());
        records[2] = Record::failed(666, &NOT_SENT.into());
        records[3].ended_us = None;
        records[4].own_lag_us = Some(3);
        assert_eq!(back(&records), records);
        assert_eq!(back(&[]), []);
    }

    #[test]
    fn records_out_of_order_are_refused() {
        assert!(write_to(Vec::new(), &[answered(2, 0, 1), answered(1, 0, 1)]).is_err());
    }

    #[test]
    fn a_file_that_is_something_else_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("records.csv.gz");
        write(&path, &[answered(0, 1, 2)]).unwrap();
        assert_eq!(read(&path).unwrap(), [answered(0, 1, 2)]);
        std::fs::write(&path, "not this").unwrap();
        assert!(read(&path).is_err());
    }
}
