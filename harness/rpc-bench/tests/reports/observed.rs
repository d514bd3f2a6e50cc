//! Runs that no server carried out: what their trials gave, their folders, and how their reports are read.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use bench_core::config::{Campaign, ConfigDir, Instead};
use bench_core::load::{Latency, OpenWindow};
use bench_core::observation::{Observation, Outcome, Sample};
use bench_core::plan::{self, Plan, Trial};
use bench_core::results::{RunFolder, pretty};
use bench_measure::run::resolve;
use bench_report::Run;

use crate::samples::conditions;

/// `quick` as a sweep of legacy and actix alone: one request, one load.
pub fn two_servers() -> Campaign {
    let (quick, _) = ConfigDir::of_repository().campaign("quick").unwrap();
    Campaign {
        servers: ["legacy", "actix"].map(String::from).to_vec(),
        ceiling: None,
        workloads: vec!["getBalance".into()],
        connections: vec![125],
        headline: BTreeMap::new(),
        compare_headline_only: false,
        precision: None,
        max_minutes: None,
        duets: None,
        search: None,
        ..quick
    }
}

/// The plan of a campaign whose servers and workloads are those of the repository.
pub fn plan(campaign: Campaign) -> Plan {
    let config = ConfigDir::of_repository();
    Plan {
        workloads: campaign.workloads.iter().map(|name| config.workload(name).unwrap()).collect(),
        servers: campaign.servers.iter().map(|name| config.server(name).unwrap()).collect(),
        threads: 2,
        trials: plan::trials(&campaign),
        campaign,
        ..Plan::default()
    }
}

/// What came of a trial.
pub fn observation(trial: &Trial, outcome: Outcome) -> Observation {
    Observation { trial: trial.clone(), started_at: String::new(), took_s: 1.0, outcome }
}

/// What came of a trial that was measured.
pub fn completed(sample: Sample) -> Outcome {
    Outcome::Completed(Box::new(sample))
}

/// Every trial of a plan with what it gave.
pub fn observe(plan: &Plan, gave: impl Fn(&Trial) -> Sample) -> Vec<Observation> {
    plan.trials.iter().map(|trial| observation(trial, completed(gave(trial)))).collect()
}

/// Every trial that is run in any case: those of other blocks only where some are lost.
pub fn planned(plan: &Plan) -> impl Iterator<Item = &Trial> {
    plan.trials.iter().filter(|trial| trial.block <= plan.campaign.max_blocks)
}

/// What the trials that are run in any case gave.
pub fn observe_planned(plan: &Plan, gave: impl Fn(&Trial) -> Sample) -> Vec<Observation> {
    planned(plan).map(|trial| observation(trial, completed(gave(trial)))).collect()
}

/// The folder of a run of a plan, measured under these conditions, with what came of it.
pub fn folder(
    results: &Path,
    name: &str,
    plan: &Plan,
    conditions: &str,
    observations: impl IntoIterator<Item = Observation>,
) -> RunFolder {
    let folder = RunFolder::create(results, name).unwrap();
    folder.write_new("campaign.toml", "").unwrap();
    fill(&folder, plan, conditions, observations);
    folder
}

/// Has a folder be that of such a run.
pub fn fill(
    folder: &RunFolder,
    plan: &Plan,
    conditions: &str,
    observations: impl IntoIterator<Item = Observation>,
) {
    folder.write_new("plan.json", &pretty(plan).unwrap()).unwrap();
    folder.write_new("environment.json", conditions).unwrap();
    observations.into_iter().for_each(|observation| folder.append(&observation).unwrap());
}

/// A run in a folder of its own, with its report.
pub struct Reported {
    pub run: Run,
    pub report: String,
    pub folder: RunFolder,
    _dir: tempfile::TempDir,
}

impl Reported {
    pub fn of(plan: &Plan, observations: impl IntoIterator<Item = Observation>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let command = format!("just bench-all {}", plan.campaign.name);
        let folder = folder(dir.path(), "own", plan, &conditions(&command), observations);
        let run = bench_report::write(&folder).unwrap();
        let report = fs::read_to_string(folder.0.join("report.md")).unwrap();
        Self { run, report, folder, _dir: dir }
    }

    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.folder.0.join(file)).unwrap()
    }

    /// The cells of each row of a section's tables, its headers too.
    pub fn rows(&self, heading: &str) -> Vec<Vec<String>> {
        section(&self.report, heading).lines().filter(|line| line.starts_with("| ")).map(cells).collect()
    }
}

/// The plan of a campaign `own` of this text, over the shipped servers and workloads.
pub fn resolved(text: &str) -> Plan {
    let dir = tempfile::tempdir().unwrap();
    let shipped = &ConfigDir::of_repository().0;
    for name in ["workloads", "servers.toml"] {
        symlink(shipped.join(name), dir.path().join(name)).unwrap();
    }
    fs::create_dir(dir.path().join("campaigns")).unwrap();
    fs::write(dir.path().join("campaigns/own.toml"), text).unwrap();
    resolve(&ConfigDir(dir.path().to_owned()), "own", &Instead::default()).unwrap().0
}

/// A section of a report, up to the next heading of its kind.
pub fn section<'a>(report: &'a str, heading: &str) -> &'a str {
    let from = report.split(&format!("## {heading}\n")).nth(1);
    from.unwrap_or_else(|| panic!("no {heading} in {report}")).split("\n## ").next().unwrap()
}

/// The cells of a table's row, the first of them behind an empty one.
pub fn cells(line: &str) -> Vec<String> {
    line.split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// Latencies that are all the same.
pub fn all(us: f64) -> Latency {
    Latency { mean: us, p50: us, p90: us, p99: us, p999: Some(us), max: us }
}

/// A window in which as many requests were sent as were due, each so late, and answered as long after that.
pub fn at_rate(rate: u32, lag_us: f64, from_send_us: f64) -> OpenWindow {
    OpenWindow {
        requested_rate: rate.into(),
        achieved_rate: rate.into(),
        intended: rate.into(),
        sent: rate.into(),
        send_lag_us: Some(all(lag_us)),
        own_lag_us: Some(all(lag_us)),
        from_send_us: all(from_send_us),
    }
}
