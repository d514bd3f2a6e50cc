//! What is printed.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
use serde::Serialize;

use crate::options::{Options, Transport};
use crate::outcome::Outcome;
use crate::run::Outcomes;

/// Points of the quantile function in each halving of the distance to 1.
const POINTS: u32 = 10;

/// Times, in microseconds.
#[derive(Debug, Serialize)]
struct Times {
    count: u64,
    mean: f64,
    stddev: f64,
    min: f64,
    p50: f64,
    p75: f64,
    p90: f64,
    p95: f64,
    p99: f64,
    #[serde(rename = "p99.9")]
    p999: f64,
    #[serde(rename = "p99.99")]
    p9999: f64,
    max: f64,
}

#[derive(Debug, Serialize)]
struct Connect<'a> {
    established: u32,
    failed: &'a BTreeMap<String, u32>,
    seconds: f64,
    time_us: Times,
}

/// How an open loop kept to its due times.
#[derive(Debug, Serialize)]
struct Open {
    due: u64,
    not_sent: u64,
    /// Sent late because no slot was free when they were due.
    held: u64,
    /// From due to sent, of those that a slot was free for.
    own_lag_us: Times,
    latency_from_sent_us: Times,
}

/// The requests of one method.
#[derive(Debug, Serialize)]
struct OfMethod<'a> {
    method: &'a str,
    requests: u64,
    failed: u64,
    latency_us: Times,
}

/// A run's results.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    url: &'a str,
    transport: Transport,
    connections: u32,
    in_flight: u32,
    batch: u32,
    rate: Option<u32>,
    timeout_ms: u64,
    threads: u32,
    interrupted: bool,
    /// The window: requested, and where a signal ended it until then.
    window_seconds: f64,
    /// Until the last request had ended.
    seconds: f64,
    sent: u64,
    succeeded: u64,
    failed: BTreeMap<String, u64>,
    /// The first answer of each kind of failure that was answered.
    examples: BTreeMap<String, &'a str>,
    /// Where calls name several methods.
    methods: Vec<OfMethod<'a>>,
    late_answers: u64,
    unmatched_messages: u64,
    notifications: u64,
    most_in_flight: u32,
    connections_lost: u64,
    reconnects: u64,
    failed_reconnects: &'a BTreeMap<String, u64>,
    bytes_read: u64,
    bytes_written: u64,
    cpu_seconds: f64,
    connect: Connect<'a>,
    open: Option<Open>,
    latency_us: Times,
    /// Answers by when they came, since the window began.
    answered_per_50_ms: &'a [u32],
    /// Probability and microseconds.
    quantiles_us: Vec<(f64, f64)>,
    /// Nanoseconds.
    hdr_log: String,
}

fn us(ns: f64) -> f64 {
    (ns / 10.0).round() / 100.0
}

fn times(of: &Histogram<u64>) -> Times {
    let quantile = |q| us(of.value_at_quantile(q) as f64);
    Times {
        count: of.len(),
        mean: us(of.mean()),
        stddev: us(of.stdev()),
        min: us(of.min() as f64),
        p50: quantile(0.5),
        p75: quantile(0.75),
        p90: quantile(0.9),
        p95: quantile(0.95),
        p99: quantile(0.99),
        p999: quantile(0.999),
        p9999: quantile(0.9999),
        max: us(of.max() as f64),
    }
}

/// The histogram as one line of an HdrHistogram interval log, format V2.
fn log_line(of: &Histogram<u64>, outcomes: &Outcomes) -> Result<String> {
    let (mut out, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    IntervalLogWriterBuilder::new()
        .begin_log_with(&mut out, &mut serializer)
        .context("no log of the histogram")?
        .write_histogram(of, since_epoch(outcomes), outcomes.took, None)
        .map_err(|error| anyhow!("the histogram can't be serialised: {error:?}"))?;
    Ok(String::from_utf8(out)?.trim_end().to_owned())
}

fn since_epoch(outcomes: &Outcomes) -> Duration {
    outcomes.began.duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}

impl<'a> Report<'a> {
    /// The results of a run.
    ///
    /// # Errors
    /// The histogram can't be serialised.
    pub fn new(
        options: &'a Options,
        transport: Transport,
        methods: &'a [String],
        run: &'a Outcomes,
    ) -> Result<Self> {
        let stats = &run.stats;
        let count = |outcome| stats.outcomes.get(&outcome).copied().unwrap_or(0);
        let failed = stats.outcomes.iter().filter(|(outcome, _)| **outcome != Outcome::Answered);
        let open = options.rate.map(|_| Open {
            due: stats.outcomes.values().sum(),
            not_sent: count(Outcome::NotSent),
            held: stats.held,
            own_lag_us: times(&stats.own_lag),
            latency_from_sent_us: times(&stats.since_sent),
        });
        let examples = stats.examples.iter();
        let methods = stats.methods.iter().zip(methods).map(|(of, method)| OfMethod {
            method,
            requests: of.requests,
            failed: of.failed,
            latency_us: times(&of.latency),
        });
        let quantiles = stats.latency.iter_quantiles(POINTS);
        Ok(Self {
            url: &options.url,
            transport,
            connections: options.connections,
            in_flight: options.in_flight,
            batch: options.batch,
            rate: options.rate,
            timeout_ms: options.timeout,
            threads: options.threads(),
            interrupted: run.interrupted,
            window_seconds: run.window.as_secs_f64(),
            seconds: run.took.as_secs_f64(),
            sent: stats.sent,
            succeeded: count(Outcome::Answered),
            failed: failed.map(|(outcome, count)| (outcome.to_string(), *count)).collect(),
            examples: examples.map(|(outcome, text)| (outcome.to_string(), text.as_str())).collect(),
            methods: methods.collect(),
            late_answers: stats.late,
            unmatched_messages: stats.unmatched,
            notifications: stats.notifications,
            most_in_flight: stats.most_in_flight,
            connections_lost: stats.lost,
            reconnects: stats.reconnects,
            failed_reconnects: &stats.failed_reconnects,
            bytes_read: run.traffic.0,
            bytes_written: run.traffic.1,
            cpu_seconds: run.cpu.as_secs_f64(),
            connect: Connect {
                established: run.connects.established,
                failed: &run.connects.failed,
                seconds: run.connects.took.as_secs_f64(),
                time_us: times(&run.connects.each_ns),
            },
            open,
            latency_us: times(&stats.latency),
            answered_per_50_ms: &stats.answered,
            quantiles_us: quantiles
                .map(|point| (point.quantile(), us(point.value_iterated_to() as f64)))
                .collect(),
            hdr_log: log_line(&stats.latency, run)?,
        })
    }
}

impl std::fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { latency_us: times, connect, .. } = self;
        writeln!(f, "{}: {} of {} connections", self.url, connect.established, self.connections)?;
        for (kind, count) in connect.failed {
            writeln!(f, "  not established: {count} by {kind}")?;
        }
        let took = if self.rate.is_some() { self.window_seconds } else { self.seconds };
        let rate = self.succeeded as f64 / took.max(f64::MIN_POSITIVE);
        writeln!(f, "{} answered in {:.2} s, {rate:.0}/s; {} sent", self.succeeded, self.seconds, self.sent)?;
        for (kind, count) in &self.failed {
            writeln!(f, "  failed: {count} by {kind}")?;
            if let Some(example) = self.examples.get(kind) {
                writeln!(f, "    {example}")?;
            }
        }
        for (kind, count) in self.failed_reconnects {
            writeln!(f, "  a lost connection was not established again: {count} by {kind}")?;
        }
        let Times { p50, p90, p99, p999, max, .. } = times;
        writeln!(f, "latency in us: p50 {p50}, p90 {p90}, p99 {p99}, p99.9 {p999}, max {max}")?;
        write!(f, "{:.3} s of processor time", self.cpu_seconds)?;
        if self.interrupted { f.write_str("; interrupted") } else { Ok(()) }
    }
}
