//! The arithmetic of the table of symptoms: how much of a symptom the evidence explains, and sentences with numbers.

use super::facts::Facts;
use super::shapes::{STEP_US, SlowShare};
use crate::readable_numbers::{count, counted, percent, time};

/// So few connections say nothing of a queue.
const LEAST_CONNECTIONS: u64 = 4;

/// A request by itself takes at least so long where it is known well enough, in microseconds.
const LEAST_ALONE_US: f64 = 500.0;

/// Requests at work at a time, where it is one.
const ONE: std::ops::Range<f64> = 0.7..1.3;

/// Processors for which threads that have work wait. With more, nothing can be said of a lock.
const MUCH_DELAY: f64 = 0.5;

/// From this wait of one request on an idle server on, the handler counts as slow, in microseconds.
const SLOW_ALONE_US: f64 = 1_000.0;

/// A thread that had work for this share of the window was busy all the time; the tool's start and end are in the
/// window.
pub(super) const BUSY: f64 = 0.85;

/// Waiting explains timeouts where the mean latency is at least this share of the timeout.
const LONG_WAIT: f64 = 0.25;

/// Connection attempts that found the listen queue full and were repeated.
pub(super) fn dropped_attempts(facts: &Facts) -> Option<u64> {
    facts.network.syn_retransmits.is_none_or(|count| count > 0).then_some(())?;
    facts.network.listen_overflows.filter(|count| *count > 0)
}

pub(super) fn queue_sentence(facts: &Facts) -> String {
    let holds = facts
        .listen_limit
        .map_or_else(String::new, |limit| format!("its listen queue holds {}; ", count(limit)));
    let dropped = facts.network.listen_overflows.unwrap_or(0);
    let step = if facts.stepped > 0 && facts.timeout_us > STEP_US {
        let slower = counted(facts.stepped, "request");
        let verb = if facts.stepped == 1 { "was" } else { "were" };
        format!(
            "; {slower} {verb} slower than {}: a step that a dropped connection attempt leaves",
            time(STEP_US)
        )
    } else {
        String::new()
    };
    format!(
        "{holds}{} found it full and {} dropped and sent again after 1 s or more{step}",
        counted(dropped, "connection attempt"),
        if dropped == 1 { "was" } else { "were" }
    )
}

/// Explained bad requests as a share of all of them.
pub(super) fn of_bad(facts: &Facts, explained: f64) -> Option<f64> {
    (facts.bad > 0 && explained > 0.0).then(|| explained / facts.bad as f64)
}

/// The share of the bad requests that come from connections that the server never held.
pub(super) fn of_missing(facts: &Facts) -> Option<f64> {
    let missing = facts.missing().filter(|missing| *missing > 0)?;
    of_bad(facts, missing as f64 * facts.bad_of_dead_connection())
}

/// Retransmission timeouts, without those of connection requests.
pub(super) fn data_timeouts(facts: &Facts) -> Option<u64> {
    Some(facts.network.timeouts?.saturating_sub(facts.network.syn_retransmits?))
}

/// Waiting explains timeouts where even the mean latency is a large part of the timeout.
pub(super) fn long_waits(facts: &Facts) -> Option<f64> {
    (facts.mean_us >= LONG_WAIT * facts.timeout_us).then_some(())?;
    of_bad(facts, facts.timeouts().max(facts.bad.saturating_sub(facts.failed_as(&[""]))) as f64)
}

/// The share of the time in which all threads that answer had work, where there could be more of them.
pub(super) fn too_few_threads(facts: &Facts) -> Option<f64> {
    (facts.threads? < facts.cores).then_some(())?;
    facts.runnable.filter(|share| *share >= BUSY)
}

pub(super) fn threads_sentence(facts: &Facts) -> String {
    format!(
        "it answers with {}, which had work for {} of the time, on a machine of {} cores",
        counted(facts.threads.unwrap_or(0), "thread"),
        percent(facts.runnable.unwrap_or(0.0).min(1.0)),
        facts.cores
    )
}

pub(super) fn handler_sentence(facts: &Facts) -> String {
    let (alone_us, cpu_us) = facts.alone.unwrap_or_default();
    format!(
        "one request by itself takes {}, of which {} is CPU time: the handler waits, even without load",
        time(alone_us),
        time(cpu_us)
    )
}

/// The share of the time that a wait of the handler explains: of each request, where requests wait concurrently; of
/// each thread, where a thread waits with its request.
pub(super) fn slow_handler(facts: &Facts) -> Option<f64> {
    let (alone_us, cpu_us) = facts.alone?;
    let wait_us = alone_us - cpu_us;
    (wait_us >= SLOW_ALONE_US && facts.mean_us > 0.0).then_some(())?;
    // Where other processes hold the processors, each wait ends late; that part is not the handler's.
    let delay_us = facts.run_delay_us.unwrap_or(0.0);
    let of_request = wait_us / (facts.mean_us - delay_us).max(wait_us);
    let threads_s = facts.threads.unwrap_or(facts.cores) as f64 - facts.rate * delay_us / 1e6;
    let of_threads = facts.rate * wait_us / 1e6 / threads_s.max(f64::EPSILON);
    // More than all of the threads' time can't be spent by waiting threads.
    let of_threads = if of_threads <= 1.15 { of_threads } else { 0.0 };
    Some(of_request.max(of_threads))
}

/// Timeouts are those of starved connections where hardly any request took a time between the quick ones and the
/// timeout.
pub(super) fn starved(facts: &Facts) -> Option<f64> {
    let timeouts = facts.timeouts();
    let share = timeouts as f64 / facts.requests.max(1) as f64;
    let starving = timeouts as f64 * facts.timeout_us / facts.wall_us.max(1.0);
    let apart = facts.p50_us * 10.0 < facts.timeout_us && facts.share_between < 0.1 * share;
    (apart && starving >= 1.0 && starving < facts.connections as f64).then_some(())?;
    of_bad(facts, timeouts as f64)
}

/// The share of the time that requests wait for one another, where one is answered at a time.
pub(super) fn one_at_a_time(facts: &Facts) -> Option<f64> {
    let (alone_us, cpu_us) = facts.alone?;
    let is_long = alone_us >= LEAST_ALONE_US && facts.mean_us >= 2.5 * alone_us;
    // On one processor work that takes CPU time is done one after the other anyway.
    let could_be_more = facts.cores > 1 || cpu_us < alone_us / 2.0;
    let one = ONE.contains(&(facts.rate * alone_us / 1e6)) && facts.threads != Some(1);
    // Where other processes hold the processors, two at a time may look like one.
    let is_quiet = facts.rate * facts.run_delay_us.unwrap_or(0.0) / 1e6 <= MUCH_DELAY;
    (facts.connections >= LEAST_CONNECTIONS && is_long && could_be_more && one && is_quiet)
        .then(|| 1.0 - alone_us / facts.mean_us)
}

pub(super) fn one_at_a_time_sentence(facts: &Facts) -> String {
    let (alone_us, cpu_us) = facts.alone.unwrap_or_default();
    format!(
        "the service answers one request at a time, as with a lock that all of them take: one by itself takes {} ({} \
         of it CPU time), {} get {} answers/s, and each waits {}",
        time(alone_us),
        time(cpu_us),
        counted(facts.connections, "connection"),
        count(facts.rate.round() as u64),
        time(facts.mean_us)
    )
}

/// The share of the slow requests that is no segment sent again and no wait for a processor.
pub(super) fn slow_share_explains(facts: &Facts) -> Option<f64> {
    let SlowShare { share, slow_us, .. } = facts.slow_share?;
    let sent_again = if facts.over_network { facts.network.timeouts.unwrap_or(0) as f64 } else { 0.0 };
    let others =
        sent_again / (share * facts.requests as f64) + facts.run_delay_us.unwrap_or(0.0) / (share * slow_us);
    (facts.bad == 0).then_some(1.0 - others.min(1.0))
}

pub(super) fn slow_share_sentence(facts: &Facts) -> String {
    let SlowShare { share, slow_us, others, quick_us } = facts.slow_share.unwrap_or_default();
    format!(
        "about {} of the requests take {} or more, and {} at most {}: some calls wait for something that the others \
         do not need",
        percent(share),
        time(slow_us),
        percent(others),
        time(quick_us)
    )
}

pub(super) fn growth_sentence(facts: &Facts) -> String {
    let (grown, each) = facts.growth.unwrap_or_default();
    format!(
        "the service's memory grows through the whole window and does not level off: by {:.1} MiB in the last three \
         quarters of a window, about {} bytes for each request",
        grown / 1_048_576.0,
        count(each.round() as u64)
    )
}
