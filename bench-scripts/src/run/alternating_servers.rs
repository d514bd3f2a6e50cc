//! Servers that stay alive through a block, and take turns in windows: nothing between two windows but the end of one load tool
//! and the start of the next.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};

use super::Bench;
use super::trial::{Ending, Warm, outcome_of};
use crate::cgroup::OutOfMemory;
use crate::interrupt::{Interrupt, Interrupted};
use crate::observation::{Observation, Outcome};
use crate::owned_process::remove_if_empty;
use crate::plan::Trial;
use crate::subject::Subject;

/// A server of the block, or why there is none.
struct Live<'a> {
    running: std::result::Result<(Subject, Warm<'a>), Outcome>,
    stderr: PathBuf,
}

impl Live<'_> {
    /// Stops it.
    fn stop(self, interrupt: &Interrupt) -> Result<()> {
        if let Ok((subject, _)) = self.running {
            subject.process.stop(interrupt)?;
        }
        remove_if_empty(&self.stderr);
        Ok(())
    }
}

impl Bench<'_> {
    /// Runs the windows of a block in their order. Each server is started and warmed up once, before the first window, and stopped
    /// after the last. What that takes is divided equally among the servers, and counts with the first window of each.
    ///
    /// # Errors
    /// Only what ends the run: an interrupt, or a results folder that takes no more.
    pub fn run_live(&self, trials: &[&Trial]) -> Result<Vec<Observation>> {
        trials.iter().try_for_each(|trial| self.check_room(trial))?;
        let began = Instant::now();
        let mut servers: BTreeMap<&str, Live<'_>> = BTreeMap::new();
        for trial in trials {
            if !servers.contains_key(trial.server.as_str()) {
                servers.insert(&trial.server, self.start_live(trial)?);
            }
        }
        let mut observations = Vec::new();
        for trial in trials {
            let live = servers.get_mut(trial.server.as_str()).context("a window has no server")?;
            observations.push(self.run_window(trial, live)?);
        }
        let mut names: Vec<String> = servers.keys().map(|name| (*name).to_owned()).collect();
        servers.into_values().try_for_each(|live| live.stop(self.interrupt))?;
        let in_windows: f64 = observations.iter().map(|observation| observation.took_s).sum();
        let each = (began.elapsed().as_secs_f64() - in_windows) / names.len().max(1) as f64;
        for observation in &mut observations {
            if let Some(first) = names.iter().position(|name| *name == observation.trial.server) {
                names.swap_remove(first);
                observation.took_s += each;
            }
        }
        Ok(observations)
    }

    fn start_live(&self, trial: &Trial) -> Result<Live<'_>> {
        let server = self.plan.server(&trial.server)?;
        let workload = self.plan.workload(&trial.workload)?;
        let stderr = self.folder.tool_output(trial, "server.stderr");
        let opening = workload.opening_with(&self.truths_of(trial).first(&workload.name)?.body);
        let environment = &self.plan.campaign.environment;
        let running = match Subject::start(server, environment, opening, &stderr, self.interrupt) {
            Err(error) if error.is::<Interrupted>() => return Err(error),
            Err(error) => Err(match error.downcast_ref::<OutOfMemory>() {
                Some(killed) => Outcome::out_of_memory("before it was ready", *killed),
                None => Outcome::ServerDied { reason: format!("{error:#}") },
            }),
            Ok(mut subject) => match self.make_warm(trial, workload, &subject, None) {
                Ok(warm) => Ok((subject, warm)),
                Err(Ending::Run(error)) => return Err(error),
                Err(ending) => Err(outcome_of(Err(ending), &mut subject)?),
            },
        };
        Ok(Live { running, stderr })
    }

    /// Runs a window of a server that is alive.
    ///
    /// # Errors
    /// Only what ends the run.
    fn run_window(&self, trial: &Trial, live: &mut Live<'_>) -> Result<Observation> {
        let (began, started_at) = (Instant::now(), super::now());
        let workload = self.plan.workload(&trial.workload)?;
        let outcome = match &mut live.running {
            Err(outcome) => outcome.clone(),
            Ok((subject, warm)) => {
                let measured = self.measure_window(trial, workload, subject, warm, None);
                outcome_of(measured, subject)?
            }
        };
        self.check_failure(trial, &outcome)?;
        let took_s = began.elapsed().as_secs_f64();
        Ok(Observation { trial: trial.clone(), started_at, took_s, outcome })
    }
}
