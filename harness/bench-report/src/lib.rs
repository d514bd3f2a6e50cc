//! What a person reads: `report.md`, its charts, and the part of the README that quotes a run.
//!
//! Made from a results folder alone, on any machine, with no load tool and no server.

pub mod all_runs;
mod answer;
mod causes;
mod charts;
mod checked;
mod columns;
pub mod compare;
mod conditions;
mod differences;
pub mod export;
mod faults;
mod format;
mod headline;
pub mod html;
pub mod instructions;
pub mod moves;
pub mod pages;
mod reference;
mod search;
mod sections;
mod templates;
mod verdicts;
mod views;

use std::collections::BTreeSet;

use anyhow::Result;
use jiff::SignedDuration;
use serde::Serialize;

use bench_core::ceilings::{Ceiling, ceilings as ceilings_of};
use bench_core::config::{RunningAt, Server};
use bench_core::faults::{Kind, rank};
use bench_core::plan::Plan;
use bench_core::results::{CEILINGS, Conditions, DUETS, REPORT, RunFolder, SEARCH, SUMMARY, pretty};
use bench_core::workload::Workload;
use bench_core::{
    Cell, Comparison, SUMMARY_VERSION, Summary, Uncounted, diagnosed, summarize, valid, views::Shown,
    without_valid_trial,
};

use charts::Drawn;
pub use format::shell;
pub use headline::{headline, headline_in, so_far};
pub use sections::markdown;

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
    /// What each load tool could send, in an open loop.
    pub ceilings: Vec<Ceiling>,
    /// What its search was measured with and on, where it has begun.
    pub searched_on: Option<Conditions>,
    /// All cells: rate, latency, and what was used.
    figures: Vec<Shown>,
    /// What each of several load hosts is.
    hosts: BTreeSet<String>,
    /// How long it took; none where that is not known.
    took: Option<SignedDuration>,
}

impl Run {
    /// Reads a results folder and works its summary out.
    pub fn load(folder: &RunFolder) -> Result<Self> {
        let (name, plan) = (folder.name(), folder.plan()?);
        let observations = folder.observations()?;
        let searched = folder.inside(SEARCH);
        let searched_on = searched.as_ref().map(RunFolder::conditions).transpose()?;
        let conditions = folder.conditions()?;
        let mut summary = summarize(&plan.campaign, &plan.levels(), &plan.trials, &observations);
        if folder.is_packed() {
            // It has ended, whatever would be run again today.
            summary.left = 0;
        }
        summary.causes = diagnosed(&plan.campaign, &conditions.servers, conditions.host.cores, &observations);
        summary.remedies = bench_core::remedies(folder)?;
        summary.faults = bench_core::faults_of_run(folder, &observations)?;
        summary.search = searched.as_ref().map(bench_core::search::read).transpose()?;
        summary.views = bench_core::views::shown(&plan, &summary.cells, &observations)?;
        let duets = match folder.inside(DUETS) {
            Some(inner) => Some(Self::load(&inner)?),
            None => plan.duets().map(|plan| Self::not_begun(folder, plan, &conditions)),
        };
        let ceilings = folder.inside(CEILINGS).map(|inner| inner.observations()).transpose()?;
        let ceilings = ceilings.map_or_else(Vec::new, |observations| ceilings_of(&observations));
        let duets = duets.map(Box::new);
        let spoiled = without_valid_trial(&plan, &summary);
        summary.faults.extend(spoiled);
        if let Some(duets) = &duets {
            summary.faults.extend(without_valid_trial(&duets.plan, &duets.summary));
        }
        rank(&mut summary.faults);
        let figures = bench_core::views::of_all_cells(&plan, &summary.cells, &observations)?;
        let hosts = observations.iter().filter_map(valid).flat_map(|sample| &sample.load.details.hosts);
        let hosts = hosts.map(|host| format!("{} ({}): {}", host.rank, host.name, host.kind)).collect();
        let inner = [DUETS, SEARCH].into_iter().filter_map(|name| folder.inside(name));
        let inner = inner.map(|inner| inner.observations()).collect::<Result<Vec<_>>>()?;
        let all = observations.iter().chain(inner.iter().flatten());
        let took = conditions::took(&conditions.started_at, all).filter(|_| conditions.resumed.is_empty());
        Ok(Self { name, conditions, plan, summary, duets, ceilings, searched_on, figures, hosts, took })
    }

    /// A run of which nothing has been measured.
    fn not_begun(folder: &RunFolder, plan: Plan, conditions: &Conditions) -> Self {
        let summary = summarize(&plan.campaign, &plan.levels(), &plan.trials, &[]);
        Self {
            name: folder.name(),
            plan,
            conditions: conditions.clone(),
            summary,
            duets: None,
            ceilings: Vec::new(),
            searched_on: None,
            figures: Vec::new(),
            hosts: BTreeSet::new(),
            took: None,
        }
    }

    /// Whether it is a gate's, of servers against themselves at a commit.
    fn is_gate_of_commit(&self) -> bool {
        self.conditions.command.contains(" gate --base-rev ")
    }

    /// What a reader knows a server by; a name that the plan does not have stands for itself.
    pub fn label<'a>(&'a self, server: &'a str) -> &'a str {
        self.plan.servers.iter().find(|known| known.name == server).map_or(server, Server::label)
    }

    /// What a reader knows a cell by.
    pub fn cell_name(&self, cell: &Cell) -> String {
        let server = self.label(&cell.server);
        let by = match cell.level.rate.is_none() && self.plan.campaign.closed_loop_tools().len() > 1 {
            true => format!(" by {}", cell.level.tool.name()),
            false => String::new(),
        };
        format!("{server}{}{by}", self.paired(cell.beside.as_deref()))
    }

    /// The server paired with another one, as it stands behind that one's name.
    fn paired(&self, beside: Option<&str>) -> String {
        format::known(beside, "", |other| format!(" paired with {}", self.label(other)))
    }

    /// What a reader knows a compared pair by.
    fn pair(&self, pair: &Comparison) -> String {
        format!("{} / {}", self.label(&pair.server), self.label(&pair.over))
    }

    /// Itself, and the runs inside it whose trials count as its own: duets.
    fn parts(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.duets.as_deref())
    }

    /// Trials that gave no figure, in the sweep and in the runs inside it.
    pub fn failed(&self) -> impl Iterator<Item = &Uncounted> {
        self.parts().flat_map(|part| &part.summary.failed)
    }

    /// Faults of which a run has not shown what it is for: wrong answers, services that ended, trials that are missing.
    /// One line each.
    ///
    /// # Errors
    /// A template has no value for a name.
    pub fn grave_faults(&self) -> Result<Vec<String>> {
        self.faults_in_words(|kind| kind.is_grave())
    }

    /// Why the run is not all that it should be although it went to its end: its grave faults, searches without an
    /// answer, and bounds that do not hold, one line each.
    ///
    /// # Errors
    /// As [`Self::grave_faults`].
    pub fn shortcomings(&self) -> Result<Vec<String>> {
        let missed = self.summary.bounds.iter().filter(|bound| !bound.holds).map(|bound| {
            let (rule, workload) = (&bound.rule, &bound.workload);
            format!("{}, {workload}: not shown to be {}", rule.of(&|name| name.to_owned()), rule.words())
        });
        Ok(self.grave_faults()?.into_iter().chain(self.searches_given_up()).chain(missed).collect())
    }

    /// What the headline is to show and has no valid trial of, because the machine spoiled them all: one line each. It
    /// is no shortcoming of the servers, which answered.
    ///
    /// # Errors
    /// As [`Self::grave_faults`].
    pub fn without_valid_trial(&self) -> Result<Vec<String>> {
        self.faults_in_words(|kind| *kind == Kind::NoValidTrial)
    }

    fn faults_in_words(&self, is_meant: impl Fn(&Kind) -> bool) -> Result<Vec<String>> {
        let faults = self.summary.faults.iter().filter(|fault| is_meant(&fault.kind));
        faults.map(|fault| faults::words(self.label(&fault.server), fault)).collect()
    }

    /// Trials that were measured and count nowhere, in the sweep and in the runs inside it.
    pub fn invalid(&self) -> impl Iterator<Item = &Uncounted> {
        self.parts().flat_map(|part| &part.summary.invalid)
    }

    /// Trials that are known to be needed and have not run.
    pub fn left(&self) -> usize {
        self.parts().map(|part| part.summary.left).sum()
    }

    /// Trials that have an observation.
    pub fn observed(&self) -> usize {
        self.parts().map(|part| part.summary.observed).sum()
    }

    /// Its server, where it has one alone that ran already.
    fn alone(&self) -> Option<(&Server, &RunningAt)> {
        let [server] = self.plan.servers.as_slice() else { return None };
        Some((server, server.running_at()?))
    }

    /// The workloads whose figures it shows; others are background loads.
    pub fn measured_workloads(&self) -> impl Iterator<Item = &Workload> {
        let measured = &self.plan.campaign.workloads;
        self.plan.workloads.iter().filter(|workload| measured.contains(&workload.name))
    }

    /// Whether the values of all answers are known; else only what a workload states of them is compared.
    fn knows_whole_answers(&self) -> bool {
        self.measured_workloads().all(Workload::knows_whole_answers)
    }

    /// The server with which it was found what the load tools can send, in a sentence.
    pub fn ceiling_words(&self) -> String {
        match &self.plan.campaign.ceiling {
            Some(name) if !self.plan.is_ceiling(name) => {
                format!("{}, which the campaign names as its ceiling", self.label(name))
            }
            _ => "the server that answers at once".to_owned(),
        }
    }

    /// Whether it measures servers at loads that the campaign names, and no search alone.
    pub fn has_sweep(&self) -> bool {
        !self.plan.levels().is_empty()
    }

    /// Whether its campaign's search, where there is one, is still to be ended.
    pub fn searches_left(&self) -> bool {
        let search = self.summary.search.as_ref();
        self.plan.campaign.search.is_some() && search.is_none_or(|summary| summary.left > 0)
    }
}

/// Writes `summary.json`, the charts, `report.md` and `report.html` into a results folder, in place of earlier ones.
pub fn write(folder: &RunFolder) -> Result<Run> {
    let run = Run::load(folder)?;
    write_summary(folder, &run.summary)?;
    if let (Some(inner), Some(duets)) = (folder.inside(DUETS), &run.duets) {
        write_summary(&inner, &duets.summary)?;
    }
    let drawn = drawn(&run);
    write_text(folder, &run, &drawn)?;
    html::write(folder, &bench_core::foreign_text::escaped_lines(&sections::markdown(&run, false)?), &drawn)?;
    Ok(run)
}

/// Writes what of a packed run's report is kept: its text and the charts in it. The other charts are removed.
///
/// # Errors
/// The run can't be read, or its folder can't be changed.
pub fn write_brief(folder: &RunFolder) -> Result<()> {
    let run = Run::load(folder)?;
    let drawn = drawn(&run);
    let shown = write_text(folder, &run, &drawn)?;
    let others = drawn.iter().map(|(file, _)| file.as_str()).filter(|file| !shown.contains(file));
    folder.remove_charts(others)
}

/// Writes the text of a report, brief where the run is packed, and its charts, whose files it gives.
fn write_text<'a>(folder: &RunFolder, run: &Run, drawn: &'a [Drawn]) -> Result<Vec<&'a str>> {
    let text = sections::markdown(run, folder.is_packed())?;
    let text = bench_core::foreign_text::escaped_lines(&text);
    let mut shown = Vec::new();
    for (file, chart) in drawn.iter().filter(|(file, _)| text.contains(&format!("({file})"))) {
        folder.write_derived(file, &charts::svg(chart))?;
        shown.push(file.as_str());
    }
    folder.write_derived(REPORT, &text)?;
    Ok(shown)
}

fn write_summary(folder: &RunFolder, summary: &Summary) -> Result<()> {
    #[derive(Serialize)]
    struct Versioned<'a> {
        schema_version: u32,
        #[serde(flatten)]
        summary: &'a Summary,
    }
    folder.write_derived(SUMMARY, &pretty(&Versioned { schema_version: SUMMARY_VERSION, summary })?)
}

/// The charts of a run's report, by their files.
fn drawn(run: &Run) -> Vec<Drawn> {
    let pictures = views::pictures(run).chain(charts::ratios(run));
    let search = charts::search::chart(run).map(|chart| ("search.svg".to_owned(), chart));
    pictures.map(|picture| (picture.file, picture.chart)).chain(search).collect()
}
