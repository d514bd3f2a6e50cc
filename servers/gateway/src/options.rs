//! The command line.

use std::net::SocketAddr;
use std::time::Duration;

use axum::http::Uri;
use clap::Parser;
use serde::Serialize;
use serde_json::Value;

/// A JSON-RPC gateway: passes requests on to a node, over HTTP or over WebSocket.
#[derive(Debug, Clone, Parser, Serialize)]
#[command(name = "server-gateway", version)]
pub struct Options {
    /// Address to listen on; port 0 takes any free port.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8890")]
    #[serde(skip)]
    pub listen: SocketAddr,
    /// The node: `http://HOST:PORT/`, or `ws://HOST:PORT/` for one WebSocket that all HTTP callers share. With a ws:// upstream the
    /// gateway takes WebSocket connections too.
    #[arg(long, value_name = "URL", value_parser = upstream)]
    #[serde(serialize_with = "as_text")]
    pub upstream: Uri,
    /// Threads that answer; the number of cores where left out.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1_024))]
    pub threads: Option<u16>,
    /// How long the node may take to answer, in milliseconds. Then the caller gets 504.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=600_000))]
    pub timeout_ms: u64,
    /// Requests that wait for the node at most, but for those of callers' WebSockets; a caller beyond gets 503.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub max_in_flight: u32,
    /// The longest request, in bytes. A caller with a longer one gets 413, and its WebSocket is closed.
    #[arg(long, default_value_t = 51_200, value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    pub max_body_bytes: u32,
    /// The longest answer of the node, in bytes: one with half a million slots has about 5 MB. A longer one over HTTP is 502 to its
    /// caller; over WebSocket it ends the connection that it comes on.
    #[arg(long, default_value_t = 64 << 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_answer_bytes: u32,
    /// Calls a second that are passed on, for all callers together; each entry of a batch is one. A caller beyond gets 429 [default: no
    /// limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rate_limit: Option<u32>,
    /// Calls that may come at once, which bounds a batch too [default: as many as --rate-limit]
    #[arg(long, value_name = "N", requires = "rate_limit", value_parser = clap::value_parser!(u32).range(1..))]
    pub rate_burst: Option<u32>,
    /// How long the answer to a call that only reads (get…, is…) is kept for the next one who sends the same call over HTTP, in
    /// milliseconds [default: no answer is kept]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    pub cache_ms: Option<u64>,
    /// Memory for kept answers, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub cache_mib: u64,
    /// Address of the counters, as Prometheus reads them [default: none]
    #[arg(long, value_name = "ADDR")]
    #[serde(skip)]
    pub metrics: Option<SocketAddr>,
    /// Time every call that comes over HTTP for the metrics: a histogram by method and outcome, and calls in flight; costs CPU time in
    /// each call
    #[arg(long, requires = "metrics")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub metrics_calls: bool,
}

impl Options {
    /// [`Options::timeout_ms`].
    pub const fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// Whether the node is reached over WebSocket.
    pub fn is_websocket(&self) -> bool {
        self.upstream.scheme_str() == Some("ws")
    }

    /// The settings that hold, for the ready line.
    pub fn settings(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

fn upstream(text: &str) -> Result<Uri, String> {
    let uri: Uri = text.parse().map_err(|_| "give http://HOST:PORT/ or ws://HOST:PORT/".to_owned())?;
    let is_known = matches!(uri.scheme_str(), Some("http" | "ws"));
    if is_known && uri.port_u16().is_some_and(|port| port > 0) {
        return Ok(uri);
    }
    Err("give http://HOST:PORT/ or ws://HOST:PORT/ (TLS is not supported)".to_owned())
}

fn as_text<S: serde::Serializer>(uri: &Uri, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(uri)
}
