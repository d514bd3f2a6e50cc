//! Room for a trial on the disk of its run. Without it the load tool would fail where the disk is at fault.

use anyhow::Result;

use super::Bench;
use bench_model::observation::Outcome;
use bench_model::plan::Trial;
use bench_system::probe::free_space;

/// What any trial may write, in bytes: what tools and servers print, its observation, and the report in the end.
const ANY: u64 = 32 << 20;

/// What one request of an open loop takes beyond its body: its place in the tool's input, in the tool's record of it
/// and in the harness's.
const OF_A_REQUEST: u64 = 512;

/// Bodies are written in base64 by some tools, and may be written again with the answers.
const COPIES_OF_A_BODY: u64 = 3;

impl Bench<'_> {
    /// Whether its folder has room for a trial.
    ///
    /// # Errors
    /// One line: the folder, its disk, what is free, and what is needed. That ends the run, which can be resumed.
    pub(in crate::run) fn check_room(&self, trial: &Trial) -> Result<()> {
        let campaign = &self.plan.campaign;
        let window_ms = trial.window_ms.unwrap_or(campaign.window_ms) + campaign.warmup_ms;
        let requests = u64::from(trial.rate.unwrap_or(0)) * window_ms / 1_000;
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
