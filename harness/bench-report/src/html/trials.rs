//! Every trial of a run and of the runs inside it, with what was counted.

use anyhow::{Context, Result};
use minijinja::context;

use super::super::Run;
use super::super::format::{dash, load, significant, thousands, time_us};
use bench_core::figure::Figure;
use bench_core::invalid_reason;
use bench_core::observation::Observation;
use bench_core::results::{Conditions, RunFolder};

/// One trial, as the page's template has it.
struct Row {
    is_in_part: bool,
    shown: minijinja::Value,
}

/// The table of all trials that have an observation, in the order in which they ran; those of runs inside a run behind
/// its own. None where there are none.
///
/// # Errors
/// A file of the run can't be read.
pub(super) fn trials(folder: &RunFolder) -> Result<Option<minijinja::Value>> {
    let mut rows = Vec::new();
    of_folder(folder, "", None, &mut rows)?;
    let has_parts = rows.iter().any(|row| row.is_in_part);
    let rows: Vec<minijinja::Value> = rows.into_iter().map(|row| row.shown).collect();
    Ok((!rows.is_empty()).then(|| context! { rows, has_parts }))
}

fn of_folder(folder: &RunFolder, part: &str, outer: Option<&Conditions>, rows: &mut Vec<Row>) -> Result<()> {
    if !folder.has_plan() {
        return Ok(());
    }
    let own = folder.has_conditions().then(|| folder.conditions()).transpose()?;
    let conditions =
        own.as_ref().or(outer).with_context(|| format!("{} has no environment.json", folder.0.display()))?;
    let run = Run::not_begun(folder, folder.plan()?, conditions);
    let name = "observations.ndjson";
    let print = match folder.0.join(name).is_file() {
        true if part.is_empty() => format!("cat {name}"),
        true => format!("cat {part}/{name}"),
        false => format!("tar -xOf run.tar.xz {name}"),
    };
    for (line, observation) in (1..).zip(folder.observations()?) {
        let whole = format!("{print} | sed -n {line}p");
        rows.push(row(&run, part, whole, &observation));
    }
    let mut inner = super::entries(&folder.0)?;
    inner.retain(|path| path.is_dir());
    for inner in inner.into_iter().map(RunFolder) {
        let name = inner.name();
        let part = if part.is_empty() { name } else { format!("{part}/{name}") };
        of_folder(&inner, &part, Some(conditions), rows)?;
    }
    Ok(())
}

fn row(run: &Run, part: &str, whole: String, observation: &Observation) -> Row {
    let Observation { trial, outcome, .. } = observation;
    let figure = |figure| outcome.sample()?.figure(figure).filter(|value: &f64| value.is_finite());
    // Measured, and counted nowhere.
    let spoiled = || outcome.sample().and_then(invalid_reason).map(|reason| format!("invalid: {reason}"));
    // As a reader has it, and as a table is sorted by it.
    let cell = |value: Option<f64>, write: fn(f64) -> String| context! { text => dash(value, write), value };
    let level = trial.level();
    let shown = context! {
        // The folder inside the run's in which the trial is kept; empty: its own.
        part,
        number => trial.number,
        block => trial.block,
        server => run.label(&trial.server).to_owned() + &run.paired(trial.beside.as_deref()),
        request => trial.workload.as_str(),
        load => context! { text => load(level), value => f64::from(level.amount()) },
        rate => cell(figure(Figure::RequestsPerSecond), thousands),
        p99 => cell(figure(Figure::P99Us), time_us),
        cpu => cell(figure(Figure::CpuUsPerRequest), significant),
        outcome => outcome.failure().or_else(spoiled).unwrap_or_else(|| "measured".to_owned()),
        // Prints what was recorded, in the run's folder.
        whole,
    };
    Row { is_in_part: !part.is_empty(), shown }
}
