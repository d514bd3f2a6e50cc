//! What the gateway counts, for whoever reads `--metrics`.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the start.
#[derive(Debug, Default)]
pub struct Counts {
    /// HTTP requests and WebSocket messages that callers sent.
    pub requests: AtomicU64,
    /// Requests and calls that were sent to the node.
    pub upstream_calls: AtomicU64,
    /// Requests that were answered from the cache.
    pub cache_hits: AtomicU64,
    /// Requests beyond the rate limit.
    pub limited: AtomicU64,
    /// Requests that the node did not answer in time.
    pub timeouts: AtomicU64,
    /// How often the shared WebSocket was made again.
    pub reconnects: AtomicU64,
}

impl Counts {
    /// Counts one more.
    pub fn add(count: &AtomicU64) {
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// All of them, as Prometheus reads them.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, count) in [
            ("requests", &self.requests),
            ("upstream_calls", &self.upstream_calls),
            ("cache_hits", &self.cache_hits),
            ("limited", &self.limited),
            ("timeouts", &self.timeouts),
            ("reconnects", &self.reconnects),
        ] {
            let value = count.load(Ordering::Relaxed);
            let _ = writeln!(text, "# TYPE gateway_{name}_total counter\ngateway_{name}_total {value}");
        }
        text
    }
}
