//! A load generator that serves few of its connections at a time: what shows it.
//!
//! Where server and load generator share a processor and the server runs first, an answer is there before the load
//! generator reads. Its task then never waits: it sends and reads again and again, until the load generator's own
//! scheduler takes it off, after some 10 ms in Go's. All other connections wait in the load generator, most of them
//! with their answer. So a few requests take as long as a turn of all connections, and most take no time; the server
//! meanwhile goes to sleep again and again, because it waits for requests.

use super::evidence::of_bad;
use super::facts::Facts;
use bench_system::readable_numbers::{count, counted, time};

/// So few connections say nothing.
const LEAST_CONNECTIONS: u64 = 50;

/// At most this share of the connections is served at a time, by Little's law.
const MOST_AT_WORK: f64 = 0.1;

/// The mean is at least this many times the median.
pub(super) const APART: f64 = 20.0;

/// A busy server sleeps once for many requests; here it does so after at least every second one.
const LEAST_SLEEPS: f64 = 0.5;

fn is_seen(facts: &Facts) -> Option<()> {
    let few = facts.at_work() <= MOST_AT_WORK * facts.connections as f64;
    let apart = facts.p50_us > 0.0 && facts.mean_us >= APART * facts.p50_us;
    let sleeps = facts.sleeps.is_some_and(|sleeps| sleeps >= LEAST_SLEEPS);
    (facts.connections >= LEAST_CONNECTIONS && few && apart && sleeps).then_some(())
}

/// The share of the bad requests that it explains: those that ran into the timeout.
pub(super) fn failing(facts: &Facts) -> Option<f64> {
    is_seen(facts)?;
    of_bad(facts, facts.timeouts() as f64)
}

/// The share of the time that requests spend waiting in the load generator.
pub(super) fn slow(facts: &Facts) -> Option<f64> {
    is_seen(facts)?;
    Some(1.0 - facts.p50_us / facts.mean_us)
}

/// What a person reads of it.
pub(super) fn sentence(facts: &Facts) -> String {
    format!(
        "the load generator, not the server: it serves about {} of its {} at a time. Half of the requests take {} and \
         the mean {}, while the server waits for requests (it goes to sleep {:.1} times for each). Give the load \
         generator processors of its own",
        count(facts.at_work().ceil() as u64),
        counted(facts.connections, "connection"),
        time(facts.p50_us),
        time(facts.mean_us),
        facts.sleeps.unwrap_or(0.0),
    )
}
