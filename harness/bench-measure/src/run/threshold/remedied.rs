//! Once a search has found where servers fail, the remedy of each likely cause is tried there. Where it takes the
//! symptom away, the search is made again with it.

use anyhow::{Context, Result};

use crate::run::search::search;
use crate::run::stage::Stage;
use bench_analysis::diagnosis::{Remedy, Standing};
use bench_analysis::threshold::{SearchPlan, Searched};
use bench_analysis::{TriedRemedy, threshold, tried_remedies};
use bench_model::config::{Campaign, Server};
use bench_model::results::{REMEDIED, RunFolder, SEARCHES, pretty};

/// Finds causes and tries remedies, as far as the campaign says.
pub(super) fn explain(stage: &Stage<'_>) -> Result<()> {
    let campaign = &stage.plan.campaign;
    if campaign.remedy_trials == 0 {
        return Ok(());
    }
    let folder = &stage.folder;
    stage.try_remedies_of(&threshold::read(folder)?.causes)?;
    let (servers, searches) = with_remedies(folder, &folder.read_json(SEARCHES)?)?;
    if searches.searches.is_empty() {
        return Ok(());
    }
    let again = stage.inside(REMEDIED, |folder| {
        folder.write_new(SEARCHES, &pretty(&searches)?)?;
        Ok(stage.plan.part(servers, Campaign { remedy_trials: 0, ..campaign.clone() }))
    })?;
    search::<SearchPlan>(&again)
}

/// The servers whose remedy took the symptom away, and a search for each.
fn with_remedies(folder: &RunFolder, before: &SearchPlan) -> Result<(Vec<Server>, SearchPlan)> {
    let mut servers: Vec<Server> = Vec::new();
    let mut searches = Vec::new();
    for (tried, server) in remedied_servers(folder)? {
        // The other client's limits are others, so its search is one of the campaign's, if it says so.
        if tried.plan.cause.remedy == Some(Remedy::OtherClient) {
            continue;
        }
        let found = before.searches.iter().find(|searched| is_of(searched, &tried));
        let searched = found.with_context(|| format!("no search is of {}", tried.plan.server))?;
        searches.push(Searched { server: server.name.clone(), ..searched.clone() });
        if !servers.contains(&server) {
            servers.push(server);
        }
    }
    Ok((servers, SearchPlan { searches, ..before.clone() }))
}

fn is_of(searched: &Searched, tried: &TriedRemedy) -> bool {
    let plan = &tried.plan;
    (&searched.server, &searched.workload, searched.client) == (&plan.server, &plan.workload, plan.client)
}

/// Each remedy that took the symptom away, and the server with it.
fn remedied_servers(folder: &RunFolder) -> Result<Vec<(TriedRemedy, Server)>> {
    let mut found = Vec::new();
    for (tried, inner) in tried_remedies(folder)? {
        let confirmed = tried.confirmation.is_some_and(|of| of.standing == Standing::Confirmed);
        let Some((name, _)) = tried.plan.remedied.clone().filter(|_| confirmed) else { continue };
        found.push((tried, inner.plan()?.server(&name)?.clone()));
    }
    Ok(found)
}
