//! A part of a run that has a folder and a plan of its own: the run itself, or one inside it; and the servers that
//! others' answers are compared with in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{Bench, Truths, begin_folder, opening};
use crate::interrupt::{Interrupt, Interrupted};
use crate::owned_process::remove_if_empty;
use crate::subject::{self, Subject};
use bench_core::config::Server;
use bench_core::load::toolchain::Tools;
use bench_core::observation::Observation;
use bench_core::plan::{Plan, Trial};
use bench_core::provenance::programs;
use bench_core::results::{ENVIRONMENT, RunFolder, pretty};
use bench_core::target::Target;

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

/// Which trials a part of a run needs, by its plan and what was observed so far alone.
pub(super) trait Question {
    /// The trials that come next after these observations; none where it is answered.
    fn next(&mut self, observations: &[Observation]) -> Result<Vec<Trial>>;

    /// A trial begins.
    fn begins(&self, _trial: &Trial) {}

    /// The trial of the last of these observations has ended.
    fn ended(&mut self, _observations: &[Observation]) -> Result<()> {
        Ok(())
    }
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

    /// The true answers of its plan, and the references that it starts for them: those that do not run already, each
    /// once.
    ///
    /// # Errors
    /// A reference does not start (with the last line that it wrote), or an answer is not known.
    fn truths(&self) -> Result<(Truths, Running)> {
        let mut plan = self.plan.clone();
        let mut running = Running::default();
        let mut targets: BTreeMap<String, Target> = BTreeMap::new();
        for reference in plan.workloads.iter_mut().flat_map(|workload| workload.references_mut()) {
            let is_it = |entry: &&Server| reference.url.is_empty() && entry.name == reference.server;
            let Some(entry) = self.plan.references.iter().find(is_it) else { continue };
            if !targets.contains_key(&entry.name) {
                let stderr = self.folder.0.join(format!("tool-output/reference-{}.stderr", entry.name));
                let (environment, opening) = (&self.plan.campaign.environment, opening(&self.plan)?);
                let started = Subject::start(entry, environment, opening, &stderr, self.interrupt);
                let started = started.with_context(|| format!("the reference, server {}", entry.name))?;
                targets.insert(entry.name.clone(), started.target.clone());
                running.0.push((started, stderr));
            }
            let target = &targets[&entry.name];
            (reference.url, reference.access) = (target.url(), target.access().clone());
        }
        Ok((Truths::of(&plan)?, running))
    }

    /// Starts each server once, before anything is measured, to note its effective settings. A server that does not
    /// start is left to its trials, which say so.
    fn note_ready_lines(&self) -> Result<()> {
        let Self { folder, plan, interrupt, .. } = self;
        let mut conditions = folder.conditions()?;
        let environment = &plan.campaign.environment;
        let opening = opening(plan)?;
        let stderr = folder.0.join("tool-output/ready.stderr");
        let begun_with = std::mem::take(&mut conditions.programs);
        conditions.programs = programs(plan, Path::new("."));
        conditions.programs.extend(begun_with);
        for server in &plan.servers {
            if conditions.servers.contains_key(&server.name) {
                continue;
            }
            // What a program says of its settings does not depend on its layout.
            let program = plan.programs(server).into_iter().next().unwrap_or_default();
            let server = &Server { program, ..server.clone() };
            match Subject::start(server, environment, opening.clone(), &stderr, interrupt) {
                Ok(subject) => {
                    let mut ready = subject.ready.clone();
                    // What differs at every start is no setting.
                    for moment in ["addr", "metrics", "pid", "ws"] {
                        ready.as_object_mut().map(|ready| ready.remove(moment));
                    }
                    conditions.servers.insert(server.name.clone(), ready);
                    subject.process.stop(interrupt)?;
                }
                Err(error) if error.is::<Interrupted>() => return Err(error),
                Err(error) => bench_core::note!("{error:#}"),
            }
        }
        // The trials have files of their own.
        for own in [subject::upstream_stderr(&stderr), stderr] {
            let _ = std::fs::remove_file(own);
        }
        folder.write_derived(ENVIRONMENT, &pretty(&conditions)?)
    }

    /// Runs what a question names, each observation recorded before the next trial begins, until it names no more.
    /// A run that is resumed goes on where it ended, since a question knows the observations alone.
    pub fn answer(&self, question: &mut impl Question) -> Result<()> {
        let mut observations = self.folder.observations()?;
        let mut next = question.next(&observations)?;
        if next.is_empty() {
            return Ok(());
        }
        let (truths, _running) = self.truths()?;
        self.note_ready_lines()?;
        let Self { folder, plan, tools, interrupt } = self;
        let bench = Bench { folder, plan, tools, truths: &truths, interrupt };
        while !next.is_empty() {
            for group in bench.groups(&next) {
                group.iter().for_each(|trial| question.begins(trial));
                for observation in bench.run_group(group)? {
                    folder.append(&observation)?;
                    observations.push(observation);
                    question.ended(&observations)?;
                }
            }
            next = question.next(&observations)?;
        }
        Ok(())
    }
}

/// Servers that others' answers are compared with, and that the harness starts for it: they run until it is dropped,
/// and where they write their standard error.
#[derive(Default)]
pub(super) struct Running(Vec<(Subject, PathBuf)>);

impl Drop for Running {
    fn drop(&mut self) {
        for (subject, stderr) in self.0.drain(..) {
            drop(subject);
            remove_if_empty(&stderr);
        }
    }
}
