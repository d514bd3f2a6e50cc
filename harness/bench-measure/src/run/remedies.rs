//! Trying remedies: where a likely cause has one, trials with it and without it, in turns, in a folder of their own.
//! The report works out what they say from the folder alone.

use std::collections::HashSet;

use anyhow::Result;
use serde_json::Value;

use super::opening;
use super::stage::Stage;
use crate::interrupt::Interrupted;
use crate::probe::host;
use crate::subject::Subject;
use bench_core::config::{Campaign, Server};
use bench_core::diagnosis::{Cause, Remedied, Remedy, Standing, remedied};
use bench_core::plan::Plan;
use bench_core::results::{Conditions, REMEDIES, REMEDY, RunFolder, pretty};
use bench_core::{Diagnosed, RemedyPlan, diagnosed, tried_remedy};

impl Stage<'_> {
    /// Finds the likely causes of what failed or was slow, and tries the remedy of each that has one: for each server
    /// and workload at the smallest load that shows it, as often as the campaign says without and with the remedy.
    /// Remedies that were tried already, before the run was stopped, are not tried again.
    pub fn try_remedies(&self) -> Result<()> {
        if self.plan.campaign.remedy_trials == 0 {
            return Ok(());
        }
        let Conditions { servers, host, .. } = self.folder.conditions()?;
        let observations = self.folder.observations()?;
        self.try_remedies_of(&diagnosed(&self.plan.campaign, &servers, host.cores, &observations))
    }

    /// The same for causes that are known; by rising load.
    pub fn try_remedies_of(&self, found: &[Diagnosed]) -> Result<()> {
        let mut tried = HashSet::new();
        for cell in found {
            for cause in cell.diagnosis.causes.iter().filter(|cause| cause.remedy.is_some()) {
                if tried.insert((&cell.server, &cell.workload, cell.client, cause.remedy)) {
                    self.try_until_one_helps(cell, cause)?;
                }
            }
        }
        Ok(())
    }

    /// The cause's remedy, and what is to be tried next where that did not take the symptom away.
    fn try_until_one_helps(&self, cell: &Diagnosed, cause: &Cause) -> Result<()> {
        let mut remedy = cause.remedy;
        while let Some(next) = remedy {
            let cause = Cause { remedy, ..cause.clone() };
            let tried = tried_remedy(&self.try_remedy(cell, &cause, next)?)?;
            let helped = tried.confirmation.is_some_and(|of| of.standing == Standing::Confirmed);
            remedy = if helped { None } else { next.next(tried.plan.refused.is_some()) };
        }
        Ok(())
    }

    /// Tries a remedy in a folder of its own, and gives that.
    fn try_remedy(&self, cell: &Diagnosed, cause: &Cause, remedy: Remedy) -> Result<RunFolder> {
        let &Diagnosed { ref server, ref workload, connections, client, .. } = cell;
        let with = if client.is_default() { String::new() } else { format!("-{}", client.name()) };
        let name = format!("{server}-{workload}-c{connections}{with}-{remedy:?}").to_lowercase();
        let stage = self.inside(&format!("{REMEDIES}/{name}"), |inner| {
            let (likely, words) = (&cause.sentence, remedy.words());
            bench_core::note!("{server}, {workload} at {connections}: likely that {likely}; trying {words}");
            let known = self.plan.server(server)?;
            let (with, remedied, refused) = match self.remedied(known, remedy)? {
                Ok(Remedied { server, change }) => (Some(server.clone()), Some((server.name, change)), None),
                Err(reason) => (None, None, Some(reason)),
            };
            let (server, workload, cause) = (server.clone(), workload.clone(), cause.clone());
            let of = RemedyPlan { server, workload, connections, client, cause, remedied, refused };
            inner.write_new(REMEDY, &pretty(&of)?)?;
            Ok(self.remedy_plan(cell, known, with, remedy))
        })?;
        stage.sweep(&|| ())?;
        Ok(stage.folder)
    }

    /// The server with the remedy, or why that can't be tried; a server that refuses its new setting reports that
    /// itself.
    fn remedied(&self, server: &Server, remedy: Remedy) -> Result<Result<Remedied, String>> {
        let conditions = self.folder.conditions()?;
        let ready = conditions.servers.get(&server.name).unwrap_or(&Value::Null);
        let tried = remedied(server, ready, remedy, conditions.host.max_backlog, host::open_files());
        let Ok(tried) = tried else { return Ok(tried) };
        let opening = opening(&self.plan)?;
        let stderr = self.folder.0.join("tool-output/remedy.stderr");
        let environment = &self.plan.campaign.environment;
        let started = Subject::start(&tried.server, environment, opening, &stderr, self.interrupt);
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

    /// The trials: both servers once in each block, in a drawn order. None where the remedy was refused.
    fn remedy_plan(&self, cell: &Diagnosed, server: &Server, with: Option<Server>, remedy: Remedy) -> Plan {
        let campaign = &self.plan.campaign;
        let campaign = Campaign {
            workloads: vec![cell.workload.clone()],
            connections: vec![cell.connections],
            max_blocks: if with.is_some() { campaign.remedy_trials } else { 0 },
            max_extra_blocks: Some(0),
            precision: None,
            max_minutes: None,
            ..campaign.part(REMEDIES)
        };
        let servers = std::iter::once(server.clone()).chain(with).collect();
        let mut plan = self.plan.part(servers, campaign);
        for trial in &mut plan.trials {
            let is_other = remedy == Remedy::OtherClient && trial.server != server.name;
            trial.client = if is_other { cell.client.other() } else { cell.client };
        }
        plan
    }
}
