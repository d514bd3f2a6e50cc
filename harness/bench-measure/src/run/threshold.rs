//! Searches for the connection count from which servers fail: what a campaign's table means on this machine, and what
//! is kept of the trials.

use anyhow::{Context, Result, ensure};

use super::SPARE_FILES;
use super::search::{self, Runnable};
use super::stage::Stage;
use bench_analysis::diagnosis::{Remedy, Standing};
use bench_analysis::interleaved_searches::Searches;
use bench_analysis::threshold::{Bound, Limit, SearchPlan, Searched, read};
use bench_analysis::{TriedRemedy, tried_remedies};
use bench_model::config::{Campaign, Placement, Server, Threshold, Tuning};
use bench_model::load::Client;
use bench_model::observation::Observation;
use bench_model::plan::Plan;
use bench_model::results::{REMEDIED, RunFolder, SEARCHES, THRESHOLD, pretty};
use bench_system::probe::host;

/// Connections of the warm-up at most. It warms the server's code and no more: the window is the first to open all
/// connections, and the ports that a warm-up has used can't be used again at once.
const WARMUP_CONNECTIONS: u32 = 50;

/// Client ports that are left to the warm-up, to the harness's own requests, and to others.
const SPARE_PORTS: u64 = 200;

/// Runs the searches of a campaign, where it has any, in the folder of its run.
pub(super) fn carry_out(outer: &Stage<'_>) -> Result<()> {
    let Some(threshold) = &outer.plan.campaign.threshold else { return Ok(()) };
    let stage = outer.inside(THRESHOLD, |folder| {
        let (plan, searches) = resolve(&outer.plan, threshold)?;
        folder.write_new(SEARCHES, &pretty(&searches)?)?;
        Ok(plan)
    })?;
    search::search::<SearchPlan>(&stage)?;
    explain(&stage)
}

/// What a campaign's table means on this machine: the plan that its trials run by, and the searches.
fn resolve(plan: &Plan, threshold: &Threshold) -> Result<(Plan, SearchPlan)> {
    let campaign = &plan.campaign;
    let mut servers: Vec<Server> = Vec::new();
    let mut searches = Vec::new();
    let workloads = campaign.searched_workloads(&threshold.workloads);
    for base in campaign.searched_servers(&threshold.servers) {
        let base = plan.server(&base)?;
        // The ceiling shows where the load tool fails, which the settings of frameworks do not change.
        let is_ceiling = campaign.ceiling.as_ref() == Some(&base.name);
        let tunings = if is_ceiling { &[Tuning::Equal] } else { &threshold.tunings[..] };
        for (server, tuning) in tuned(base, tunings) {
            for workload in &workloads {
                for &client in &threshold.clients {
                    let limit = limit(threshold.most, client)?;
                    let (server, base) = (server.name.clone(), base.name.clone());
                    let workload = workload.clone();
                    searches.push(Searched { server, base, tuning, workload, client, limit });
                }
            }
            servers.push(server);
        }
    }
    let timeout_ms = threshold.timeout_ms.unwrap_or(campaign.timeout_ms);
    let mut environment = campaign.environment.clone();
    if environment.placement == Placement::Duet {
        // A search runs one server at a time.
        environment.placement = Placement::OneCore;
    }
    let inner = Campaign {
        workloads,
        connections: Vec::new(),
        warmup_ms: threshold.warmup_ms.unwrap_or(campaign.warmup_ms),
        warmup_connections: Some(WARMUP_CONNECTIONS),
        window_ms: threshold.window_ms.unwrap_or(campaign.window_ms),
        timeout_ms,
        environment,
        ..campaign.part(THRESHOLD)
    };
    let (threshold, seed) = (threshold.clone(), campaign.seed);
    Ok((plan.part(servers, inner), SearchPlan { threshold, seed, timeout_ms, searches }))
}

/// The server with each of these settings, under a name of its own. One that takes no tuning has only its own.
fn tuned(server: &Server, tunings: &[Tuning]) -> Vec<(Server, Option<Tuning>)> {
    let placeholder = "{tuning}";
    if !server.args.iter().any(|arg| arg == placeholder) {
        return vec![(server.clone(), None)];
    }
    let with = |tuning: &Tuning| {
        let suffix = if *tuning == Tuning::Equal { String::new() } else { format!("-{}", tuning.flag()) };
        let fill = |arg: &String| if arg == placeholder { tuning.flag().to_owned() } else { arg.clone() };
        let args = server.args.iter().map(fill).collect();
        (Server { name: format!("{}{suffix}", server.name), args, ..server.clone() }, Some(*tuning))
    };
    tunings.iter().map(with).collect()
}

/// The highest connection count that is tried: never more than this machine holds, in the server and in the client,
/// which both have the harness's limit of open files.
fn limit(most: u32, client: Client) -> Result<Limit> {
    let ports =
        host::client_ports().map_or(u64::MAX, |(first, last)| u64::from(last.saturating_sub(first)) + 1);
    // Go's client may dial again where it gave a request up, while the port of the first connection is still taken.
    let ports_each = match client {
        Client::Fasthttp => 1,
        Client::Http1 => 2,
    };
    let files = host::open_files().saturating_sub(SPARE_FILES);
    let bounds = [
        (u64::from(most), Bound::Campaign),
        (files, Bound::OpenFiles),
        (ports.saturating_sub(SPARE_PORTS) / ports_each, Bound::ClientPorts),
    ];
    let (connections, by) = bounds.into_iter().min_by_key(|bound| bound.0).unwrap_or(bounds[0]);
    let words = by.words();
    ensure!(connections > 0, "this machine holds no connections to search with ({words}); see `just doctor`");
    Ok(Limit { connections: connections as u32, by })
}

impl Runnable for SearchPlan {
    const FILE: &str = SEARCHES;

    fn announce(&self, left: usize) -> String {
        let Threshold { from, begin, most, most_trials, .. } = &self.threshold;
        let (begin, searches) = (begin.unwrap_or(*from), if left == 1 { "search" } else { "searches" });
        format!(
            "threshold: {left} {searches} among {from} to {most} connections, beginning at {begin}, of at most \
             {most_trials} trials each"
        )
    }

    fn wrong(&self, observation: &Observation) -> String {
        if self.judgement(observation).passed().is_none() {
            return observation.outcome.failure().unwrap_or_else(|| "without a reason".to_owned());
        }
        let slowest = observation.outcome.evidence().map(|sample| search::figure(sample, None));
        self.complaints(observation).into_iter().chain(slowest).collect::<Vec<_>>().join("; ")
    }
}

/// Once a search has found where servers fail, tries the remedy of each likely cause there, as far as the campaign
/// says. Where it takes the symptom away, the search is made again with it.
fn explain(stage: &Stage<'_>) -> Result<()> {
    let campaign = &stage.plan.campaign;
    if campaign.remedy_trials == 0 {
        return Ok(());
    }
    let folder = &stage.folder;
    stage.try_remedies_of(&read(folder)?.causes)?;
    let (servers, searches) = with_remedies(folder, &folder.read_json(SEARCHES)?)?;
    if searches.searches.is_empty() {
        return Ok(());
    }
    let again = stage.inside(REMEDIED, |folder| {
        folder.write_new(SEARCHES, &pretty(&searches)?)?;
        Ok(stage.plan.part(servers, Campaign { remedy_trials: 0, ..campaign.clone() }))
    })?;
    search::search::<SearchPlan>(&again)
}

/// The servers whose remedy took the symptom away, and a search for each.
fn with_remedies(folder: &RunFolder, before: &SearchPlan) -> Result<(Vec<Server>, SearchPlan)> {
    let mut servers: Vec<Server> = Vec::new();
    let mut searches = Vec::new();
    for (tried, inner) in tried_remedies(folder)? {
        let confirmed = tried.confirmation.is_some_and(|of| of.standing == Standing::Confirmed);
        let TriedRemedy { plan, .. } = tried;
        // The other client's limits are others, so its search is one of the campaign's, if it says so.
        let searched_again = confirmed && plan.cause.remedy != Some(Remedy::OtherClient);
        let Some((name, _)) = plan.remedied.filter(|_| searched_again) else { continue };
        let server = inner.plan()?.server(&name)?.clone();
        let of_plan = (&plan.server, &plan.workload, plan.client);
        let is_of = |of: &&Searched| (&of.server, &of.workload, of.client) == of_plan;
        let searched = before.searches.iter().find(is_of);
        let searched = searched.with_context(|| format!("no search is of {}", plan.server))?;
        searches.push(Searched { server: server.name.clone(), ..searched.clone() });
        if !servers.contains(&server) {
            servers.push(server);
        }
    }
    Ok((servers, SearchPlan { searches, ..before.clone() }))
}

#[cfg(test)]
mod tests {

    use super::*;
    use bench_model::config::ConfigDir;

    #[test]
    fn a_tuning_is_a_server_of_its_own() {
        let config = ConfigDir::of_repository();
        let actix = config.server("actix").unwrap();
        let both = tuned(&actix, &[Tuning::Equal, Tuning::Shipped]);
        let names: Vec<&str> = both.iter().map(|(server, _)| server.name.as_str()).collect();
        assert_eq!(names, ["actix", "actix-shipped"]);
        for ((server, tuning), flag) in both.iter().zip(["equal", "shipped"]) {
            let at = server.args.iter().position(|arg| arg == "--tuning").unwrap();
            assert_eq!((server.args[at + 1].as_str(), tuning.unwrap().flag()), (flag, flag));
        }
        let own = Server { args: vec!["{listen}".to_owned()], ..actix };
        let one = tuned(&own, &[Tuning::Equal, Tuning::Shipped]);
        assert_eq!(one, [(own, None)]);
    }

    #[test]
    fn a_search_never_needs_more_than_the_machine_has() {
        let (files, ports) = (host::open_files(), host::client_ports());
        let low = limit(1, Client::Fasthttp).unwrap();
        assert_eq!((low.connections, low.by), (1, Bound::Campaign));
        for client in [Client::Fasthttp, Client::Http1] {
            let limit = limit(60_000, client).unwrap();
            let connections = u64::from(limit.connections);
            assert!(connections < files && limit.by != Bound::Campaign, "{limit:?}");
            if let Some((first, last)) = ports {
                let each = if client == Client::Http1 { 2 } else { 1 };
                assert!(connections * each < u64::from(last - first), "{limit:?}");
            }
        }
    }
}
