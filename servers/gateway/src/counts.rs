//! What the gateway counts, for whoever reads `--metrics`.

use std::fmt::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use metrics_http::{Collector, DescriptorEncoder, Writer};

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
}

/// The counts, as a collector of the metrics.
#[derive(Debug)]
pub struct Counted(pub Arc<Counts>);

impl Collector for Counted {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result {
        let mut writer = Writer::new(encoder);
        let counts = &self.0;
        for (name, help, count) in [
            ("requests", "HTTP requests and WebSocket messages that callers sent", &counts.requests),
            ("upstream_calls", "Requests and calls that were sent to the node", &counts.upstream_calls),
            ("cache_hits", "Requests that were answered from the cache", &counts.cache_hits),
            ("limited", "Requests beyond the rate limit", &counts.limited),
            ("timeouts", "Requests that the node did not answer in time", &counts.timeouts),
            ("reconnects", "How often the shared WebSocket was made again", &counts.reconnects),
        ] {
            writer.counter(&format!("gateway_{name}"), help, None, count.load(Ordering::Relaxed))?;
        }
        Ok(())
    }
}
