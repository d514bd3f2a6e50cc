//! The harness's own client: for questions to one server, one at a time. Never for load.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::workload::questions::is_true;

/// How long one question may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Calls that a server says it has answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerCounts {
    /// Calls answered, with a result or an error.
    pub requests: u64,
    /// Those answered with a JSON-RPC error.
    pub errors: u64,
}

/// What a server that counts its own allocations says of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllocationCounts {
    /// Allocations.
    pub allocations: u64,
    /// Bytes that they asked for.
    pub bytes: u64,
}

fn agent(timeout: Duration) -> ureq::Agent {
    ureq::Agent::config_builder().timeout_global(Some(timeout)).http_status_as_error(false).build().into()
}

/// A connection for one question after the other, kept between them and made again where the server closed it.
pub struct Connection {
    agent: ureq::Agent,
    addr: String,
}

impl Connection {
    /// To a server that will be asked; a question is given up after `timeout`.
    pub fn new(addr: &str, timeout: Duration) -> Self {
        Self { agent: agent(timeout), addr: addr.to_owned() }
    }

    /// Sends a JSON-RPC request and gives the status and the text of the answer.
    ///
    /// # Errors
    /// There was no whole answer in time.
    pub fn ask(&self, body: &str) -> Result<(u16, String)> {
        send(&self.addr, self.agent.post(format!("http://{}/", self.addr)), body)
    }
}

/// Sends a JSON-RPC request on a connection of its own and gives the status and the text of the answer.
pub fn ask(addr: &str, body: &str) -> Result<(u16, String)> {
    let request = agent(TIMEOUT).post(format!("http://{addr}/")).header("connection", "close");
    send(addr, request, body)
}

fn send(
    addr: &str,
    request: ureq::RequestBuilder<ureq::typestate::WithBody>,
    body: &str,
) -> Result<(u16, String)> {
    let mut answer = request
        .header("content-type", "application/json")
        .send(body)
        .with_context(|| format!("no answer from {addr}"))?;
    let text = answer
        .body_mut()
        .with_config()
        .limit(64 << 20)
        .read_to_string()
        .with_context(|| format!("half an answer from {addr}"))?;
    Ok((answer.status().as_u16(), text))
}

/// Whether a server's answer is the true one; where not, what it answered instead.
pub fn verify(addr: &str, body: &str, truth: &Value) -> Result<Result<(), String>> {
    let (status, text) = ask(addr, body)?;
    let parsed: Option<Value> = serde_json::from_str(&text).ok();
    if status == 200 && parsed.is_some_and(|answer| is_true(&answer, truth)) {
        return Ok(Ok(()));
    }
    let shown: String = text.chars().take(200).collect();
    Ok(Err(format!("HTTP {status}: {}", shown.trim())))
}

/// Whether a server answers getHealth with `ok`; not while it can't be reached.
pub fn is_healthy(addr: &str) -> bool {
    let answer = ask(addr, r#"{"jsonrpc":"2.0","id":1,"method":"getHealth"}"#);
    let value = |text: String| serde_json::from_str::<Value>(&text).ok();
    answer.ok().and_then(|(_, text)| value(text)).is_some_and(|answer| answer["result"] == "ok")
}

/// Reads a server's own counts from its metrics.
pub fn server_counts(addr: &str) -> Result<ServerCounts> {
    parse_counts(&metrics(addr)?)
        .with_context(|| format!("the metrics of {addr} lack rpc_requests_total or rpc_errors_total"))
}

/// Reads a server's count of its allocations; `None` where it does not count them.
pub fn allocation_counts(addr: &str) -> Result<Option<AllocationCounts>> {
    Ok(parse_allocations(&metrics(addr)?))
}

fn metrics(addr: &str) -> Result<String> {
    agent(TIMEOUT)
        .get(format!("http://{addr}/metrics"))
        .header("connection", "close")
        .call()
        .with_context(|| format!("no metrics from {addr}"))?
        .body_mut()
        .read_to_string()
        .with_context(|| format!("half the metrics from {addr}"))
}

/// Prometheus text: a name and a value on each line that is no comment.
fn value(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.trim().parse().ok()
}

fn parse_counts(text: &str) -> Option<ServerCounts> {
    Some(ServerCounts {
        requests: value(text, "rpc_requests_total")?,
        errors: value(text, "rpc_errors_total")?,
    })
}

fn parse_allocations(text: &str) -> Option<AllocationCounts> {
    Some(AllocationCounts {
        allocations: value(text, "allocations_total")?,
        bytes: value(text, "allocated_bytes_total")?,
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
    }

    #[test]
    fn allocations_are_read_where_they_are_counted() {
        let text = "rpc_requests_total 12\nallocations_total 90\nallocated_bytes_total 1234\n";
        assert_eq!(parse_allocations(text), Some(AllocationCounts { allocations: 90, bytes: 1_234 }));
        assert_eq!(parse_allocations("rpc_requests_total 12\n"), None);
    }
}
