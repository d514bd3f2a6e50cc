//! Trying remedies: where a likely cause has one, trials with it and without it, in turns, in a folder of their own. The report
//! works out what they say from the folder alone.

use std::collections::{BTreeMap, HashSet};

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Bench, Truths, begin_folder, opening, search};
use crate::analysis::causes::{Cause, Remedied, Remedy, Standing, remedied};
use crate::analysis::{Diagnosed, RemedyPlan, diagnosed, tried_remedy};
use crate::config::{Campaign, Server};
use crate::interrupt::{Interrupt, Interrupted};
use crate::load::toolchain::Tools;
use crate::plan::{self, Plan};
use crate::probe::host;
use crate::results::{REMEDIES, REMEDY, RunFolder, pretty};
use crate::subject::Subject;

/// What finding causes works on: a run, or an inner one of it.
pub struct Inquiry<'a> {
    /// The run's folder, in which the trials' folders are made.
    pub outer: &'a RunFolder,
    /// The folder of the observations: the run's own, or one inside it.
    pub folder: &'a RunFolder,
    /// Its plan.
    pub plan: &'a Plan,
    /// The load tools.
    pub tools: &'a Tools,
    /// Ends every wait.
    pub interrupt: &'a Interrupt,
}

impl Inquiry<'_> {
    /// Finds the likely causes of what failed or was slow, and tries the remedy of each that has one: for each server and
    /// workload at the smallest load that shows it, `trials` times without and with the remedy. Remedies that were tried
    /// already, before the run was stopped, are not tried again.
    pub fn try_remedies(&self, trials: u32) -> Result<()> {
        if trials == 0 {
            return Ok(());
        }
        let conditions = self.folder.conditions()?;
        let observations = self.folder.observations()?;
        let cores = conditions.host.cores;
        let found = diagnosed(&self.plan.campaign, &conditions.servers, cores, &observations);
        self.try_remedies_of(&found, trials)
    }

    /// The same for causes that are known; by rising load.
    pub fn try_remedies_of(&self, found: &[Diagnosed], trials: u32) -> Result<()> {
        let conditions = self.folder.conditions()?;
        let mut tried = HashSet::new();
        for cell in found {
            for cause in &cell.diagnosis.causes {
                let Some(remedy) = cause.remedy else { continue };
                if tried.insert((&cell.server, &cell.workload, cell.client, remedy)) {
                    self.try_until_one_helps(cell, cause, trials, &conditions.servers)?;
                }
            }
        }
        Ok(())
    }

    /// The cause's remedy, and what is to be tried next where that did not take the symptom away.
    fn try_until_one_helps(
        &self,
        cell: &Diagnosed,
        cause: &Cause,
        trials: u32,
        ready: &BTreeMap<String, Value>,
    ) -> Result<()> {
        let mut remedy = cause.remedy;
        while let Some(next) = remedy {
            let cause = Cause { remedy, ..cause.clone() };
            let tried = tried_remedy(&self.try_remedy(cell, &cause, next, trials, ready)?)?;
            let helped = tried.confirmation.is_some_and(|of| of.standing == Standing::Confirmed);
            remedy = if helped { None } else { next.next(tried.plan.refused.is_some()) };
        }
        Ok(())
    }

    /// Tries a remedy in a folder of its own, and gives that.
    fn try_remedy(
        &self,
        cell: &Diagnosed,
        cause: &Cause,
        remedy: Remedy,
        trials: u32,
        ready: &BTreeMap<String, Value>,
    ) -> Result<RunFolder> {
        let Diagnosed { server, workload, connections, client, .. } = cell;
        let with = if client.is_default() { String::new() } else { format!("-{}", client.name()) };
        let name = format!("{server}-{workload}-c{connections}{with}-{remedy:?}").to_lowercase();
        let name = format!("{REMEDIES}/{name}");
        if !self.outer.0.join(&name).join(REMEDY).is_file() {
            // It may have been stopped before that file, the last: nothing has run in it then.
            let unfinished = self.outer.0.join(&name);
            if unfinished.is_dir() {
                std::fs::remove_dir_all(&unfinished)
                    .with_context(|| format!("can't remove {}", unfinished.display()))?;
            }
            let inner = RunFolder::create_inside(self.outer, &name)?;
            eprintln!(
                "{server}, {workload} at {connections}: likely that {}; trying {}",
                cause.sentence,
                remedy.words()
            );
            let known = search::server(self.plan, server)?;
            let tried = self.remedied(known, ready.get(server).unwrap_or(&Value::Null), cause)?;
            let (plan, remedied, refused) = match tried {
                Ok(with) => {
                    let named = (with.server.name.clone(), with.change);
                    (self.inner_plan(cell, known, with.server, trials, remedy), Some(named), None)
                }
                Err(reason) => (self.inner_plan(cell, known, known.clone(), 0, remedy), None, Some(reason)),
            };
            begin_folder(&inner, &plan, "", self.tools, &self.outer.conditions()?.command)?;
            let remedy = RemedyPlan {
                server: server.clone(),
                workload: workload.clone(),
                connections: *connections,
                client: *client,
                cause: cause.clone(),
                remedied,
                refused,
            };
            inner.write_new(REMEDY, &pretty(&remedy)?)?;
        }
        let inner = RunFolder(self.outer.0.join(&name));
        self.run_trials(&inner)?;
        Ok(inner)
    }

    /// The server with the remedy, or why that can't be tried; a server that refuses its new setting reports that itself.
    fn remedied(&self, server: &Server, ready: &Value, cause: &Cause) -> Result<Result<Remedied, String>> {
        let Some(remedy) = cause.remedy else { return Ok(Err("there is no remedy".to_owned())) };
        let most_backlog = self.folder.conditions()?.host.max_backlog;
        let tried = match remedied(server, ready, remedy, most_backlog, host::open_files()) {
            Ok(tried) => tried,
            Err(reason) => return Ok(Err(reason)),
        };
        let request = &opening(self.plan)?;
        let stderr = self.outer.0.join("tool-output/remedy.stderr");
        let environment = &self.plan.campaign.environment;
        let started = Subject::start(&tried.server, environment, request, &stderr, self.interrupt);
        // Where it did not start, its last line is in the error.
        let _ = std::fs::remove_file(&stderr);
        match started {
            Ok(subject) => {
                subject.process.stop(self.interrupt)?;
                Ok(Ok(tried))
            }
            Err(error) if error.is::<Interrupted>() => Err(error),
            Err(error) => Ok(Err(format!("{error:#}"))),
        }
    }

    /// The trials: both servers once in each block, in a drawn order.
    fn inner_plan(
        &self,
        cell: &Diagnosed,
        server: &Server,
        with: Server,
        trials: u32,
        remedy: Remedy,
    ) -> Plan {
        let campaign = Campaign {
            name: REMEDIES.to_owned(),
            servers: vec![server.name.clone(), with.name.clone()],
            workloads: vec![cell.workload.clone()],
            connections: vec![cell.connections],
            max_blocks: trials,
            max_extra_blocks: Some(0),
            precision: None,
            duets: None,
            threshold: None,
            slo: None,
            ..search::alone(self.plan.campaign.clone())
        };
        let mut trials = plan::trials(&campaign);
        for trial in &mut trials {
            let is_other = remedy == Remedy::OtherClient && trial.server == with.name;
            trial.client = if is_other { cell.client.other() } else { cell.client };
        }
        let servers = vec![server.clone(), with];
        Plan {
            campaign,
            servers,
            left_out_connections: Vec::new(),
            left_out_rates: Vec::new(),
            rates: Vec::new(),
            trials,
            ..self.plan.clone()
        }
    }

    fn run_trials(&self, inner: &RunFolder) -> Result<()> {
        inner.repair()?;
        let plan = inner.plan()?;
        let truths = Truths::of(&plan)?;
        let bench = Bench {
            folder: inner,
            plan: &plan,
            tools: self.tools,
            truths: &truths,
            interrupt: self.interrupt,
        };
        let observations = inner.observations()?;
        let done: HashSet<u32> = observations.iter().map(|observation| observation.trial.number).collect();
        for trial in plan.trials.iter().filter(|trial| !done.contains(&trial.number)) {
            inner.append(&bench.run(trial)?)?;
        }
        Ok(())
    }
}
