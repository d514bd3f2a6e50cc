//! What a server counts itself: its metrics, in Prometheus' text format.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::client::agent;
use bench_core::target::Target;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Calls that a server says it has answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerCounts {
    /// Calls answered, with a result or an error.
    pub requests: u64,
    /// Those answered with a JSON-RPC error.
    pub errors: u64,
}

/// Reads a server's own counts from its metrics.
pub fn server_counts(metrics: &Target) -> Result<ServerCounts> {
    parse_counts(&read(metrics)?)
        .with_context(|| format!("{metrics} lacks rpc_requests_total or rpc_errors_total"))
}

/// Where the counters of an address are. A server of this project leaves out there what takes it longer to find out
/// than to add up, since they are read in the middle of a window; any other server gives what it has.
pub fn at(addr: &str) -> Target {
    Target::http(addr).with_path("/metrics?collect=counters")
}

fn read(metrics: &Target) -> Result<String> {
    agent(TIMEOUT)
        .get(metrics.url())
        .header("connection", "close")
        .call()
        .with_context(|| format!("no answer from {metrics}"))?
        .body_mut()
        .read_to_string()
        .with_context(|| format!("half an answer from {metrics}"))
}

/// Prometheus text: on each line that is no comment a name, a value, which is a float, and perhaps a time.
fn value(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    let number: f64 = line.split_whitespace().next()?.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number as u64)
}

fn parse_counts(text: &str) -> Option<ServerCounts> {
    Some(ServerCounts {
        requests: value(text, "rpc_requests_total")?,
        errors: value(text, "rpc_errors_total")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_prometheus_text() {
        let text = "# TYPE rpc_requests_total counter\nrpc_requests_total 12\nrpc_errors_total 3\n";
        assert_eq!(parse_counts(text), Some(ServerCounts { requests: 12, errors: 3 }));
        assert_eq!(parse_counts("rpc_requests_total 12\n"), None);
        assert_eq!(parse_counts("rpc_requests_total NaN\nrpc_errors_total 3\n"), None);
        let floats = "rpc_requests_total 1.25e+06\nrpc_errors_total 0.0 1764284000000\n";
        assert_eq!(parse_counts(floats), Some(ServerCounts { requests: 1_250_000, errors: 0 }));
    }
}
