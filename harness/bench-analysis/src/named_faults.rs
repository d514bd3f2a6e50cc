//! Faults that no single trial shows: causes that are named whatever else went wrong, and what of the headline has no
//! valid trial.

use anyhow::Result;

use super::diagnosed::{Diagnosed, diagnosed};
use super::diagnosis::{Cause, CauseKind};
use super::faults::{Fault, Kind};
use super::invalid_trials::{Spoiled, spoiled};
use super::summary::Summary;
use bench_model::load::Level;
use bench_model::observation::Observation;
use bench_model::plan::Plan;
use bench_model::results::RunFolder;

/// The causes that are faults of a service by themselves, at whatever load they show.
const FAULTS: [CauseKind; 4] =
    [CauseKind::Stalled, CauseKind::OneAtATime, CauseKind::MemoryGrows, CauseKind::SlowShare];

/// The faults that a folder's trials show together: of each kind the one at the lowest load.
///
/// # Errors
/// A file of the folder can't be read.
pub(super) fn of_folder(folder: &RunFolder, observations: &[Observation]) -> Result<Vec<Fault>> {
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
/// are left: one of these may still be valid.
pub fn without_valid_trial(plan: &Plan, summary: &Summary) -> Vec<Fault> {
    if summary.left > 0 {
        return Vec::new();
    }
    let is_headline = |of: &Spoiled<'_>| {
        plan.headline_levels(of.workload).contains(&of.level) && !plan.is_ceiling(of.server)
    };
    let of_cell = |of: Spoiled<'_>| {
        let kind = Kind::NoValidTrial;
        fault(of.server, of.workload, of.level, kind, of.tries as u64, &of.why)
    };
    spoiled(summary).into_iter().filter(is_headline).map(of_cell).collect()
}
