//! What is counted. Each thread counts for its own connections; the counts are added up at the end.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anyhow::{Result, anyhow};
use hdrhistogram::Histogram;

use crate::outcome::Outcome;

/// The width of a part of the window in which answers are counted, in nanoseconds.
const PART_NS: u64 = 50_000_000;

/// One request. Times are in nanoseconds since the window began.
#[derive(Debug, Clone, Copy)]
pub struct Record {
    /// Its connection, from 0.
    pub connection: u32,
    /// When it was due; `None` in a closed loop.
    pub due_ns: Option<u64>,
    /// When it was sent; `None` where it was not.
    pub sent_ns: Option<u64>,
    /// When its answer was read, or it was given up.
    pub ended_ns: u64,
    /// Open loop: from when it was due until it was sent or given up, where a slot was free for it; 0 where none was.
    pub own_lag_ns: Option<u64>,
    /// How it ended.
    pub outcome: Outcome,
    /// Bytes of its answer, without frames and heads.
    pub bytes: u64,
}

/// The counts of a thread or of a run. Histograms hold nanoseconds to three significant digits.
#[derive(Debug)]
pub struct Stats {
    /// Requests sent.
    pub sent: u64,
    /// How requests ended, those that were never sent included.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Requests that were answered, rightly or not, or timed out: from when they were due or, in a closed loop, sent.
    pub latency: Histogram<u64>,
    /// Open loop: the same requests from when they were sent.
    pub since_sent: Histogram<u64>,
    /// Open loop: by how much a request was sent late although a slot was free: the generator's own lag.
    pub own_lag: Histogram<u64>,
    /// Open loop: requests that were sent late because no slot was free when they were due.
    pub held: u64,
    /// Answers that came after their request had timed out.
    pub late: u64,
    /// Messages that answer no request that was in flight or had timed out.
    pub unmatched: u64,
    /// Notifications.
    pub notifications: u64,
    /// Connections that ended before the run did.
    pub lost: u64,
    /// Connections that were established again.
    pub reconnects: u64,
    /// Attempts at that which failed, by why.
    pub failed_reconnects: BTreeMap<String, u64>,
    /// The most requests that one connection had in flight.
    pub most_in_flight: u32,
    /// Answers by when they came, in parts of 50 ms since the window began: how long there were none.
    pub answered: Vec<u32>,
    /// The first answer of each kind that is no right one, and what it answers.
    pub examples: BTreeMap<Outcome, String>,
    /// The requests of each method, in the order of `Bodies::methods`; empty where all call the same.
    pub methods: Vec<OfMethod>,
    /// Every request, where they are kept.
    pub records: Option<Vec<Record>>,
}

/// The requests that call one method.
#[derive(Debug)]
pub struct OfMethod {
    /// Those that ended, or were due and never sent.
    pub requests: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// As [`Stats::latency`].
    pub latency: Histogram<u64>,
}

fn histogram() -> Result<Histogram<u64>> {
    Histogram::new(3).map_err(|error| anyhow!("no histogram: {error}"))
}

fn add(sum: &mut Histogram<u64>, part: Histogram<u64>) -> Result<()> {
    sum.add(part).map_err(|error| anyhow!("histograms that can't be added: {error}"))
}

impl Stats {
    /// Nothing yet. `records` says whether every request is kept, `methods` how many methods are called.
    ///
    /// # Errors
    /// The histograms can't be made.
    pub fn new(records: bool, methods: usize) -> Result<Self> {
        let methods = (0..methods).filter(|_| methods > 1);
        let methods = methods.map(|_| Ok(OfMethod { requests: 0, failed: 0, latency: histogram()? }));
        Ok(Self {
            examples: BTreeMap::new(),
            methods: methods.collect::<Result<_>>()?,
            sent: 0,
            outcomes: BTreeMap::new(),
            latency: histogram()?,
            since_sent: histogram()?,
            own_lag: histogram()?,
            held: 0,
            late: 0,
            unmatched: 0,
            notifications: 0,
            lost: 0,
            reconnects: 0,
            failed_reconnects: BTreeMap::new(),
            most_in_flight: 0,
            answered: Vec::new(),
            records: records.then(Vec::new),
        })
    }

    /// Counts a request that ended, and called the method of that place.
    pub fn ended(&mut self, record: Record, method: usize) {
        *self.outcomes.entry(record.outcome).or_default() += 1;
        if record.outcome == Outcome::Answered {
            let part = (record.ended_ns / PART_NS) as usize;
            self.answered.resize(self.answered.len().max(part + 1), 0);
            self.answered[part] += 1;
        }
        let mut of_method = self.methods.get_mut(method);
        if let Some(of) = &mut of_method {
            of.requests += 1;
            of.failed += u64::from(record.outcome != Outcome::Answered);
        }
        let cut =
            matches!(record.outcome, Outcome::ConnectionLost | Outcome::Unreadable(_) | Outcome::Interrupted);
        if let (Some(sent_ns), false) = (record.sent_ns, cut) {
            let took_ns = record.ended_ns.saturating_sub(record.due_ns.unwrap_or(sent_ns));
            count(&mut self.latency, took_ns);
            if let Some(of) = of_method {
                count(&mut of.latency, took_ns);
            }
            if record.due_ns.is_some() {
                count(&mut self.since_sent, record.ended_ns.saturating_sub(sent_ns));
            }
        }
        if let Some(records) = &mut self.records {
            records.push(record);
        }
    }

    /// Adds another thread's counts.
    ///
    /// # Errors
    /// The histograms can't be added.
    pub fn add(&mut self, other: Self) -> Result<()> {
        self.sent += other.sent;
        for (outcome, count) in other.outcomes {
            *self.outcomes.entry(outcome).or_default() += count;
        }
        let pairs = [
            (&mut self.latency, other.latency),
            (&mut self.since_sent, other.since_sent),
            (&mut self.own_lag, other.own_lag),
        ];
        pairs.into_iter().try_for_each(|(sum, part)| add(sum, part))?;
        for (sum, part) in self.methods.iter_mut().zip(other.methods) {
            sum.requests += part.requests;
            sum.failed += part.failed;
            add(&mut sum.latency, part.latency)?;
        }
        for (outcome, example) in other.examples {
            self.examples.entry(outcome).or_insert(example);
        }
        self.held += other.held;
        self.late += other.late;
        self.unmatched += other.unmatched;
        self.notifications += other.notifications;
        self.lost += other.lost;
        self.reconnects += other.reconnects;
        for (kind, count) in other.failed_reconnects {
            *self.failed_reconnects.entry(kind).or_default() += count;
        }
        self.most_in_flight = self.most_in_flight.max(other.most_in_flight);
        self.answered.resize(self.answered.len().max(other.answered.len()), 0);
        self.answered.iter_mut().zip(other.answered).for_each(|(sum, part)| *sum += part);
        if let (Some(records), Some(more)) = (&mut self.records, other.records) {
            records.extend(more);
        }
        Ok(())
    }
}

/// Counts a time in a histogram that grows.
pub fn count(histogram: &mut Histogram<u64>, ns: u64) {
    let counted = histogram.record(ns);
    debug_assert!(counted.is_ok(), "a histogram that grows takes every value");
}

/// Writes records as CSV with a line of names, by when they were due or sent.
///
/// # Errors
/// They can't be written.
pub fn write_records(out: &mut impl Write, records: &mut [Record]) -> io::Result<()> {
    let text = |time: Option<u64>| time.map(|ns| ns.to_string()).unwrap_or_default();
    records.sort_unstable_by_key(|record| (record.due_ns.or(record.sent_ns), record.connection));
    writeln!(out, "connection,due_ns,sent_ns,ended_ns,own_lag_ns,outcome,bytes")?;
    for Record { connection, due_ns, sent_ns, ended_ns, own_lag_ns, outcome, bytes } in records {
        let [due_ns, sent_ns, own_lag_ns] = [due_ns, sent_ns, own_lag_ns].map(|time| text(*time));
        writeln!(out, "{connection},{due_ns},{sent_ns},{ended_ns},{own_lag_ns},{outcome},{bytes}")?;
    }
    out.flush()
}
