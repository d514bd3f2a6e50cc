//! A part of a run that has a folder and a plan of its own: the run itself, or one inside it.

use anyhow::Result;

use super::references::{self, Running};
use super::{Bench, Truths, begin_folder, needed, note_ready_lines, progress};
use bench_model::load::toolchain::Tools;
use bench_model::observation::Observation;
use bench_model::plan::{Plan, Trial};
use bench_model::results::RunFolder;
use bench_system::interrupt::Interrupt;

/// A part of a run, begun or resumed.
pub(super) struct Stage<'a> {
    /// Its folder.
    pub folder: RunFolder,
    /// Its plan.
    pub plan: Plan,
    /// The load tools.
    pub tools: &'a Tools,
    /// Ends every wait.
    pub interrupt: &'a Interrupt,
}

impl<'a> Stage<'a> {
    /// The stage of a folder with a plan.
    pub fn open(folder: RunFolder, tools: &'a Tools, interrupt: &'a Interrupt) -> Result<Self> {
        Ok(Self { plan: folder.plan()?, folder, tools, interrupt })
    }

    /// A stage inside this one: resumed where it was begun, and otherwise begun with this plan. What else belongs into
    /// its folder, `plan` writes.
    pub fn inside(&self, name: &str, plan: impl FnOnce(&RunFolder) -> Result<Plan>) -> Result<Self> {
        let folder = match RunFolder::open_inside(&self.folder, name)? {
            Some(folder) => folder,
            None => {
                let folder = RunFolder::create_inside(&self.folder, name)?;
                let command = self.folder.conditions()?.command;
                begin_folder(&folder, &plan(&folder)?, "", self.tools, &command)?;
                folder
            }
        };
        Self::open(folder, self.tools, self.interrupt)
    }

    /// The true answers of its plan, and the references that it starts for them.
    ///
    /// # Errors
    /// A reference does not start, or an answer is not known.
    pub fn truths(&self) -> Result<(Truths, Running)> {
        let (running, plan) = references::start(&self.plan, &self.folder, self.interrupt)?;
        Ok((Truths::of(&plan)?, running))
    }

    /// What its trials share.
    pub fn bench<'b>(&'b self, truths: &'b Truths) -> Bench<'b> {
        let Self { folder, plan, tools, interrupt } = self;
        Bench { folder, plan, tools, truths, interrupt }
    }

    /// Runs the trials of its plan that are needed and have no observation yet. At each interim analysis settled
    /// comparisons stop. Where the campaign compares its headline alone, that is measured first, and `so_far` is called
    /// at its first interim analysis and before the rest.
    pub fn sweep(&self, so_far: &dyn Fn()) -> Result<()> {
        let Self { folder, plan, interrupt, .. } = self;
        if plan.trials.is_empty() {
            return Ok(());
        }
        let (truths, _running) = self.truths()?;
        note_ready_lines(folder, plan, interrupt)?;
        let bench = self.bench(&truths);
        let mut observations = folder.observations()?;
        let mut progress = progress::Progress::new(plan);
        let mut first = plan.campaign.compare_headline_only;
        let (mut analysed, mut shown) = (false, 0);
        loop {
            let (mut needed, run_again) = needed(plan, &observations);
            if needed.is_empty() {
                return Ok(());
            }
            if first {
                let all = needed.clone();
                needed.retain(|trial| trial.level() == plan.headline_level(&trial.workload));
                let is_decided = needed.is_empty();
                if observations.len() > shown && (is_decided || (analysed && shown == 0)) {
                    progress.hidden(so_far);
                    shown = observations.len();
                }
                if is_decided {
                    (first, needed) = (false, all);
                }
            }
            progress.stage(&needed, &observations, run_again);
            bench.run_all(&needed, &mut progress, &mut observations)?;
            analysed = true;
        }
    }
}

impl Bench<'_> {
    /// Runs trials, group by group, and records each observation before the next group begins.
    pub fn run_all(
        &self,
        trials: &[&Trial],
        progress: &mut progress::Progress<'_>,
        observations: &mut Vec<Observation>,
    ) -> Result<()> {
        let mut block = None;
        for group in self.groups(trials) {
            let next = group.first().map(|trial| trial.block);
            if block.is_some() && block != next {
                progress.block_ended(observations);
            }
            block = next;
            group.iter().for_each(|trial| progress.begin(trial));
            for observation in self.run_group(group)? {
                self.folder.append(&observation)?;
                progress.end(&observation);
                observations.push(observation);
            }
        }
        Ok(())
    }
}
