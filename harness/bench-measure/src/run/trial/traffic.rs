//! What a trial sends: how much, which bodies, and which of them are compared with the truth.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use super::Bench;
use super::checker::{self, CheckedWindow, Checker};
use crate::client::Connection;
use crate::subject::Subject;
use bench_model::load::Load;
use bench_model::load::bodies::Bodies;
use bench_model::observation::{Checked, Differences};
use bench_model::plan::Trial;
use bench_model::workload::Traffic;
use bench_model::workload::requests::{Known, RequestSource};
use bench_system::probe::watcher::Watcher;

/// What requests are drawn for. Each has a seed of its own, so that none depends on what another drew.
#[derive(Debug, Clone, Copy)]
pub(super) enum Draw {
    Window,
    WarmUp,
    Background,
    Check,
}

impl Bench<'_> {
    /// The trial's load for `duration_ms`, with `connections` requests in flight: a closed loop or, at a rate, an open
    /// one.
    pub(super) fn load(&self, trial: &Trial, connections: u32, duration_ms: u64) -> Load {
        let Trial { rate, client, .. } = *trial;
        let timeout_ms = self.plan.campaign.timeout_ms;
        let load = Load { connections, duration_ms, timeout_ms, rate, client, ..Load::default() };
        match self.plan.server(&trial.server) {
            Ok(server) => self.plan.load_of(server, load),
            Err(_) => load,
        }
    }

    /// The bodies of a load: the workload's one, or a stream of their own.
    pub(super) fn bodies(&self, trial: &Trial, workload: &str, draw: Draw) -> Result<Bodies<'_>> {
        if let Traffic::One { body, .. } = &self.plan.workload(workload)?.traffic {
            return Ok(Bodies::One(body));
        }
        let requests = self.truths_of(trial).source(workload)?;
        Ok(Bodies::Drawn(requests.stream(self.seed(trial, draw))))
    }

    /// Decides what is drawn: the same for every server of a block.
    fn seed(&self, trial: &Trial, draw: Draw) -> u64 {
        self.plan.campaign.seed ^ (u64::from(trial.block) << 8 | draw as u64) << 32
    }

    /// The requests before and after the window. A server that has one answer gets the request of that answer, whatever
    /// the load is.
    pub(super) fn known(&self, trial: &Trial) -> Result<&[Known]> {
        let known = self.truths_of(trial).known(&trial.workload)?;
        let server = self.plan.server(&trial.server)?;
        Ok(if server.answers_one_request() { &known[..1.min(known.len())] } else { known })
    }

    /// Compares answers with the truth while an open loop is on. A closed loop is left alone, so that its figures stay
    /// what they were.
    pub(super) fn checker(
        &self,
        trial: &Trial,
        known: &[Known],
        subject: &Subject,
    ) -> Result<Option<Watcher<CheckedWindow>>> {
        if trial.rate.is_none() {
            return Ok(None);
        }
        let truths = self.truths_of(trial);
        let requests = match known {
            [one] if truths.known(&trial.workload)?.len() > 1 => {
                Arc::new(RequestSource::one(one.body.clone(), one.truth.clone()))
            }
            _ => truths.source(&trial.workload)?,
        };
        let timeout = Duration::from_millis(self.plan.campaign.timeout_ms);
        Ok(Some(checker::begin(Checker {
            connection: Connection::new(&subject.target, timeout)?,
            stream: requests.stream(self.seed(trial, Draw::Check)),
            state: Arc::clone(&truths.state),
            any_context: truths.any_context,
            checked: Checked::default(),
            differences: Differences::default(),
            highest: BTreeMap::new(),
        })))
    }
}
