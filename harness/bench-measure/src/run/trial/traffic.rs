//! What a trial sends: how much, which bodies, which of them are compared with the truth, and whether there is room for
//! what is written of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use super::Bench;
use super::checker::{self, CheckedWindow, Checker};
use crate::client::Connection;
use crate::probe::free_space;
use crate::probe::watcher::Watcher;
use crate::subject::Subject;
use bench_core::load::Load;
use bench_core::load::load_tool::Bodies;
use bench_core::observation::{Checked, Differences, Outcome};
use bench_core::plan::Trial;
use bench_core::workload::Traffic;
use bench_core::workload::requests::{Known, RequestSource};

/// What any trial may write, in bytes: what tools and servers print, its observation, and the report in the end.
const ANY: u64 = 32 << 20;

/// What one request of an open loop takes beyond its body: its place in the tool's input, in the tool's record of it
/// and in the harness's.
const OF_A_REQUEST: u64 = 512;

/// Bodies are written in base64 by some tools, and may be written again with the answers.
const COPIES_OF_A_BODY: u64 = 3;

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

    /// The measured window, in milliseconds.
    pub(super) fn window_ms(&self, trial: &Trial) -> u64 {
        trial.window_ms.unwrap_or(self.plan.campaign.window_ms)
    }

    /// Whether the disk of its folder has room for a trial. Without it the load tool would fail where the disk is at
    /// fault.
    ///
    /// # Errors
    /// One line: the folder, its disk, what is free, and what is needed. That ends the run, which can be resumed.
    pub(in crate::run) fn check_room(&self, trial: &Trial) -> Result<()> {
        let load_ms = self.window_ms(trial) + self.plan.campaign.warmup_ms;
        let requests = u64::from(trial.rate.unwrap_or(0)) * load_ms / 1_000;
        let body = self.truths_of(trial).first(&trial.workload).map_or(0, |known| known.body.len() as u64);
        let needed = ANY + requests * (OF_A_REQUEST + COPIES_OF_A_BODY * body);
        free_space::check(&self.folder.0, needed)
    }

    /// The same after a trial in which the load tool failed: whether the disk may be why.
    ///
    /// # Errors
    /// As above.
    pub(in crate::run) fn check_failure(&self, trial: &Trial, outcome: &Outcome) -> Result<()> {
        if matches!(outcome, Outcome::ToolFailed { .. }) { self.check_room(trial) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::interrupt::Interrupt;
    use crate::run::Truths;
    use bench_core::config::{ConfigDir, Instead};
    use bench_core::load::toolchain::Tools;
    use bench_core::results::RunFolder;

    #[test]
    fn a_trial_at_a_rate_needs_room_for_each_of_its_requests() {
        let dir = tempfile::tempdir().unwrap();
        let folder = &RunFolder::create(dir.path(), "test").unwrap();
        let (mut plan, _) =
            crate::run::resolve(&ConfigDir::of_repository(), "smoke", &Instead::default()).unwrap();
        // More seconds at the highest rate than any disk has room for.
        (plan.campaign.window_ms, plan.campaign.warmup_ms) = (1_000_000, 0);
        let (plan, truths, interrupt) = (&plan, &Truths::of(&plan).unwrap(), &Interrupt::install().unwrap());
        let bench = Bench { folder, plan, tools: &Tools::of([], Path::new("")), truths, interrupt };
        let needed = |rate| {
            let trial = Trial { rate: Some(rate), ..plan.trials[0].clone() };
            let said = bench.check_room(&trial).unwrap_err().to_string();
            let (_, needed) = said.split_once("a trial may take ").unwrap();
            let (mebibytes, _) = needed.split_once(" MiB").unwrap();
            mebibytes.replace(',', "").parse::<f64>().unwrap()
        };
        assert!(bench.check_room(&plan.trials[0]).is_ok(), "a closed loop keeps nothing of a request");
        let (half, whole) = (needed(u32::MAX / 2), needed(u32::MAX));
        assert!((1.99..2.01).contains(&(whole / half)), "{whole} and {half} MiB");
    }
}
