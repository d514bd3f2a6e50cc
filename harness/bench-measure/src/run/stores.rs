//! The trials on block stores: a folder for each chain inside the run's, so that each is compared with its own chain's
//! true answers, and a second one for the light request next to a heavy one.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::stage::Stage;
use crate::owned_process::describe;
use crate::subject;
use bench_model::config::{Background, Campaign, Environment, Neighbour, Open, Server, Stores};
use bench_model::load::Level;
use bench_model::plan;
use bench_model::plan::Plan;
use bench_model::results::RunFolder;
use bench_model::workload::Workload;
use bench_system::foreign_text::bounded;

/// Whether the shortest chain is long enough for the heavy request, and this machine can hold the connections.
pub(super) fn check(stores: &Stores, workloads: &[Workload], most_connections: u64) -> Result<()> {
    let together = stores
        .neighbour
        .as_ref()
        .map_or(0, |neighbour| u64::from(neighbour.connections) + u64::from(neighbour.beside_connections));
    ensure!(
        u64::from(stores.connections).max(together) <= most_connections,
        "table [stores]: this machine holds at most {most_connections} connections; see `just doctor`"
    );
    let Some(neighbour) = &stores.neighbour else { return Ok(()) };
    let needed =
        workloads.iter().find(|workload| workload.name == neighbour.beside).map(Workload::needs_slots);
    let shortest = stores.slots.iter().copied().min().unwrap_or(0);
    ensure!(
        needed <= Some(shortest),
        "field stores.neighbour.beside: {} needs {} slots, and the shortest chain of stores.slots has {shortest}",
        neighbour.beside,
        needed.unwrap_or(0)
    );
    Ok(())
}

/// Builds the program that writes ledger folders.
pub(super) fn build(plan: &Plan, stores: &Stores) -> Result<()> {
    let server = plan.servers.first().context("the campaign has no server")?;
    subject::build(&[Server {
        name: "ledger".to_owned(),
        build: stores.ledger.build.clone(),
        ..server.clone()
    }])
}

/// Runs what is left of the trials on block stores, where a campaign has any.
pub(super) fn carry_out(outer: &Stage<'_>) -> Result<()> {
    let plan = &outer.plan;
    let Some(stores) = &plan.campaign.stores else { return Ok(()) };
    for &slots in &stores.slots {
        write_ledger(&plan.campaign.environment, stores, slots)?;
        outer.inside(&Stores::folder(slots), |_| Ok(requests(plan, stores, slots)))?.sweep(&|| ())?;
        if let Some(neighbour) = &stores.neighbour {
            let part = |_: &RunFolder| Ok(next_to(plan, stores, neighbour, slots));
            outer.inside(&Stores::neighbour_folder(slots), part)?.sweep(&|| ())?;
        }
    }
    Ok(())
}

fn ledger_folder(environment: &Environment, stores: &Stores, slots: u64) -> String {
    let Environment { accounts, ledger_seed, .. } = environment;
    format!("{}/{slots}-slots-{accounts}-accounts-seed-{ledger_seed}", stores.ledgers)
}

/// Writes the ledger folder of a chain; what is there is kept.
fn write_ledger(environment: &Environment, stores: &Stores, slots: u64) -> Result<()> {
    let folder = ledger_folder(environment, stores, slots);
    bench_system::note!("ledger: {folder}");
    let (accounts, seed) = (environment.accounts.to_string(), environment.ledger_seed.to_string());
    let slots = slots.to_string();
    let args = [&folder, "--slots", &slots, "--accounts", &accounts, "--seed", &seed];
    let program = &stores.ledger.program;
    let output = Command::new(program).args(args).output();
    let output = output.with_context(|| format!("field stores.ledger: can't start {program}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program}: {}: {}", describe(output.status), bounded(said.trim()));
    Ok(())
}

/// The plan of these workloads over a chain: every server on every store and on each of these threads, each workload
/// that the chain is long enough for.
fn over_chain(
    plan: &Plan,
    stores: &Stores,
    slots: u64,
    threads: &[Option<&str>],
    campaign: Campaign,
) -> Plan {
    let folder = ledger_folder(&campaign.environment, stores, slots);
    let mut servers = Vec::new();
    for server in &plan.servers {
        for blocks in &stores.blocks {
            servers.extend(threads.iter().map(|on| Stores::reading(server, &folder, blocks, *on)));
        }
    }
    let is_long_enough = |name: &String| plan.workload(name).is_ok_and(|known| known.needs_slots() <= slots);
    let workloads = campaign.workloads.iter().filter(|name| is_long_enough(name)).cloned().collect();
    let environment = Environment { slots, ..campaign.environment };
    plan.part(servers, Campaign { workloads, environment, ..campaign })
}

/// The measured requests over a chain.
fn requests(plan: &Plan, stores: &Stores, slots: u64) -> Plan {
    let connections = vec![stores.connections];
    let campaign = Campaign { connections, ..plan.campaign.part(&Stores::folder(slots)) };
    over_chain(plan, stores, slots, &[None], campaign)
}

/// The light request over a chain, next to the heavy one.
fn next_to(plan: &Plan, stores: &Stores, neighbour: &Neighbour, slots: u64) -> Plan {
    let open = Open {
        rates: vec![neighbour.rate],
        connections: neighbour.connections,
        tools: vec![Neighbour::TOOL],
        background: Some(Background {
            workload: neighbour.beside.clone(),
            rate: None,
            connections: neighbour.beside_connections,
            tool: Neighbour::TOOL,
            from_ms: 0,
            for_ms: None,
            always: true,
        }),
        stall: None,
        wire: false,
    };
    let rates: Vec<Level> = open.levels(|_| Some(Neighbour::TOOL));
    let workloads = vec![neighbour.workload.clone(), neighbour.beside.clone()];
    let part = Campaign { workloads, ..plan.campaign.part(&Stores::neighbour_folder(slots)) };
    let mut part = over_chain(plan, stores, slots, &neighbour.threads(), part);
    // The heavy request is not measured.
    part.campaign.workloads = vec![neighbour.workload.clone()];
    part.campaign.open = Some(open);
    part.trials = plan::trials_at(&part.campaign, &rates);
    part.rates = rates;
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench_model::config::ConfigDir;

    fn shipped() -> (Plan, Stores) {
        let config = ConfigDir::of_repository();
        let (plan, _) = super::super::resolve(&config, "store").unwrap();
        let stores = plan.campaign.stores.clone().unwrap();
        (plan, stores)
    }

    #[test]
    fn every_server_reads_from_every_store() {
        let (plan, stores) = shipped();
        assert!(plan.trials.is_empty(), "the run itself has no trials");
        let cells = |slots: u64| {
            let part = requests(&plan, &stores, slots);
            assert_eq!(part.servers.len(), plan.servers.len() * stores.blocks.len());
            assert_eq!(part.campaign.environment.slots, slots);
            (part.workloads.len(), plan::planned(&part.campaign, &part.trials))
        };
        let blocks = plan.campaign.max_blocks as usize;
        let arms = plan.servers.len() * stores.blocks.len() * blocks;
        assert_eq!(cells(2_000), (2, 2 * arms));
        assert_eq!(cells(200_000), (3, 3 * arms));
    }

    #[test]
    fn the_light_request_is_sent_with_the_heavy_one() {
        let (plan, stores) = shipped();
        let part = next_to(&plan, &stores, stores.neighbour.as_ref().unwrap(), 200_000);
        assert_eq!((part.campaign.workloads.len(), part.workloads.len()), (1, 2));
        assert!(part.trials.iter().all(|trial| trial.disturbed && trial.rate.is_some()));
        assert_eq!(part.servers.len(), plan.servers.len() * stores.blocks.len() * 2, "on either thread");
        assert_eq!(part.rates.len(), 1);
    }
}
