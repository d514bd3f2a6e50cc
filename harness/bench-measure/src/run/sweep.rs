//! The trials of a plan, in their order, up to where the comparisons are settled.

use std::collections::HashSet;

use anyhow::Result;

use super::progress::{self, Progress};
use super::stage::{Question, Stage};
use bench_core::observation::Observation;
use bench_core::plan::{Plan, Trial};
use bench_core::{Comparisons, Observed};

/// What of a plan's trials is needed.
struct Sweep<'a> {
    plan: &'a Plan,
    progress: Progress<'a>,
    /// Whether the loads of the headline come first, and are not done.
    first: bool,
    /// Observations that were there before, and those when `so_far` was called last.
    before: usize,
    shown: usize,
    so_far: &'a dyn Fn(),
}

impl Stage<'_> {
    /// Runs what is needed of its plan. Where the campaign compares its headline alone, these loads come first. Calls
    /// `so_far` at the first interim analysis, and when they are done and others follow.
    pub fn sweep(&self, so_far: &dyn Fn()) -> Result<()> {
        let plan = &self.plan;
        let before = self.folder.observations()?.len();
        let first = plan.campaign.compare_headline_only;
        self.answer(&mut Sweep { plan, progress: Progress::new(plan), first, before, shown: 0, so_far })
    }
}

impl Question for Sweep<'_> {
    fn next(&mut self, observations: &[Observation]) -> Result<Vec<Trial>> {
        let Plan { campaign, trials, .. } = self.plan;
        let done: HashSet<u32> = observations.iter().map(|observation| observation.trial.number).collect();
        let observed = Observed::new(observations);
        let standing = Comparisons::new(campaign, &self.plan.levels(), trials, &observed);
        let all = standing.needed(trials, &done);
        let mut needed = all.clone();
        if self.first {
            needed.retain(|trial| trial.level() == self.plan.headline_level(&trial.workload));
        }
        let is_decided = self.first && needed.is_empty();
        let measured = observations.len() > self.before;
        // Of a run that was done before, all was shown.
        let is_new = measured || !all.is_empty();
        let is_first = measured && standing.is_analysed() && self.shown == 0;
        if observations.len() > self.shown && ((is_decided && is_new) || is_first) {
            (self.so_far)();
            self.shown = observations.len();
        }
        if is_decided {
            (self.first, needed) = (false, all);
        }
        if !needed.is_empty() {
            self.progress.stage(needed.len(), observations.len(), standing.run_again());
        }
        Ok(needed.into_iter().cloned().collect())
    }

    fn begins(&self, trial: &Trial) {
        progress::begin(trial);
    }

    fn ended(&mut self, observations: &[Observation]) -> Result<()> {
        let [before @ .., last] = observations else { return Ok(()) };
        let is_next_block = before.last().is_some_and(|before| before.trial.block != last.trial.block);
        if is_next_block && before.len() > self.before {
            self.progress.block_ended(before);
        }
        self.progress.end(last);
        Ok(())
    }
}
