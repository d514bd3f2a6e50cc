//! The faults of a whole run, and those that no single trial shows: causes that are named whatever else went wrong, and
//! what of the headline has no valid trial.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Result;

use super::cell::Cell;
use super::diagnosed::{Diagnosed, diagnosed};
use super::diagnosis::{Cause, CauseKind};
use super::faults::{Fault, Kind, Purpose, faults, rank};
use super::invalid_trials::Uncounted;
use super::observed::Lost;
use super::summary::Summary;
use super::views::range;
use crate::load::Level;
use crate::observation::Observation;
use crate::plan::Plan;
use crate::results::{CEILINGS, DUETS, RunFolder, SEARCH};

/// The causes that are faults of a service by themselves, at whatever load they show.
const FAULTS: [CauseKind; 4] =
    [CauseKind::Stalled, CauseKind::OneAtATime, CauseKind::MemoryGrows, CauseKind::SlowShare];

/// The faults of a run: of its own observations, and of those in the folders inside it, but for what load tools were
/// found to send.
///
/// # Errors
/// A folder's observations can't be read.
pub fn of_run(folder: &RunFolder, observations: &[Observation]) -> Result<Vec<Fault>> {
    let mut inside = Vec::new();
    observations_inside(folder, &mut inside)?;
    let own = observations.iter().map(|observation| (Purpose::Measure, observation));
    let mut all = faults(own.chain(inside.iter().map(|(purpose, observation)| (*purpose, observation))));
    all.extend(of_folder(folder, observations)?);
    if let Some(search) = folder.inside(SEARCH) {
        all.extend(of_folder(&search, &search.observations()?)?);
    }
    rank(&mut all);
    Ok(all)
}

fn observations_inside(folder: &RunFolder, found: &mut Vec<(Purpose, Observation)>) -> Result<()> {
    for entry in fs::read_dir(&folder.0)?.filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !entry.path().is_dir() || name == CEILINGS {
            continue;
        }
        let inner = RunFolder(entry.path());
        let purpose = if name == DUETS { Purpose::Measure } else { Purpose::Search };
        found.extend(inner.observations()?.into_iter().map(|observation| (purpose, observation)));
        observations_inside(&inner, found)?;
    }
    Ok(())
}

/// The faults that a folder's trials show together: of each kind the one at the lowest load.
///
/// # Errors
/// A file of the folder can't be read.
fn of_folder(folder: &RunFolder, observations: &[Observation]) -> Result<Vec<Fault>> {
    let (plan, conditions) = (folder.plan()?, folder.conditions()?);
    let found = diagnosed(&plan.campaign, &conditions.servers, conditions.host.cores, observations);
    let mut faults: Vec<Fault> = Vec::new();
    for (cell, cause) in found.iter().flat_map(|cell| cell.diagnosis.causes.iter().map(move |of| (cell, of)))
    {
        if !FAULTS.contains(&cause.kind) {
            continue;
        }
        let fault = named(cell, cause);
        let same = |known: &&mut Fault| {
            (&known.server, &known.workload, &known.kind) == (&fault.server, &fault.workload, &fault.kind)
        };
        match faults.iter_mut().find(same) {
            Some(known) if known.from.amount() <= fault.from.amount() => {}
            Some(known) => *known = fault,
            None => faults.push(fault),
        }
    }
    Ok(faults)
}

fn named(cell: &Diagnosed, cause: &Cause) -> Fault {
    let from = cell.open.unwrap_or(Level { connections: cell.connections, ..Level::default() });
    let kind = match cause.kind {
        CauseKind::Stalled => Kind::Stalled,
        kind => Kind::Cause(kind),
    };
    let trials = cell.diagnosis.trials as u64;
    fault(&cell.server, &cell.workload, from, kind, trials, &cause.sentence)
}

fn fault(server: &str, workload: &str, from: Level, kind: Kind, trials: u64, example: &str) -> Fault {
    Fault {
        server: server.to_owned(),
        workload: workload.to_owned(),
        kind,
        count: trials,
        of: None,
        trials,
        of_trials: trials,
        from,
        example: Some(example.to_owned()),
        after_s: None,
    }
}

/// What the headline is to show and has no valid trial of, because the machine spoiled them all. Nothing while trials
/// are left: one of these may still be valid. In a duet, ratios of CPU time that count in spite of steal are what it is
/// for.
pub fn without_valid_trial(plan: &Plan, summary: &Summary) -> Vec<Fault> {
    let is_meant = |cell: &&Cell| {
        let Cell { server, beside, workload, level, .. } = cell;
        let is_compared = |other: &String| {
            let mut pairs = summary.comparisons.iter();
            pairs.any(|pair| {
                pair.is_of(server, other, workload, *level) || pair.is_of(other, server, workload, *level)
            })
        };
        cell.all_invalid().is_some()
            && !beside.as_ref().is_some_and(is_compared)
            && plan.headline_levels(workload).contains(level)
            && !plan.is_ceiling(server)
    };
    let of_cell = |cell: &Cell| {
        let Cell { server, beside, workload, level, .. } = cell;
        let is_of = |trial: &&Uncounted| {
            (&trial.server, &trial.beside, &trial.workload, trial.level) == (server, beside, workload, *level)
        };
        let lost: Vec<&Uncounted> = summary.invalid.iter().filter(is_of).collect();
        fault(server, workload, *level, Kind::NoValidTrial, lost.len() as u64, &taken(&lost))
    };
    let cells = summary.cells.iter().filter(|_| summary.left == 0);
    cells.filter(is_meant).map(of_cell).collect()
}

/// What took the processors from these trials, and from how much to how much of them.
fn taken(trials: &[&Uncounted]) -> String {
    let mut by_reason: BTreeMap<Lost, Vec<f64>> = BTreeMap::new();
    for trial in trials {
        let shares = by_reason.entry(trial.lost.unwrap_or(Lost::NotMeasured)).or_default();
        shares.extend(trial.share.map(|share| (share * 100.0).round()));
    }
    let words = by_reason.into_iter().map(|(lost, shares)| {
        let (least, most) = range(shares.into_iter()).unwrap_or_default();
        let range = if least == most { format!("{most:.0} %") } else { format!("{least:.0} to {most:.0} %") };
        match lost {
            Lost::Steal => format!("the hypervisor took {range}"),
            Lost::ForeignCpu => format!("other processes used {range}"),
            lost => lost.words().to_owned(),
        }
    });
    words.collect::<Vec<_>>().join("; ")
}
