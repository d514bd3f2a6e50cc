//! bombardier 1.2.6, the load generator of the original test.
//!
//! What to know of it: its exit code is 0 even when every request failed; failed requests enter its latencies; its own
//! mean rate is weighted oddly, so the rate is worked out from counts and time; its default client has no limit on the
//! time to connect and repeats a request up to five times where a server closes before the first byte.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{Latency, Load, LoadSample};

/// The tool's arguments for a load on a URL.
pub fn arguments(load: &Load, body: &str, url: &str, format: &[&str]) -> Vec<String> {
    let mut args: Vec<String> =
        ["-c", &load.connections.to_string(), "-d", &format!("{}ms", load.duration_ms)]
            .into_iter()
            .chain([
                "-t",
                &format!("{}ms", load.timeout_ms),
                "-m",
                "POST",
                "-H",
                "Content-Type: application/json",
            ])
            .chain(["-b", body, "-l"])
            .map(str::to_owned)
            .collect();
    args.extend(format.iter().map(|arg| (*arg).to_owned()));
    args.push(url.to_owned());
    args
}

/// Makes the tool print one JSON object and nothing else.
pub const JSON_ONLY: [&str; 4] = ["-o", "json", "-p", "r"];

#[derive(Deserialize)]
struct Output {
    result: Counted,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counted {
    bytes_read: u64,
    time_taken_seconds: f64,
    req1xx: u64,
    req2xx: u64,
    req3xx: u64,
    req4xx: u64,
    req5xx: u64,
    others: u64,
    #[serde(default)]
    errors: Vec<Failure>,
    latency: LatencyUs,
}

#[derive(Deserialize)]
struct Failure {
    description: String,
    count: u64,
}

#[derive(Deserialize)]
struct LatencyUs {
    mean: f64,
    max: f64,
    percentiles: BTreeMap<String, f64>,
}

/// Reads the tool's JSON.
///
/// # Errors
/// It is not the JSON of this version: what is missing.
pub fn parse(text: &str) -> Result<LoadSample> {
    let Output { result } =
        serde_json::from_str(text).context("bombardier's output is not the JSON of version 1.2.6")?;
    ensure!(result.time_taken_seconds > 0.0, "bombardier took no time");
    let percentile = |name: &str| {
        result
            .latency
            .percentiles
            .get(name)
            .copied()
            .with_context(|| format!("bombardier gave no {name}th percentile"))
    };
    let latency_us = Latency {
        mean: result.latency.mean,
        p50: percentile("50")?,
        p90: percentile("90")?,
        p99: percentile("99")?,
        p999: None,
        max: result.latency.max,
    };
    Ok(LoadSample {
        succeeded: result.req2xx,
        failed: failures(&result),
        time_taken_s: result.time_taken_seconds,
        bytes_read: result.bytes_read,
        latency_us,
        quantiles: Vec::new(),
    })
}

/// Failures by kind. Those without a status are in `others`, of which the tool explains as many as it can.
fn failures(result: &Counted) -> BTreeMap<String, u64> {
    let mut failed = BTreeMap::new();
    let statuses =
        [("1xx", result.req1xx), ("3xx", result.req3xx), ("4xx", result.req4xx), ("5xx", result.req5xx)];
    for (status, count) in statuses {
        failed.insert(format!("HTTP {status}"), count);
    }
    let mut unexplained = result.others;
    for failure in &result.errors {
        unexplained = unexplained.saturating_sub(failure.count);
        *failed.entry(without_ports(&failure.description)).or_insert(0) += failure.count;
    }
    failed.insert("unexplained".to_owned(), unexplained);
    failed.retain(|_, count| *count > 0);
    failed
}

/// The description without addresses, since each connection has a port of its own: `read tcp a:1->b:2: i/o timeout`
/// becomes `read tcp: i/o timeout`.
fn without_ports(description: &str) -> String {
    let words = description.split(' ').filter_map(|word| {
        let address =
            word.trim_end_matches(':').rsplit(':').next().is_some_and(|port| port.parse::<u16>().is_ok());
        if address { word.ends_with(':').then_some(":") } else { Some(word) }
    });
    words.collect::<Vec<_>>().join(" ").replace(" :", ":")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: &str = include_str!("../../tests/fixtures/bombardier-1.2.6-clean.json");
    const REFUSED: &str = include_str!("../../tests/fixtures/bombardier-1.2.6-refused.json");

    #[test]
    fn a_clean_window() {
        let sample = parse(CLEAN).unwrap();
        assert_eq!((sample.succeeded, sample.failures()), (227, 0));
        assert_eq!(sample.bytes_read, 33_369);
        assert_eq!(sample.latency_us.p99, 1_229_944.0);
        assert!((sample.requests_per_second() - 227.0 / 1.231_657_425).abs() < 1e-9);
    }

    #[test]
    fn a_server_that_is_not_there() {
        let sample = parse(REFUSED).unwrap();
        assert_eq!(sample.succeeded, 0);
        assert_eq!(
            sample.failed,
            BTreeMap::from([("dial tcp: connect: connection refused".to_owned(), 66_513)])
        );
    }

    #[test]
    fn ports_do_not_split_one_failure_into_many() {
        let two = ["1", "2"]
            .map(|port| without_ports(&format!("read tcp 127.0.0.1:{port}->127.0.0.1:9: i/o timeout")));
        assert_eq!(two, ["read tcp: i/o timeout", "read tcp: i/o timeout"]);
        assert_eq!(without_ports("timeout"), "timeout");
    }

    #[test]
    fn other_text_is_an_error_and_not_a_zero() {
        for text in [
            "",
            "Bombarding http://…",
            "{}",
            &CLEAN.replace("req2xx", "req2yy"),
            &CLEAN.replace("\"99\"", "\"98\""),
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
