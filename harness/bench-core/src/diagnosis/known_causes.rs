//! The table of symptoms: the evidence, how much a cause explains, the sentence for readers, and the remedy.
//!
//! A row that explains nothing gives `None`: its counter did not move, or the machine lacks it. A cause stands before
//! its consequences, which are not named with it.

use serde::{Deserialize, Serialize};

use self::CauseKind::*;
use self::Symptom::*;
use super::LEAST_SHARE;
use super::evidence::{
    BUSY, data_timeouts, dropped_attempts, growth_sentence, handler_sentence, long_waits, of_bad, of_missing,
    one_at_a_time, one_at_a_time_sentence, queue_sentence, slow_handler, slow_share_explains,
    slow_share_sentence, starved, threads_sentence, too_few_threads,
};
use super::facts::Facts;
use super::load_tool;
use super::remedy::Remedy;
use super::scheduler;
use crate::readable_numbers::{count, counted, percent, time};

/// What a cause explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Symptom {
    /// Bad requests: those that failed, or took longer than the timeout.
    Failing,
    /// Requests that took long, though none was bad for it.
    Slow,
    /// Requests slower than 0.95 s, though none was bad: the trace of a dropped connection attempt.
    Stepped,
    /// Times without an answer, though no request was bad.
    Silent,
    /// Memory that only grows.
    Growing,
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
    /// The load tool has no processor time left, or sends late by itself.
    ToolSlow,
    /// The service answered nothing for a while.
    Stalled,
    /// The service answers one request at a time.
    OneAtATime,
    /// Some requests wait for something that the others do not need.
    SlowShare,
    /// The service's memory grows with each request.
    MemoryGrows,
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

/// A row without a remedy, which is no other cause's consequence.
const fn row(
    (kind, symptom): (CauseKind, Symptom),
    explains: fn(&Facts) -> Option<f64>,
    sentence: fn(&Facts) -> String,
) -> CauseRow {
    CauseRow { kind, symptom, explains, sentence, remedy: None, unless: &[] }
}

impl CauseRow {
    const fn cured_by(self, remedy: Remedy) -> Self {
        Self { remedy: Some(remedy), ..self }
    }

    const fn unless(self, causes: &'static [CauseKind]) -> Self {
        Self { unless: causes, ..self }
    }
}

/// All rows.
pub const TABLE: &[CauseRow] = &[
    row(
        (Died, Failing),
        |facts| {
            // A dead server has no window, so its requests can't be counted.
            let died = facts.died.len() as u64;
            (died > 0).then(|| if facts.bad == 0 { 1.0 } else { died as f64 / facts.trials as f64 })
        },
        |facts| {
            let how = facts.died.first().map_or("", String::as_str);
            format!(
                "the server ended by itself in {} of {}: {how}",
                facts.died.len(),
                counted(facts.trials, "trial")
            )
        },
    ),
    row(
        (LoadGenerator, Failing),
        |facts| of_bad(facts, facts.failed_as(CLIENT_ERRORS) as f64),
        |facts| {
            format!(
                "the load generator, not the server: {} failed because it could open no more connections \
                 (files or ports)",
                counted(facts.failed_as(CLIENT_ERRORS), "request")
            )
        },
    )
    .cured_by(Remedy::OtherClient),
    row((ToolSlow, Slow), load_tool::slow, load_tool::sentence),
    row(
        (Stalled, Failing),
        |facts| {
            // Each connection has one request that waits through a stall.
            let timed_out =
                facts.stalls.iter().filter(|(_, stall)| stall.length_s() * 1e6 >= facts.timeout_us);
            of_bad(facts, (timed_out.count() as u64 * facts.connections) as f64)
        },
        stall_sentence,
    ),
    row((Stalled, Silent), |facts| (!facts.stalls.is_empty()).then_some(1.0), stall_sentence),
    row(
        (OpenFiles, Failing),
        |facts| {
            let (limit, most) = facts.files?;
            (most + FILES_UNSEEN >= limit).then_some(())?;
            of_missing(facts)
        },
        |facts| {
            let (limit, _) = facts.files.unwrap_or_default();
            format!(
                "the server may open {} files, and had that many open: of {} it never held {}",
                count(limit),
                counted(facts.connections, "connection"),
                count(facts.missing().unwrap_or(0))
            )
        },
    )
    .cured_by(Remedy::OpenFiles),
    row(
        (Limit, Failing),
        |facts| of_bad(facts, facts.failed_as(REFUSALS) as f64),
        |facts| {
            let refused = counted(facts.failed_as(REFUSALS), "request");
            match facts.max_connections {
                Some(most) if most < facts.connections => {
                    format!(
                        "the server takes {} at a time and refused {refused}",
                        counted(most, "connection")
                    )
                }
                _ => format!(
                    "the server refused {refused} (error status, refused or closed \
                     connections): a limit of its own"
                ),
            }
        },
    )
    .unless(&[Died, OpenFiles]),
    row(
        (AcceptStalled, Failing),
        |facts| {
            facts.standing.filter(|standing| *standing > 0)?;
            of_missing(facts)
        },
        |facts| {
            format!(
                "the server accepts no connections any more: {} stood in the listen queue and none was \
                 accepted through the second half of the window; the server held {} of {}",
                counted(facts.standing.unwrap_or(0), "connection"),
                count(facts.held.unwrap_or(0).min(facts.connections)),
                count(facts.connections)
            )
        },
    )
    .unless(&[OpenFiles, Limit]),
    row((AcceptQueueFull, Failing), |facts| of_bad(facts, dropped_attempts(facts)? as f64), queue_sentence)
        .cured_by(Remedy::Backlog)
        .unless(&[OpenFiles, Limit, AcceptStalled]),
    row(
        (AcceptQueueFull, Stepped),
        |facts| {
            let dropped = dropped_attempts(facts)?;
            (facts.bad == 0 && facts.stepped > 0).then(|| dropped as f64 / facts.stepped as f64)
        },
        queue_sentence,
    )
    .unless(&[OpenFiles, Limit, AcceptStalled]),
    row(
        (Retransmission, Failing),
        |facts| {
            let data = data_timeouts(facts).filter(|count| *count > 0)?;
            of_bad(facts, data as f64)
        },
        |facts| {
            format!(
                "{} of made connections ran out and had to be sent again (data, or the last \
                 step of the handshake)",
                counted(data_timeouts(facts).unwrap_or(0), "segment")
            )
        },
    )
    .unless(&[OpenFiles, Limit, AcceptStalled, AcceptQueueFull]),
    row(
        (OneAtATime, Failing),
        |facts| {
            one_at_a_time(facts).filter(|share| *share >= LEAST_SHARE)?;
            long_waits(facts)
        },
        one_at_a_time_sentence,
    )
    .unless(NO_QUEUE),
    row((OneAtATime, Slow), one_at_a_time, one_at_a_time_sentence).unless(NO_QUEUE),
    row(
        (SlowHandler, Failing),
        |facts| {
            slow_handler(facts).filter(|share| *share >= LEAST_SHARE)?;
            long_waits(facts)
        },
        handler_sentence,
    )
    .unless(&[OneAtATime]),
    row((SlowHandler, Slow), slow_handler, handler_sentence).unless(&[OneAtATime]),
    row((SchedulerStarved, Failing), scheduler::failing, scheduler::sentence)
        .cured_by(Remedy::GlobalQueueInterval)
        .unless(STARVES_TOO),
    row((SchedulerStarved, Stepped), scheduler::stepped, scheduler::sentence).unless(STARVES_TOO),
    row(
        (TooFewThreads, Failing),
        |facts| {
            too_few_threads(facts)?;
            long_waits(facts)
        },
        threads_sentence,
    )
    .cured_by(Remedy::Threads)
    .unless(&[OpenFiles, Limit, AcceptStalled, SchedulerStarved, Stalled]),
    row((TooFewThreads, Slow), too_few_threads, threads_sentence)
        .cured_by(Remedy::Threads)
        .unless(&[AcceptStalled, SchedulerStarved]),
    row(
        (CpuQueue, Failing),
        |facts| {
            facts.runnable.filter(|share| *share >= BUSY)?;
            long_waits(facts)
        },
        |facts| {
            format!(
                "the processors are full: {} share {:.2} cores among {}, and each request \
                 waited {} for a processor",
                counted(facts.threads.unwrap_or(facts.cores), "thread"),
                facts.server_cores,
                counted(facts.connections, "connection"),
                time(facts.run_delay_us.unwrap_or(0.0))
            )
        },
    )
    .unless(&[TooFewThreads, OneAtATime, SlowHandler, OpenFiles, Limit, AcceptStalled, SchedulerStarved]),
    row((Starved, Failing), starved, |facts| {
        let starving = facts.timeouts() as f64 * facts.timeout_us / facts.wall_us;
        format!(
            "about {} of {} got no answer all the time, while half of the requests on the others \
             took {} or less",
            count(starving.round() as u64),
            counted(facts.connections, "connection"),
            time(facts.p50_us)
        )
    })
    .unless(&[
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
        Stalled,
        OneAtATime,
    ]),
    row(
        (Nagle, Slow),
        |facts| {
            (facts.nodelay == Some(false) && facts.share_38_50_ms > 4.0 * facts.share_10_38_ms)
                .then_some(())?;
            Some(facts.share_38_50_ms * 40e3 / facts.mean_us)
        },
        |facts| {
            format!(
                "{} of the requests took about 40 ms: without TCP_NODELAY a small segment waits for the \
                 acknowledgement of the one before, which the client delays",
                percent(facts.share_38_50_ms)
            )
        },
    ),
    row((SlowShare, Slow), slow_share_explains, slow_share_sentence).unless(&[
        AcceptQueueFull,
        Stalled,
        OneAtATime,
        SlowHandler,
        SchedulerStarved,
        Nagle,
        ToolSlow,
    ]),
    row((MemoryGrows, Growing), |facts| facts.growth.map(|_| 1.0), growth_sentence),
];

/// Causes of a wait for something else than a turn.
const NO_QUEUE: &[CauseKind] = &[OpenFiles, Limit, AcceptStalled, AcceptQueueFull, Stalled];

/// The longest stall, and how many there were.
fn stall_sentence(facts: &Facts) -> String {
    let longest = facts.stalls.iter().max_by(|(_, a), (_, b)| a.length_s().total_cmp(&b.length_s()));
    let Some((trial, stall)) = longest else { return String::new() };
    let more = match facts.stalls.len() - 1 {
        0 => String::new(),
        1 => "; 1 more time".to_owned(),
        more => format!("; {more} more times"),
    };
    let of = if facts.trials > 1 { format!(" (trial {trial} of {})", facts.trials) } else { String::new() };
    format!("{}{of}{more}", stall.words())
}

/// Other causes than a scheduler of connections without an answer.
const STARVES_TOO: &[CauseKind] = &[
    Died,
    LoadGenerator,
    Stalled,
    OneAtATime,
    OpenFiles,
    Limit,
    AcceptStalled,
    AcceptQueueFull,
    Retransmission,
    SlowHandler,
];

/// Descriptors that `/proc` may not show although they are taken: some kernels reserve one for each thread that waits
/// in `accept`.
const FILES_UNSEEN: u64 = 4;

const CLIENT_ERRORS: &[&str] =
    &["too many open files", "cannot assign requested address", "address not available"];

const REFUSALS: &[&str] = &[
    "http 4",
    "http 5",
    "connection refused",
    "connection reset",
    "closed connection",
    "server closed",
    "connection lost",
    "handshake: http",
];
