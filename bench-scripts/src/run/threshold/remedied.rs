//! Once a search has found where servers fail, the remedy of each likely cause is tried there. Where it takes the symptom away, the
//! search is made again with it.

use anyhow::{Context, Result};

use crate::analysis::causes::{Remedy, Standing};
use crate::analysis::threshold::{SearchPlan, Searched};
use crate::analysis::{TriedRemedy, threshold, tried_remedies};
use crate::config::{Campaign, Server};
use crate::interrupt::Interrupt;
use crate::load::toolchain::Tools;
use crate::plan::Plan;
use crate::results::{REMEDIED, RunFolder, SEARCHES};
use crate::run::remedies::Inquiry;
use crate::run::search::{begin, begun, search};

/// Finds causes and tries remedies, as far as the campaign says.
pub(super) fn explain(folder: &RunFolder, tools: &Tools, interrupt: &Interrupt) -> Result<()> {
    let plan = folder.plan()?;
    let trials = plan.campaign.remedy_trials;
    if trials == 0 {
        return Ok(());
    }
    let again = match begun(folder, REMEDIED)? {
        Some(again) => again,
        None => {
            let inquiry = Inquiry { outer: folder, folder, plan: &plan, tools, interrupt };
            inquiry.try_remedies_of(&threshold::read(folder)?.causes, trials)?;
            let (servers, searches) = with_remedies(folder, &folder.read_json(SEARCHES)?)?;
            if searches.searches.is_empty() {
                return Ok(());
            }
            let names = servers.iter().map(|server| server.name.clone()).collect();
            let campaign = Campaign { servers: names, remedy_trials: 0, ..plan.campaign.clone() };
            let plan = Plan { campaign, servers, ..plan };
            let again = RunFolder::create_inside(folder, REMEDIED)?;
            begin(&again, &plan, &searches, tools, &folder.conditions()?.command)?;
            again
        }
    };
    search::<SearchPlan>(&again, tools, interrupt)
}

/// The servers whose remedy took the symptom away, and a search for each.
fn with_remedies(folder: &RunFolder, before: &SearchPlan) -> Result<(Vec<Server>, SearchPlan)> {
    let mut servers: Vec<Server> = Vec::new();
    let mut searches = Vec::new();
    for (tried, server) in folder.remedied_servers()? {
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

impl RunFolder {
    /// Each remedy that took the symptom away, and the server with it.
    fn remedied_servers(&self) -> Result<Vec<(TriedRemedy, Server)>> {
        let mut found = Vec::new();
        for (tried, inner) in tried_remedies(self)? {
            let confirmed = tried.confirmation.is_some_and(|of| of.standing == Standing::Confirmed);
            let Some((name, _)) = tried.plan.remedied.clone().filter(|_| confirmed) else { continue };
            let server = inner.plan()?.servers.into_iter().find(|server| server.name == name);
            found.push((tried, server.with_context(|| format!("{} has no {name}", inner.0.display()))?));
        }
        Ok(found)
    }
}
