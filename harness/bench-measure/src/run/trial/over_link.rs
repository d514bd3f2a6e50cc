//! A trial whose load tool reaches the server over a network that the harness makes: see [`crate::link`].
//!
//! The trial runs on a thread in the load tool's namespace, so that its requests to the server, its load tool and its
//! counters are of that side; the server alone is started on the other one.

use crate::probe::network;
use bench_core::machine::NetworkCounters;
use std::sync::Arc;

use anyhow::Result;

use super::Bench;
use crate::link::Link;
use crate::subject::Subject;
use bench_core::config::Network;
use bench_core::observation::Observation;
use bench_core::plan::Trial;

impl Bench<'_> {
    /// Runs a trial over a network that is made for it.
    ///
    /// # Errors
    /// The network can't be made, or what ends any trial's run.
    pub(super) fn run_over(&self, network: Network, trial: &Trial) -> Result<Observation> {
        let link = Arc::new(Link::new(network.delay(), network.loss())?);
        link.load.inside(|| self.run_here(trial, None, Some(&link)))?
    }
}

/// The kernel's counters of the load tool's side and, where the server is on one of its own, of that side too.
pub(super) fn counters(subject: &Subject) -> NetworkCounters {
    let near = network::read();
    match (&subject.link, subject.pid()) {
        (Some(_), Some(pid)) => near.plus(network::of(pid)),
        _ => near,
    }
}
