//! "Why it fails": each likely cause with its evidence, and what came of trying its remedy. Its words are in
//! `templates/cause.md.jinja`.

use anyhow::Result;
use minijinja::{Value, context};

use super::Run;
use super::format::{count, known, load};
use super::templates::{data, fill};
use bench_core::diagnosis::{Cause, Standing};
use bench_core::{Diagnosed, TriedRemedy};

/// Each server and load where something failed or was held back.
pub(super) fn all(run: &Run) -> Result<String> {
    run.summary.causes.iter().map(|cell| explained(cell, &run.summary.remedies)).collect()
}

/// One server and load: how much failed, and each of its causes.
pub(super) fn explained(cell: &Diagnosed, remedies: &[TriedRemedy]) -> Result<String> {
    let at = match cell.open {
        Some(level) => {
            let background = if level.disturbed { ", with the background load" } else { "" };
            format!("{} by {}{background}", load(level), level.tool.name())
        }
        None => {
            let client = Some(cell.client).filter(|client| !client.is_default());
            let client = known(client, "", |client| format!(", client {}", client.name()));
            let tool = known(cell.tool, "", |tool| format!(" by {}", tool.name()));
            format!("{}{tool}{client}", count(cell.connections.into()))
        }
    };
    let causes = cell.diagnosis.causes.iter().map(|cause| {
        let tried: Vec<&TriedRemedy> = remedies.iter().filter(|tried| is_of(tried, cell, cause)).collect();
        context! { of => data(cause), standing => standing(&tried), tried => data(tried) }
    });
    let causes: Vec<Value> = causes.collect();
    fill("cause", context! { at, causes, cell => data(cell), is_unknown => cell.diagnosis.is_unknown() })
}

fn is_of(tried: &TriedRemedy, cell: &Diagnosed, cause: &Cause) -> bool {
    let plan = &tried.plan;
    (&plan.server, &plan.workload, plan.connections, plan.client, plan.cause.kind)
        == (&cell.server, &cell.workload, cell.connections, cell.client, cause.kind)
}

/// How sure a cause is after its remedies: confirmed by any of them that took the symptom away, refuted where none
/// changed it.
fn standing(tried: &[&TriedRemedy]) -> &'static str {
    let standings: Vec<Standing> =
        tried.iter().filter_map(|tried| Some(tried.confirmation?.standing)).collect();
    match standings.as_slice() {
        [] => "likely",
        some if some.contains(&Standing::Confirmed) => "**confirmed**",
        some if some.iter().all(|standing| *standing == Standing::Refuted) => "**refuted**",
        _ => "likely, and not decided by the remedy",
    }
}
