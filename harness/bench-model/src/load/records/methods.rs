//! Latency by method, of a load whose requests call several.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Record, Sorted};
use crate::load::sample_details::MethodLatency;

/// What is read of a body.
#[derive(Deserialize)]
struct Called {
    method: String,
}

/// The latency of each method, from the records in the order of their bodies, a body a line. A method of which no
/// request has a known time is left out. Nothing where only one method is called: that is the load's own latency.
///
/// # Errors
/// A line is no JSON-RPC call.
pub fn by_method(bodies: &str, records: &[Record]) -> Result<Vec<MethodLatency>> {
    let mut methods: BTreeMap<String, Vec<&Record>> = BTreeMap::new();
    for (body, record) in bodies.lines().zip(records) {
        let called: Called =
            serde_json::from_str(body).with_context(|| format!("a body is no call: {body}"))?;
        methods.entry(called.method).or_default().push(record);
    }
    if methods.len() < 2 {
        return Ok(Vec::new());
    }
    let latency = |(method, records): (String, Vec<&Record>)| {
        let waited = Sorted::new(records.iter().filter_map(|record| record.since_due_us()));
        Some(MethodLatency {
            method,
            requests: records.len() as u64,
            failed: records.iter().filter(|record| record.failure.is_some()).count() as u64,
            latency_us: waited.latency()?,
        })
    };
    Ok(methods.into_iter().filter_map(latency).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(place: u64, took_us: u64, failure: Option<&str>) -> Record {
        Record {
            intended_us: place * 1_000,
            sent_us: Some(place * 1_000 + 5),
            ended_us: Some(place * 1_000 + took_us),
            own_lag_us: Some(5),
            bytes_in: 1,
            failure: failure.map(Into::into),
        }
    }

    #[test]
    fn each_method_has_the_latency_of_its_own_requests_from_when_they_were_due() {
        let (light, heavy) = (r#"{"method":"getBalance","id":1}"#, r#"{"id":2,"method":"getBlocks"}"#);
        let bodies = [light, heavy, light, light].join("\n");
        let records = [
            record(0, 100, None),
            record(1, 9_000, None),
            record(2, 300, Some("timeout")),
            record(3, 200, None),
        ];
        let found = by_method(&bodies, &records).unwrap();
        let seen: Vec<_> = found.iter().map(|of| (of.method.as_str(), of.requests, of.failed)).collect();
        assert_eq!(seen, [("getBalance", 3, 1), ("getBlocks", 1, 0)]);
        assert_eq!((found[0].latency_us.p50, found[0].latency_us.max), (200.0, 300.0));
        assert_eq!(found[1].latency_us.p50, 9_000.0);
    }

    #[test]
    fn one_method_alone_is_the_load_and_a_line_that_is_no_call_an_error() {
        let bodies = r#"{"method":"getBalance"}"#;
        assert_eq!(by_method(bodies, &[record(0, 100, None)]).unwrap(), []);
        assert!(by_method("[]", &[record(0, 100, None)]).is_err());
    }
}
