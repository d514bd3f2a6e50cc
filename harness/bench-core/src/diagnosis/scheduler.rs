//! Connections that a task scheduler starves: the evidence, and how long the starved ones wait.
//!
//! A worker of tokio's multi-threaded runtime keeps woken tasks in a queue of its own; what does not fit goes to a
//! global queue. A worker that always has work of its own takes one task from there every N polls. So with more
//! connections than the own queue holds, some are served again and again, and all others share a small part of the
//! rate.

use super::LEAST_SHARE;
use super::evidence::{BUSY, of_bad};
use super::facts::Facts;
use super::shapes::STEP_US;
use crate::readable_numbers::{count, counted, percent, time};

/// Tasks that a worker's own queue holds.
const OWN_QUEUE: u64 = 256;

/// Tasks move between the queues, so some more connections than an own queue holds are served.
const SLACK: f64 = 1.25;

/// Connections are starved where no larger share than this is at work.
const MOST_AT_WORK: f64 = 0.75;

/// The least ratio of the others' wait to a typical request's time.
const APART: f64 = 5.0;

/// Whether busy workers served as few connections as their own queues hold, though the server held more.
fn few_at_work(facts: &Facts) -> Option<()> {
    let workers = facts.threads?;
    facts.runnable.filter(|share| *share >= BUSY)?;
    let (at_work, requested) = (facts.at_work(), facts.connections as f64);
    let few = at_work > 0.0
        && at_work <= SLACK * (OWN_QUEUE * workers) as f64
        && at_work < MOST_AT_WORK * requested;
    let held = facts.missing().unwrap_or(0) as f64 <= 0.01 * requested;
    (few && held && facts.connections > OWN_QUEUE * workers).then_some(())
}

/// Whether dropped connection attempts are at most a tenth of these requests, so that they don't explain them.
fn few_dropped(facts: &Facts, requests: u64) -> Option<()> {
    (facts.network.listen_overflows.unwrap_or(0) * 10 <= requests).then_some(())
}

/// The share of the bad requests that starved connections explain: those that ran into the timeout.
pub(super) fn failing(facts: &Facts) -> Option<f64> {
    few_at_work(facts)?;
    few_dropped(facts, facts.bad)?;
    (facts.p50_us * APART < facts.timeout_us).then_some(())?;
    of_bad(facts, facts.timeouts().max(facts.bad.saturating_sub(facts.failed_as(&[""]))) as f64)
}

/// The share of the requests slower than [`STEP_US`] that they explain, where none is bad.
pub(super) fn stepped(facts: &Facts) -> Option<f64> {
    few_at_work(facts)?;
    few_dropped(facts, facts.stepped)?;
    let dropped = facts.network.listen_overflows.unwrap_or(0);
    (facts.bad == 0 && facts.stepped > 0 && facts.p50_us * APART < STEP_US).then_some(())?;
    let share = facts.stepped.saturating_sub(dropped) as f64 / facts.stepped as f64;
    (share >= LEAST_SHARE).then_some(share)
}

/// How long a starved connection waits where the interval is known: all of them share one poll in every N.
fn wait_us(facts: &Facts) -> Option<f64> {
    let waiting = facts.connections as f64 - facts.at_work();
    (facts.rate > 0.0).then_some(waiting * facts.global_queue_interval? as f64 / facts.rate * 1e6)
}

/// The sentence for readers.
pub(super) fn sentence(facts: &Facts) -> String {
    let workers = facts.threads.unwrap_or(0);
    let takes = if workers == 1 { "takes" } else { "take" };
    let how = match (facts.global_queue_interval, wait_us(facts)) {
        (Some(interval), Some(wait_us)) => {
            format!("once in {} polls, so that each waits about {}", count(interval), time(wait_us))
        }
        _ => "only now and then".to_owned(),
    };
    let dropped = match facts.network.listen_overflows {
        Some(0) => "; no connection attempt found the listen queue full".to_owned(),
        Some(some) => format!("; {} found the listen queue full", counted(some, "connection attempt")),
        None => String::new(),
    };
    format!(
        "starved by the scheduler: about {} of {} were served again and again, half of their requests within {}, and \
         the others waited: its {}, busy for {} of the time, {takes} tasks that do not fit into a queue of \
         {OWN_QUEUE} each from a global queue, {how}{dropped}",
        count(facts.at_work().round() as u64),
        counted(facts.connections, "connection"),
        time(facts.p50_us),
        counted(workers, "worker"),
        percent(facts.runnable.unwrap_or(0.0).min(1.0)),
    )
}
