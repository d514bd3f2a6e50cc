//! Two runs compared: every cell that both have, after over before. Two runs share no blocks, so nothing is paired
//! between them; whether the machine or the commit is the cause is not decided here.

use std::collections::BTreeMap;
use std::fmt::Display;

use anyhow::{Result, ensure};

use serde::Serialize;

use super::observed::{Observed, Samples};
use super::summary::{Summary, summarize};
use crate::config::Placement;
use crate::figure::Figure;
use crate::load::Level;
use crate::observation::Observation;
use crate::plan::Plan;
use crate::results::Conditions;
use crate::stats::{Estimate, Ranked};

/// A run with all that was observed in it.
#[derive(Debug, Clone)]
pub struct Measured {
    /// The folder's name.
    pub name: String,
    /// What was to be done.
    pub plan: Plan,
    /// What it was measured with and on.
    pub conditions: Conditions,
    /// What was observed.
    pub observations: Vec<Observation>,
}

/// Something of each of the two runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Both<T> {
    /// Of the first run.
    pub before: T,
    /// Of the second run.
    pub after: T,
}

impl<T> Both<T> {
    /// What a function makes of each.
    pub fn map<'a, U>(&'a self, function: impl Fn(&'a T) -> U) -> Both<U> {
        Both { before: function(&self.before), after: function(&self.after) }
    }
}

/// Server, workload, load.
type CellKey<'a> = (&'a str, &'a str, Level);

/// The figures that are compared.
pub const FIGURES: [Figure; 3] = [Figure::RequestsPerSecond, Figure::CpuUsPerRequest, Figure::P99Us];

/// What changed in one cell from the first run to the second.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The server.
    pub server: String,
    /// The workload.
    pub workload: String,
    /// The load.
    pub level: Level,
    /// By the order of [`FIGURES`], after over before; each interval is right by itself with 95 %. None where a run has no
    /// valid trial.
    pub ratios: [Option<Estimate>; FIGURES.len()],
    /// Valid trials of each run.
    pub blocks: Both<usize>,
}

/// What changed from one run to another.
#[derive(Debug, Clone)]
pub struct Between {
    /// Every cell that both runs have.
    pub changes: Vec<Change>,
    /// Measured trials of common cells that were left out: steal, throttling.
    pub invalid_trials: Both<usize>,
    /// Servers, workloads and loads that only one of the runs has.
    pub unshared: Both<Vec<String>>,
    /// Each run by itself.
    pub summaries: Both<Summary>,
}

/// Compares two runs.
///
/// # Errors
/// One line: the runs have no cell in common, or did not do the same in a common cell.
pub fn between(runs: Both<&Measured>) -> Result<Between> {
    let places = common_places(runs)?;
    same_task(runs, &places)?;
    ensure!(
        runs.after.plan.campaign.environment.placement != Placement::Duet,
        "{} can't be compared: in both, two servers ran at the same time, so none has figures by itself; their \
         reports have the ratios, and compare --all pools them",
        names(runs)
    );
    let observed = runs.map(|run| Observed::new(&run.observations));
    let invalid_trials = |observed: &Observed<'_>| {
        let of = |(server, workload, level): &CellKey<'_>| observed.invalid((server, None, workload, *level));
        places.iter().flat_map(|place| of(place).into_values()).sum()
    };
    let change = |place: &CellKey<'_>| {
        let samples = observed.map(|observed| observed.samples(place.0, place.1, place.2));
        Change {
            server: place.0.to_owned(),
            workload: place.1.to_owned(),
            level: place.2,
            ratios: FIGURES.map(|figure| ratio(&samples.map(|samples| logs(figure, samples)))),
            blocks: samples.map(BTreeMap::len),
        }
    };
    Ok(Between {
        changes: places.iter().map(change).collect(),
        invalid_trials: observed.map(invalid_trials),
        unshared: Both {
            before: unshared(&runs.before.plan, &runs.after.plan),
            after: unshared(&runs.after.plan, &runs.before.plan),
        },
        summaries: runs.map(|run| {
            let plan = &run.plan;
            summarize(&plan.campaign, &plan.levels(), &plan.trials, &run.observations)
        }),
    })
}

/// ln of a figure in each sample that has it.
fn logs(figure: Figure, samples: &Samples<'_>) -> Vec<f64> {
    let values = samples.values().filter_map(|sample| Some(sample.figure(figure)?.ln()));
    values.filter(|value| value.is_finite()).collect()
}

/// The ratio of the second run's values to the first's, from their logarithms.
fn ratio(logs: &Both<Vec<f64>>) -> Option<Estimate> {
    Some(Ranked::unpaired(&logs.after, &logs.before)?.at_confidence().map(f64::exp))
}

/// The cells that both plans have, as the second orders them.
fn common_places(runs: Both<&Measured>) -> Result<Vec<CellKey<'_>>> {
    let (before, after) = (&runs.before.plan, &runs.after.plan);
    let held = before.levels();
    let mut places = Vec::new();
    for workload in after.campaign.workloads.iter().filter(|name| before.campaign.workloads.contains(name)) {
        for level in after.levels().into_iter().filter(|level| held.contains(level)) {
            let servers = after.campaign.servers.iter();
            let common = servers.filter(|name| {
                before.campaign.servers.contains(name)
                    && [before, after].iter().all(|plan| plan.campaign.measures(name, workload, level))
            });
            places.extend(common.map(|server| (server.as_str(), workload.as_str(), level)));
        }
    }
    ensure!(
        !places.is_empty(),
        "{} have no cell in common: no server with the same workload and load",
        names(runs)
    );
    Ok(places)
}

/// Whether both runs did the same in the cells that they share: a ratio of two different tasks has no meaning.
fn same_task(runs: Both<&Measured>, places: &[CellKey<'_>]) -> Result<()> {
    let tasks = runs.map(|run| task(&run.plan));
    for ((what, before), (_, after)) in tasks.before.iter().zip(&tasks.after) {
        same(runs, what, before, after)?;
    }
    for (_, name, _) in places {
        let workloads = runs.map(|run| run.plan.workload(name).ok());
        let traffic = workloads.map(|workload| workload.map(|w| &w.traffic));
        ensure!(
            traffic.before == traffic.after,
            "{} can't be compared: {name} sends other requests, or expects other answers",
            names(runs)
        );
    }
    for (server, _, _) in places {
        let sums = runs.map(|run| run.conditions.servers.get(*server)?["ledger"]["sha256"].as_str());
        if let (Some(before), Some(after)) = (sums.before, sums.after) {
            same(runs, &format!("the SHA-256 of {server}'s ledger"), &before, &after)?;
        }
    }
    Ok(())
}

/// The settings of all cells of a run, as words.
fn task(plan: &Plan) -> Vec<(&'static str, String)> {
    let campaign = &plan.campaign;
    let described = campaign.environment.described(plan.threads).into_iter();
    let mut task: Vec<_> = described.filter(|setting| setting.is_task).map(|s| (s.name, s.words)).collect();
    let open = campaign.open.as_ref();
    let tools: Vec<&str> = campaign.closed_loop_tools().iter().map(|tool| tool.name()).collect();
    task.extend([
        ("the load tool of closed loops", tools.join(", ")),
        ("the arms' settings", own_settings(plan)),
        ("whether connections are only held", campaign.hold.to_string()),
        ("the background load", format!("{:?}", open.and_then(|open| open.background.as_ref()))),
        ("how servers are stopped", format!("{:?}", open.and_then(|open| open.stall))),
        ("warm-up", format!("{} ms", campaign.warmup_ms)),
        ("connections of the warm-up", format!("{:?}", campaign.warmup_connections)),
        ("the window", format!("{} ms", campaign.window_ms)),
        ("the timeout", format!("{} ms", campaign.timeout_ms)),
        ("the time for connecting", format!("{} ms", campaign.connect_ms)),
    ]);
    task
}

/// The servers' settings that differ from the environment's, as words.
fn own_settings(plan: &Plan) -> String {
    let own = plan.servers.iter().filter(|server| !server.overrides.is_empty());
    own.map(|server| format!("{}: {}", server.name, server.overrides.words())).collect::<Vec<_>>().join("; ")
}

fn same<T: PartialEq + Display>(runs: Both<&Measured>, what: &str, before: &T, after: &T) -> Result<()> {
    ensure!(
        before == after,
        "{} can't be compared: {what} is {before} in the first and {after} in the second",
        names(runs)
    );
    Ok(())
}

fn names(runs: Both<&Measured>) -> String {
    format!("{} and {}", runs.before.name, runs.after.name)
}

/// What `plan` has and `other` lacks.
fn unshared(plan: &Plan, other: &Plan) -> Vec<String> {
    let lacks = |of: &[String], all: &[String]| {
        of.iter().filter(|name| !all.contains(name)).cloned().collect::<Vec<String>>()
    };
    let held = other.levels();
    let loads = plan.levels().into_iter().filter(|level| !held.contains(level));
    let (campaign, other) = (&plan.campaign, &other.campaign);
    let servers = lacks(&campaign.servers, &other.servers);
    let workloads = lacks(&campaign.workloads, &other.workloads);
    servers.into_iter().chain(workloads).chain(loads.map(|level| level.to_string())).collect()
}
