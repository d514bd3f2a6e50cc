//! A trial whose load tool reaches the server over a network that the harness makes: see [`crate::link`].
//!
//! The trial runs on a thread in the load tool's namespace, so that its requests to the server, its load tool and its
//! counters are of that side; the server alone is started on the other one.

use std::sync::Arc;

use anyhow::Result;

use super::Bench;
use crate::link::{Counts, Link, Taken};
use crate::subject::Subject;
use bench_model::config::Network;
use bench_model::observation::{LinkUse, Observation};
use bench_model::plan::Trial;
use bench_system::probe::network::NetworkCounters;

impl Bench<'_> {
    /// Runs a trial over a network that is made for it.
    ///
    /// # Errors
    /// The network can't be made, or what ends any trial's run.
    pub(super) fn run_over(&self, network: Network, trial: &Trial) -> Result<Observation> {
        let seed = self.plan.campaign.seed ^ u64::from(trial.number);
        let link = Arc::new(Link::new(network.delay(), network.loss(), seed)?);
        link.load.inside(|| self.run_here(trial, None, Some(&link)))?
    }
}

/// The kernel's counters of the load tool's side and, where the server is on one of its own, of that side too.
pub(super) fn counters(subject: &Subject) -> NetworkCounters {
    let near = NetworkCounters::read();
    match (&subject.link, subject.pid()) {
        (Some(_), Some(pid)) => near.plus(NetworkCounters::of(pid)),
        _ => near,
    }
}

/// What the link of a server has done since `before`; `None` where it has none.
pub(super) fn used(subject: &Subject, before: Option<Taken>) -> Result<Option<LinkUse>> {
    let (Some(link), Some(before)) = (&subject.link, before) else { return Ok(None) };
    let Taken { carrier, cpu_s, counts } = link.take()?;
    let cpu_s = cpu_s.zip(before.cpu_s).map(|(now, before)| now - before);
    let both = |of: fn(&Counts) -> u64| counts.as_ref().map(|[there, back]| of(there) + of(back));
    let mut late_ns = None;
    if let Some([there, back]) = &counts {
        late_ns.insert(there.late_ns.clone()).add(&back.late_ns)?;
    }
    let late_ns = late_ns.filter(|late_ns| !late_ns.is_empty());
    let late_us = |quantile| Some(late_ns.as_ref()?.value_at_quantile(quantile) as f64 / 1e3);
    Ok(Some(LinkUse {
        carrier,
        round_trip_us: link.round_trip_us,
        cpu_s,
        packets: both(|counts| counts.passed),
        lost: both(|counts| counts.lost),
        refused: both(|counts| counts.refused),
        late_p50_us: late_us(0.5),
        late_p99_us: late_us(0.99),
    }))
}
