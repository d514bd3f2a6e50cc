//! Calls by method, transport and outcome, with how long each took: `--metrics-calls`.
//!
//! Each thread adds to a part of its own, and a reader sums the parts up: no lock, and no cache line that two threads write. It
//! costs two readings of the clock and four additions a call, so servers time calls only in a build with the feature `calls`. What is
//! counted is what names a method: no notification, no body that is no call.

use std::fmt::Result;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use metrics_http::prometheus_client::metrics::MetricType;
use metrics_http::{Collector, DescriptorEncoder, Unit, Writer};
use validator_state::Method;

use crate::counters::place_of_thread;

/// More than the threads that a server here runs; beyond it two threads share a part, which is slower and still right.
const PARTS: usize = 64;

const NAME: &str = "rpc_server_call_duration";
const HELP: &str = "Time from a JSON-RPC call that was read to its answer";

/// The powers of two, of a second, that are the lowest and the highest bound of a bucket: 0.24 µs and 16 s.
const LOWEST: i32 = -22;
const HIGHEST: i32 = 4;

/// Upper bounds of the buckets but for the last one, which has none, in nanoseconds.
#[expect(clippy::indexing_slicing, reason = "the compiler evaluates it, and the loop ends at the length")]
const BOUNDS_NS: [u64; (HIGHEST - LOWEST + 1) as usize] = {
    let (mut bounds, mut place) = ([0; (HIGHEST - LOWEST + 1) as usize], 0);
    while place < bounds.len() {
        bounds[place] = (1_000_000_000 << place) >> -LOWEST;
        place += 1;
    }
    bounds
};
const BUCKETS: usize = BOUNDS_NS.len() + 1;

/// Durations of one method, transport and outcome.
#[derive(Debug)]
struct Durations {
    labels: [(&'static str, &'static str); 4],
    sum_s: f64,
    counts: [u64; BUCKETS],
}

/// Methods by their place; the last one stands for every name that the server does not have.
const NAMES: [&str; 10] = [
    Method::ALL[0].name(),
    Method::ALL[1].name(),
    Method::ALL[2].name(),
    Method::ALL[3].name(),
    Method::ALL[4].name(),
    Method::ALL[5].name(),
    Method::ALL[6].name(),
    "slotSubscribe",
    "slotUnsubscribe",
    "_OTHER",
];

/// What brings a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// A request of HTTP.
    Http,
    /// A message of a WebSocket.
    WebSocket,
}

impl Transport {
    /// Its name as a label.
    const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::WebSocket => "websocket",
        }
    }
}

const TRANSPORTS: [Transport; 2] = [Transport::Http, Transport::WebSocket];
const OUTCOMES: [&str; 2] = ["ok", "error"];

/// Calls of one method, transport and outcome.
#[derive(Debug)]
struct Series {
    sum_ns: AtomicU64,
    buckets: [AtomicU64; BUCKETS],
}

impl Default for Series {
    fn default() -> Self {
        Self { sum_ns: AtomicU64::default(), buckets: std::array::from_fn(|_| AtomicU64::default()) }
    }
}

/// What one thread has counted. Two cache lines apart from the next, since some processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Part {
    /// Calls that have begun on this thread, less those that have ended on it.
    in_flight: AtomicI64,
    series: [[[Series; OUTCOMES.len()]; TRANSPORTS.len()]; NAMES.len()],
}

/// Calls by method, transport and outcome. A copy counts into the same parts.
#[derive(Debug, Clone, Copy)]
pub struct CallCounters {
    /// Made where a thread first counts: each takes some 10 KB.
    parts: &'static [OnceLock<Box<Part>>],
}

impl Default for CallCounters {
    fn default() -> Self {
        Self { parts: (0..PARTS).map(|_| OnceLock::new()).collect::<Vec<_>>().leak() }
    }
}

/// Those of a server: its framework's middleware counts here, and its metrics read.
static OF_PROCESS: OnceLock<CallCounters> = OnceLock::new();

impl CallCounters {
    /// The counters that all servers of this process share.
    pub fn of_process() -> Self {
        *OF_PROCESS.get_or_init(Self::default)
    }

    /// A call begins.
    pub fn begin(&self) -> Instant {
        if let Some(part) = self.part() {
            part.in_flight.fetch_add(1, Relaxed);
        }
        Instant::now()
    }

    /// The call of this method has its answer, on this thread or another.
    pub fn end(&self, begun: Instant, transport: Transport, method: &str, is_error: bool) {
        let ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        if let Some(part) = self.part() {
            part.in_flight.fetch_sub(1, Relaxed);
        }
        self.count(ns, transport, method, is_error);
    }

    /// Counts a call that took `ns` nanoseconds.
    fn count(&self, ns: u64, transport: Transport, method: &str, is_error: bool) {
        let other = NAMES.len() - 1;
        let method = NAMES.iter().position(|name| *name == method).unwrap_or(other);
        let part = self.part();
        let of_method =
            part.and_then(|part| part.series.get(method)).and_then(|of| of.get(transport as usize));
        let series = of_method.and_then(|of| of.get(usize::from(is_error)));
        let counted = series.and_then(|series| {
            Some((series, series.buckets.get(BOUNDS_NS.partition_point(|bound| *bound < ns))?))
        });
        if let Some((series, bucket)) = counted {
            bucket.fetch_add(1, Relaxed);
            series.sum_ns.fetch_add(ns, Relaxed);
        }
    }

    fn part(&self) -> Option<&'static Part> {
        self.parts.get(place_of_thread(self.parts.len())).map(|part| &**part.get_or_init(Box::default))
    }

    /// The sums of one method, transport and outcome over all threads: nanoseconds, and calls by bucket.
    fn summed(&self, method: usize, transport: usize, outcome: usize) -> (u64, [u64; BUCKETS]) {
        let (mut sum_ns, mut buckets) = (0, [0; BUCKETS]);
        for part in self.parts.iter().filter_map(OnceLock::get) {
            let of_method = part.series.get(method).and_then(|of| of.get(transport));
            let Some(series) = of_method.and_then(|of| of.get(outcome)) else { continue };
            sum_ns += series.sum_ns.load(Relaxed);
            for (sum, bucket) in buckets.iter_mut().zip(&series.buckets) {
                *sum += bucket.load(Relaxed);
            }
        }
        (sum_ns, buckets)
    }

    /// The durations of each method, transport and outcome that there was a call of.
    fn durations(&self) -> Vec<Durations> {
        let mut all = Vec::new();
        for (method, name) in NAMES.into_iter().enumerate() {
            for (transport, protocol) in TRANSPORTS.into_iter().enumerate() {
                for (outcome, outcome_name) in OUTCOMES.into_iter().enumerate() {
                    let (sum_ns, counts) = self.summed(method, transport, outcome);
                    let labels = [
                        ("rpc_system_name", "jsonrpc"),
                        ("rpc_method", name),
                        ("network_protocol_name", protocol.name()),
                        ("outcome", outcome_name),
                    ];
                    let one = Durations { labels, sum_s: sum_ns as f64 / 1e9, counts };
                    all.extend((one.counts.iter().sum::<u64>() > 0).then_some(one));
                }
            }
        }
        all
    }
}

impl Collector for CallCounters {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result {
        let mut writer = Writer::new(encoder);
        let in_flight: i64 =
            self.parts.iter().filter_map(OnceLock::get).map(|part| part.in_flight.load(Relaxed)).sum();
        let help = "JSON-RPC calls that have begun and are not answered";
        // A call that ends while the parts are summed up may be missing where it began.
        writer.gauge("rpc_server_calls_in_flight", help, None, in_flight.max(0).unsigned_abs())?;
        writer.family(NAME, HELP, Some(&Unit::Seconds), MetricType::Histogram, |encoder| {
            for durations in self.durations() {
                let Durations { labels, sum_s, counts } = durations;
                let bounds = (LOWEST..=HIGHEST).map(|power| f64::from(power).exp2()).chain([f64::INFINITY]);
                let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
                let mut one = encoder.encode_family(&labels)?;
                one.encode_histogram::<[(&str, &str); 0]>(sum_s, counts.iter().sum(), &buckets, None)?;
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use metrics_http::Registry;
    use metrics_http::prometheus_client::encoding::text::encode;

    use super::*;

    fn text(calls: CallCounters) -> String {
        let (mut registry, mut text) = (Registry::default(), String::new());
        registry.register_collector(Box::new(calls));
        encode(&mut text, &registry).unwrap();
        text
    }

    #[test]
    fn calls_of_all_threads_are_summed_by_method_transport_and_outcome() {
        let calls = CallCounters::default();
        std::thread::scope(|scope| {
            for _ in 0..2 * PARTS {
                scope.spawn(move || {
                    calls.count(1_953_125, Transport::Http, "getSlot", false);
                    calls.count(1_953_126, Transport::Http, "getSlot", false);
                    calls.count(20_000_000_000, Transport::WebSocket, "nope", true);
                });
            }
        });
        let text = text(calls);
        let slot =
            r#"rpc_system_name="jsonrpc",rpc_method="getSlot",network_protocol_name="http",outcome="ok""#;
        let other = r#"rpc_system_name="jsonrpc",rpc_method="_OTHER",network_protocol_name="websocket",outcome="error""#;
        for line in [
            format!("rpc_server_call_duration_seconds_count{{{slot}}} {}", 4 * PARTS),
            format!("rpc_server_call_duration_seconds_bucket{{le=\"0.001953125\",{slot}}} {}", 2 * PARTS),
            format!("rpc_server_call_duration_seconds_bucket{{le=\"0.00390625\",{slot}}} {}", 4 * PARTS),
            format!("rpc_server_call_duration_seconds_bucket{{le=\"16.0\",{other}}} 0"),
            format!("rpc_server_call_duration_seconds_bucket{{le=\"+Inf\",{other}}} {}", 2 * PARTS),
            format!("rpc_server_call_duration_seconds_sum{{{other}}} {:.1}", 20.0 * 2.0 * PARTS as f64),
        ] {
            assert!(text.contains(&format!("\n{line}\n")), "{line} in {text}");
        }
        assert!(!text.contains("getBalance"), "only what was called");
    }

    #[test]
    fn a_call_is_in_flight_until_it_ends_on_whatever_thread() {
        let calls = CallCounters::default();
        let begun = calls.begin();
        assert!(text(calls).contains("\nrpc_server_calls_in_flight 1\n"));
        std::thread::spawn(move || calls.end(begun, Transport::Http, "getHealth", false)).join().unwrap();
        let text = text(calls);
        assert!(text.contains("\nrpc_server_calls_in_flight 0\n") && text.contains("getHealth"), "{text}");
    }
}
