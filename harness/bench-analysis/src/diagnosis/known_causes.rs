//! The table of symptoms: the evidence, how much a cause explains, the sentence for readers, and the remedy.
//!
//! A row that explains nothing gives `None`: its counter did not move, or the machine lacks it. A cause stands before
//! its consequences, which are not named with it.

use serde::{Deserialize, Serialize};

use self::CauseKind::*;
use self::Symptom::*;
use super::LEAST_SHARE;
use super::evidence::{
    BUSY, data_timeouts, dropped_attempts, handler_sentence, long_waits, of_bad, of_missing, queue_sentence,
    slow_handler, starved, threads_sentence, too_few_threads,
};
use super::facts::Facts;
use super::load_tool;
use super::remedy::Remedy;
use super::scheduler;
use bench_system::readable_numbers::{count, counted, percent, time};

/// What a cause explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Symptom {
    /// Bad requests: those that failed, or took longer than the timeout.
    Failing,
    /// Requests that took long, though none was bad for it.
    Slow,
    /// Most requests take a small part of the mean, though none was bad.
    Uneven,
    /// Requests slower than 0.95 s, though none was bad: the trace of a dropped connection attempt.
    Stepped,
}

/// A cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CauseKind {
    /// The server ended by itself.
    Died,
    /// The load generator could open no more connections.
    LoadGenerator,
    /// The server may open no more files.
    OpenFiles,
    /// The server refuses connections or requests above a limit.
    Limit,
    /// The server accepts no connections any more.
    AcceptStalled,
    /// More connections came at once than may wait to be accepted.
    AcceptQueueFull,
    /// Segments of established connections had to be sent again.
    Retransmission,
    /// The handler waits for something that is not a processor.
    SlowHandler,
    /// Fewer threads than processors, and all of them busy.
    TooFewThreads,
    /// Requests wait for a processor.
    CpuQueue,
    /// A task scheduler serves only as many connections as its workers' queues hold, and the others hardly ever.
    SchedulerStarved,
    /// The load generator serves few of its connections at a time, while the server waits for requests.
    ToolUnfair,
    /// Some connections are never served while others are served quickly.
    Starved,
    /// Small segments wait for an acknowledgement.
    Nagle,
}

/// A row of the table.
#[derive(Debug)]
pub struct CauseRow {
    /// The cause.
    pub kind: CauseKind,
    /// The symptom that it explains.
    pub symptom: Symptom,
    /// The share of what the symptom is about that the evidence explains: of bad requests, of the time, of requests
    /// slower than 0.95 s.
    pub explains: fn(&Facts) -> Option<f64>,
    /// The sentence for readers.
    pub sentence: fn(&Facts) -> String,
    /// What may cure it.
    pub remedy: Option<Remedy>,
    /// Causes that this one is a consequence of.
    pub unless: &'static [CauseKind],
}

/// All rows.
pub const TABLE: &[CauseRow] = &[
    CauseRow {
        kind: Died,
        symptom: Failing,
        explains: |facts| {
            // A dead server has no window, so its requests can't be counted.
            let died = facts.died.len() as u64;
            (died > 0).then(|| if facts.bad == 0 { 1.0 } else { died as f64 / facts.trials as f64 })
        },
        sentence: |facts| {
            let how = facts.died.first().map_or("", String::as_str);
            format!(
                "the server ended by itself in {} of {}: {how}",
                facts.died.len(),
                counted(facts.trials, "trial")
            )
        },
        remedy: None,
        unless: &[],
    },
    CauseRow {
        kind: LoadGenerator,
        symptom: Failing,
        explains: |facts| of_bad(facts, facts.failed_as(CLIENT_ERRORS) as f64),
        sentence: |facts| {
            format!(
                "the load generator, not the server: {} failed because it could open no more connections (files or \
                 ports)",
                counted(facts.failed_as(CLIENT_ERRORS), "request")
            )
        },
        remedy: Some(Remedy::OtherClient),
        unless: &[],
    },
    CauseRow {
        kind: ToolUnfair,
        symptom: Failing,
        explains: load_tool::failing,
        sentence: load_tool::sentence,
        remedy: Some(Remedy::ToolPriority),
        unless: &[],
    },
    CauseRow {
        kind: ToolUnfair,
        symptom: Uneven,
        explains: load_tool::slow,
        sentence: load_tool::sentence,
        remedy: Some(Remedy::ToolPriority),
        unless: &[],
    },
    CauseRow {
        kind: OpenFiles,
        symptom: Failing,
        explains: |facts| {
            let (limit, most) = facts.files?;
            (most + FILES_UNSEEN >= limit).then_some(())?;
            of_missing(facts)
        },
        sentence: |facts| {
            let (limit, _) = facts.files.unwrap_or_default();
            format!(
                "the server may open {} files, and had that many open: of {} it never held {}",
                count(limit),
                counted(facts.connections, "connection"),
                count(facts.missing().unwrap_or(0))
            )
        },
        remedy: Some(Remedy::OpenFiles),
        unless: &[],
    },
    CauseRow {
        kind: Limit,
        symptom: Failing,
        explains: |facts| of_bad(facts, facts.failed_as(REFUSALS) as f64),
        sentence: |facts| {
            let refused = counted(facts.failed_as(REFUSALS), "request");
            match facts.max_connections {
                Some(most) if most < facts.connections => {
                    format!(
                        "the server takes {} at a time and refused {refused}",
                        counted(most, "connection")
                    )
                }
                _ => format!(
                    "the server refused {refused} (error status, refused or closed connections): a limit of its own"
                ),
            }
        },
        remedy: None,
        unless: &[Died, OpenFiles],
    },
    CauseRow {
        kind: AcceptStalled,
        symptom: Failing,
        explains: |facts| {
            facts.standing.filter(|standing| *standing > 0)?;
            of_missing(facts)
        },
        sentence: |facts| {
            format!(
                "the server accepts no connections any more: {} stood in the listen queue and none was accepted \
                 through the second half of the window; the server held {} of {}",
                counted(facts.standing.unwrap_or(0), "connection"),
                count(facts.held.unwrap_or(0).min(facts.connections)),
                count(facts.connections)
            )
        },
        remedy: None,
        unless: &[OpenFiles, Limit],
    },
    CauseRow {
        kind: AcceptQueueFull,
        symptom: Failing,
        explains: |facts| of_bad(facts, dropped_attempts(facts)? as f64),
        sentence: queue_sentence,
        remedy: Some(Remedy::Backlog),
        unless: &[OpenFiles, Limit, AcceptStalled],
    },
    CauseRow {
        kind: AcceptQueueFull,
        symptom: Stepped,
        explains: |facts| {
            let dropped = dropped_attempts(facts)?;
            (facts.bad == 0 && facts.stepped > 0).then(|| dropped as f64 / facts.stepped as f64)
        },
        sentence: queue_sentence,
        remedy: None,
        unless: &[OpenFiles, Limit, AcceptStalled],
    },
    CauseRow {
        kind: Retransmission,
        symptom: Failing,
        explains: |facts| {
            let data = data_timeouts(facts).filter(|count| *count > 0)?;
            of_bad(facts, data as f64)
        },
        sentence: |facts| {
            format!(
                "{} of made connections ran out and had to be sent again (data, or the last step of the handshake)",
                counted(data_timeouts(facts).unwrap_or(0), "segment")
            )
        },
        remedy: None,
        unless: &[OpenFiles, Limit, AcceptStalled, AcceptQueueFull],
    },
    CauseRow {
        kind: SlowHandler,
        symptom: Failing,
        explains: |facts| {
            slow_handler(facts).filter(|share| *share >= LEAST_SHARE)?;
            long_waits(facts)
        },
        sentence: handler_sentence,
        remedy: None,
        unless: &[],
    },
    CauseRow {
        kind: SlowHandler,
        symptom: Slow,
        explains: slow_handler,
        sentence: handler_sentence,
        remedy: None,
        unless: &[],
    },
    CauseRow {
        kind: SchedulerStarved,
        symptom: Failing,
        explains: scheduler::failing,
        sentence: scheduler::sentence,
        remedy: Some(Remedy::GlobalQueueInterval),
        unless: STARVES_TOO,
    },
    CauseRow {
        kind: SchedulerStarved,
        symptom: Stepped,
        explains: scheduler::stepped,
        sentence: scheduler::sentence,
        remedy: None,
        unless: STARVES_TOO,
    },
    CauseRow {
        kind: TooFewThreads,
        symptom: Failing,
        explains: |facts| {
            too_few_threads(facts)?;
            long_waits(facts)
        },
        sentence: threads_sentence,
        remedy: Some(Remedy::Threads),
        unless: &[OpenFiles, Limit, AcceptStalled, SchedulerStarved, ToolUnfair],
    },
    CauseRow {
        kind: TooFewThreads,
        symptom: Slow,
        explains: too_few_threads,
        sentence: threads_sentence,
        remedy: Some(Remedy::Threads),
        unless: &[AcceptStalled, SchedulerStarved, ToolUnfair],
    },
    CauseRow {
        kind: CpuQueue,
        symptom: Failing,
        explains: |facts| {
            facts.runnable.filter(|share| *share >= BUSY)?;
            long_waits(facts)
        },
        sentence: |facts| {
            format!(
                "the processors are full: {} share {:.2} cores among {}, and each request waited {} for a processor",
                counted(facts.threads.unwrap_or(facts.cores), "thread"),
                facts.server_cores,
                counted(facts.connections, "connection"),
                time(facts.run_delay_us.unwrap_or(0.0))
            )
        },
        remedy: None,
        unless: &[TooFewThreads, SlowHandler, OpenFiles, Limit, AcceptStalled, SchedulerStarved],
    },
    CauseRow {
        kind: Starved,
        symptom: Failing,
        explains: starved,
        sentence: |facts| {
            let starving = facts.timeouts() as f64 * facts.timeout_us / facts.wall_us;
            format!(
                "about {} of {} got no answer all the time, while half of the requests on the others took {} or less",
                count(starving.round() as u64),
                counted(facts.connections, "connection"),
                time(facts.p50_us)
            )
        },
        remedy: None,
        unless: &[
            Died,
            LoadGenerator,
            OpenFiles,
            Limit,
            AcceptStalled,
            AcceptQueueFull,
            Retransmission,
            SchedulerStarved,
            TooFewThreads,
            CpuQueue,
            ToolUnfair,
        ],
    },
    CauseRow {
        kind: Nagle,
        symptom: Slow,
        explains: |facts| {
            (facts.nodelay == Some(false) && facts.share_38_50_ms > 4.0 * facts.share_10_38_ms)
                .then_some(())?;
            Some(facts.share_38_50_ms * 40e3 / facts.mean_us)
        },
        sentence: |facts| {
            format!(
                "{} of the requests took about 40 ms: without TCP_NODELAY a small segment waits for the \
                 acknowledgement of the one before, which the client delays",
                percent(facts.share_38_50_ms)
            )
        },
        remedy: None,
        unless: &[],
    },
];

/// Other causes than a scheduler of connections without an answer.
const STARVES_TOO: &[CauseKind] =
    &[Died, LoadGenerator, OpenFiles, Limit, AcceptStalled, AcceptQueueFull, Retransmission, SlowHandler];

/// Descriptors that `/proc` may not show although they are taken: some kernels reserve one for each thread that waits
/// in `accept`.
const FILES_UNSEEN: u64 = 4;

const CLIENT_ERRORS: &[&str] =
    &["too many open files", "cannot assign requested address", "address not available"];

const REFUSALS: &[&str] = &[
    "http 4xx",
    "http 5xx",
    "connection refused",
    "connection reset",
    "closed connection",
    "server closed",
    "connection lost",
    "handshake: http",
];
