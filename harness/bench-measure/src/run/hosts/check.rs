//! What of a campaign and of a pool is refused before anything is started.

use std::net::TcpListener;
use std::path::Path;

use anyhow::{Result, bail, ensure};

use bench_core::config::parts::{BACKGROUND, DUETS, HOLD, NETWORK, PLACEMENT, STAGES};
use bench_core::config::{Campaign, Pool};
use bench_core::machine::on_path;
use bench_core::plan::Plan;
use bench_core::workload::Workload;

/// Whether a campaign's loads can be divided among the hosts of a pool.
///
/// # Errors
/// One line: what of the campaign needs one host, or what is missing.
pub fn check(plan: &Plan, pool: &Pool) -> Result<()> {
    let campaign = &plan.campaign;
    let (name, place) = (&campaign.name, format!("pool {}", pool.name));
    let program = pool.launcher.first().map_or("", String::as_str);
    let is_there = program.starts_with('{') || Path::new(program).is_file() || on_path(program).is_some();
    ensure!(is_there, "{place}: there is no {program} on the PATH; install it, or change the launcher");
    if let Some(template) = &pool.template {
        let path = template.display();
        ensure!(template.is_file(), "{place}: field template: there is no file {path}");
    }
    if let Some(listen) = pool.listen
        && let Err(error) = TcpListener::bind((listen, 0))
    {
        bail!(
            "{place}: servers can't listen on {listen} ({error}); in field listen or --listen, give an address of \
             this machine that the hosts reach"
        );
    }
    let about_newest = plan.workloads.iter().any(Workload::is_about_newest);
    let needs_one = campaign
        .first_of(&[PLACEMENT, DUETS, STAGES, NETWORK, BACKGROUND, HOLD])
        .or(about_newest.then_some("a workload about newest numbers"));
    if let Some(what) = needs_one {
        bail!("campaign {name}: {what} is for a load tool on the server's machine; leave it or --hosts out");
    }
    let hosts = pool.hosts;
    if let Some((field, least)) = divided(campaign).into_iter().find(|(_, amount)| *amount < hosts) {
        bail!("campaign {name}: field {field}: {least} can't be divided among {hosts} hosts");
    }
    Ok(())
}

/// Every connection count and rate of a campaign, by its field. Each host gets at least one.
fn divided(campaign: &Campaign) -> Vec<(&'static str, u32)> {
    let Campaign { open, search, warmup_connections, connections, .. } = campaign;
    let all = |field, amounts: &[u32]| amounts.iter().map(|amount| (field, *amount)).collect::<Vec<_>>();
    let mut found = all("connections", connections);
    found.extend(warmup_connections.map(|amount| ("warmup_connections", amount)));
    if let Some(open) = open {
        found.push(("open.connections", open.connections));
        found.extend(all("open.rates", &open.rates));
    }
    found.extend(search.iter().map(|search| ("search.from", search.from)));
    found.extend(campaign.searched_rate().map(|level| ("search.along.rate.connections", level.connections)));
    found
}
