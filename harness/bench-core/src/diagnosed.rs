//! The causes found in a run: one diagnosis for each server, workload and load that has something to explain, and the
//! result of each remedy that was tried.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::diagnosis::{Cause, Confirmation, Diagnosis, LoadSetting, confirm, diagnose};
use super::observed::disturbed;
use crate::config::Campaign;
use crate::load::{Client, Level, LoadTool};
use crate::observation::Observation;
use crate::results::{REMEDIES, REMEDY, RunFolder};

/// A diagnosis and what it is of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnosed {
    /// The server.
    pub server: String,
    /// The workload.
    pub workload: String,
    /// Connections.
    pub connections: u32,
    /// The load tool's client.
    #[serde(default, skip_serializing_if = "Client::is_default")]
    pub client: Client,
    /// The load tool, where the campaign has several of closed loops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<LoadTool>,
    /// The load, in an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<Level>,
    /// What its trials show.
    pub diagnosis: Diagnosis,
}

/// A planned remedy, as `remedy.json` keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RemedyPlan {
    /// The server.
    pub server: String,
    /// The workload.
    pub workload: String,
    /// Connections.
    pub connections: u32,
    /// The load tool's client.
    #[serde(default, skip_serializing_if = "Client::is_default")]
    pub client: Client,
    /// The likely cause.
    pub cause: Cause,
    /// The server with the remedy, and what was changed; `None` where it can't be tried.
    pub remedied: Option<(String, String)>,
    /// Why it can't be tried.
    #[serde(default, serialize_with = "crate::foreign_text::kept_maybe")]
    pub refused: Option<String>,
}

/// A remedy that was tried, or could not be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TriedRemedy {
    /// What was to be tried.
    #[serde(flatten)]
    pub plan: RemedyPlan,
    /// Its result; `None` where it could not be tried.
    pub confirmation: Option<Confirmation>,
}

/// Diagnoses every server, workload and load of a run's observations, without those that the machine disturbed; those
/// with nothing to explain are left out. `ready` are the servers' ready lines, `cores` the machine's.
pub fn diagnosed<'a>(
    campaign: &Campaign,
    ready: &BTreeMap<String, Value>,
    cores: usize,
    observations: impl IntoIterator<Item = &'a Observation>,
) -> Vec<Diagnosed> {
    let mut cells: BTreeMap<(&str, &str, Level, Client), Vec<&Observation>> = BTreeMap::new();
    for observation in observations.into_iter().filter(|observation| !disturbed(&observation.outcome)) {
        let trial = &observation.trial;
        let cell = (trial.workload.as_str(), trial.server.as_str(), trial.level(), trial.client);
        cells.entry(cell).or_default().push(observation);
    }
    let diagnosed = cells.into_iter().map(|((workload, server, level, client), observations)| {
        let ready = ready.get(server).cloned().unwrap_or(Value::Null);
        let connections = level.connections;
        let setting =
            LoadSetting::new(connections, campaign.timeout_ms, cores, campaign.environment.placement, ready);
        Diagnosed {
            server: server.to_owned(),
            workload: workload.to_owned(),
            connections,
            client,
            tool: (campaign.tools.len() > 1).then_some(level.tool),
            open: level.rate.map(|_| level),
            diagnosis: diagnose(&setting, &observations),
        }
    });
    diagnosed.filter(|found| !found.diagnosis.is_healthy()).collect()
}

/// The results of the remedies that were tried in a run, by name.
///
/// # Errors
/// A file of a remedy's folder can't be read.
pub fn remedies(run: &RunFolder) -> Result<Vec<TriedRemedy>> {
    Ok(tried_remedies(run)?.into_iter().map(|(tried, _)| tried).collect())
}

/// The same, each with the folder of its trials.
///
/// # Errors
/// As [`remedies`].
pub fn tried_remedies(run: &RunFolder) -> Result<Vec<(TriedRemedy, RunFolder)>> {
    let Ok(entries) = fs::read_dir(run.0.join(REMEDIES)) else { return Ok(Vec::new()) };
    let mut folders: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    // One that was not begun has no plan yet.
    folders.retain(|path| [REMEDY, "plan.json"].iter().all(|name| path.join(name).is_file()));
    folders.sort();
    let tried = folders.into_iter().map(|path| {
        let inner = RunFolder(path);
        Ok((tried_remedy(&inner)?, inner))
    });
    tried.collect()
}

/// The result of the remedy whose folder this is.
///
/// # Errors
/// As [`remedies`].
pub fn tried_remedy(folder: &RunFolder) -> Result<TriedRemedy> {
    let timeout_ms = folder.plan()?.campaign.timeout_ms;
    let (plan, observations): (RemedyPlan, _) = (folder.read_json(REMEDY)?, folder.observations()?);
    // The trials without the remedy, and those with it.
    let of = |server: &str| -> Vec<Observation> {
        let is_of = |observation: &&Observation| {
            observation.trial.server == server && !disturbed(&observation.outcome)
        };
        observations.iter().filter(is_of).cloned().collect()
    };
    let confirmation = plan
        .remedied
        .as_ref()
        .map(|(remedied, _)| confirm(plan.cause.symptom, timeout_ms, &of(&plan.server), &of(remedied)));
    Ok(TriedRemedy { plan, confirmation })
}
