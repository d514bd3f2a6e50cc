//! What a person reads: `report.md`, its charts, and the part of the README that quotes a run.
//!
//! Made from a results folder alone, on any machine, with no load tool and no server.

pub mod bursts;
pub mod calibration;
mod causes;
mod chart;
mod commands;
pub mod compare;
mod differences;
mod duets;
mod format;
mod headline;
mod power_chart;
mod quantile_chart;
mod resource_chart;
mod sections;
mod splice;
mod tables;
mod terms;
mod threshold;
pub mod why;

use anyhow::Result;

use crate::analysis::threshold::Ending;
use crate::analysis::{FailedTrial, Figure, Summary, diagnosed, summarize};
use crate::plan;
use crate::results::{Conditions, DUETS, Plan, RunFolder, THRESHOLD, pretty};

pub use format::shell;
pub use headline::headline;
pub use splice::{Spliced, quoted, splice};

/// All that a report is made from.
#[derive(Debug)]
pub struct Run {
    /// The folder's name.
    pub name: String,
    /// What was to be done.
    pub plan: Plan,
    /// What it was measured with and on.
    pub conditions: Conditions,
    /// What came of it.
    pub summary: Summary,
    /// Its duets, where it has any.
    pub duets: Option<Box<Self>>,
    /// What its searches for thresholds were measured with and on, where they have begun.
    pub searched_on: Option<Conditions>,
}

impl Run {
    /// Reads a results folder and works its summary out.
    pub fn load(folder: &RunFolder) -> Result<Self> {
        let plan = folder.plan()?;
        let observations = folder.observations()?;
        let searched = folder.inside(THRESHOLD);
        let searched_on = searched.as_ref().map(RunFolder::conditions).transpose()?;
        let conditions = folder.conditions()?;
        let mut summary = summarize(&plan.campaign, &plan.connections(), &plan.trials, &observations);
        summary.causes = diagnosed(&plan.campaign, &conditions.servers, conditions.host.cores, &observations);
        summary.remedies = folder.remedies()?;
        if let Some(inner) = &searched {
            summary.threshold = Some(inner.threshold()?);
        }
        let duets = match folder.inside(DUETS) {
            Some(inner) => Some(Self::load(&inner)?),
            None => plan.duets().map(|plan| Self::not_begun(folder, plan, &conditions)),
        };
        Ok(Self { name: folder.name(), conditions, plan, summary, duets: duets.map(Box::new), searched_on })
    }

    /// A run of which nothing has been measured.
    fn not_begun(folder: &RunFolder, plan: Plan, conditions: &Conditions) -> Self {
        let summary = summarize(&plan.campaign, &plan.connections(), &plan.trials, &[]);
        Self {
            name: folder.name(),
            conditions: conditions.clone(),
            plan,
            summary,
            duets: None,
            searched_on: None,
        }
    }

    /// Trials that gave no figure, in the sweep and in the duets.
    pub fn failed(&self) -> impl Iterator<Item = &FailedTrial> {
        self.summary.failed.iter().chain(self.duets.iter().flat_map(|duets| &duets.summary.failed))
    }

    /// Trials that are known to be needed and have not run.
    pub fn left(&self) -> usize {
        self.summary.left + self.duets.as_ref().map_or(0, |duets| duets.summary.left)
    }

    /// Whether it measures servers at connection counts that the campaign names, and not thresholds alone.
    pub fn has_sweep(&self) -> bool {
        !self.plan.connections().is_empty()
    }

    /// Whether a search for a threshold was given up, since trials showed nothing of the server.
    pub fn has_unmeasured(&self) -> bool {
        let mut searches = self.summary.threshold.iter().flat_map(|summary| &summary.searches);
        searches.any(|search| search.found.ending == Ending::Unmeasured)
    }

    /// Whether its campaign's searches for thresholds, where there are any, are still to be ended.
    pub fn searches_left(&self) -> bool {
        let summary = self.summary.threshold.as_ref();
        self.plan.campaign.threshold.is_some() && summary.is_none_or(|summary| summary.left > 0)
    }
}

impl Plan {
    /// The connection counts that are measured, as the campaign orders them.
    pub fn connections(&self) -> Vec<u32> {
        let left_out = |count: &u32| self.left_out_connections.contains(count);
        self.campaign.connections.iter().copied().filter(|count| !left_out(count)).collect()
    }

    /// The plan of the duets, where the campaign asks for them.
    pub fn duets(&self) -> Option<Self> {
        let campaign = self.campaign.duet_campaign()?;
        let servers = self.servers.iter().filter(|server| campaign.servers.contains(&server.name));
        Some(Self {
            servers: servers.cloned().collect(),
            trials: plan::trials(&campaign),
            left_out_connections: Vec::new(),
            campaign,
            ..self.clone()
        })
    }
}

impl Conditions {
    /// How and when the run was begun and gone on with.
    fn history(&self) -> String {
        let mut text = format!("`{}`, begun {}", self.command, self.started_at);
        for resumed in &self.resumed {
            let commit = resumed.commit.as_deref().unwrap_or("unavailable");
            text.push_str(&format!(", gone on with {} (commit {commit})", resumed.at));
        }
        text
    }
}

/// Writes `summary.json`, the charts and `report.md` into a results folder, in place of earlier ones.
pub fn write(folder: &RunFolder) -> Result<Run> {
    let run = Run::load(folder)?;
    folder.write_derived("summary.json", &pretty(&run.summary)?)?;
    if let (Some(inner), Some(duets)) = (folder.inside(DUETS), &run.duets) {
        inner.write_derived("summary.json", &pretty(&duets.summary)?)?;
    }
    let charts = [("throughput.svg", Figure::RequestsPerSecond), ("p99.svg", Figure::P99Us)];
    for (name, figure) in charts.into_iter().filter(|_| run.has_sweep()) {
        folder.write_derived(name, &chart::svg(&run, figure)?)?;
    }
    for (name, chart) in
        [("quantiles.svg", quantile_chart::svg(&run)?), ("resources.svg", resource_chart::svg(&run)?)]
    {
        if let Some(chart) = chart {
            folder.write_derived(name, &chart)?;
        }
    }
    folder.write_derived("report.md", &sections::markdown(&run))?;
    Ok(run)
}
