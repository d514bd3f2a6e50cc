//! Carrying searches for thresholds out, in a folder of their own inside a run's: every trial is written before the next
//! begins, and what comes next follows from what is written, so it can be stopped and gone on with at any trial.

mod remedied;

use anyhow::{Context, Result, ensure};

use super::trial_line::TrialLine;
use super::{Bench, SPARE_FILES, Truths, begin_folder, note_ready_lines};
use crate::analysis::invalid_reason;
use crate::analysis::threshold::{
    Asked, Bound, Limit, Schedule, SearchPlan, Searched, Shown, complaint, shown,
};
use crate::config::{Campaign, Placement, Server, Threshold, Tuning};
use crate::interrupt::Interrupt;
use crate::load::Client;
use crate::load::toolchain::Tools;
use crate::observation::{Observation, Outcome};
use crate::plan::Plan;
use crate::plan::Trial;
use crate::probe::host;
use crate::results::{RunFolder, SEARCHES, THRESHOLD, pretty};

/// Connections of the warm-up at most. It is to warm the server's code and no more: the window is the first to ask for all
/// connections, and the ports that a warm-up has used can't be used again at once.
const WARMUP_CONNECTIONS: u32 = 50;

/// Client ports that are left to the warm-up, to the harness's own questions, and to others.
const SPARE_PORTS: u64 = 200;

/// Runs the searches of a campaign, where it has any, in the folder of its run.
pub fn carry_out(outer: &RunFolder, plan: &Plan, tools: &Tools, interrupt: &Interrupt) -> Result<()> {
    let Some(threshold) = &plan.campaign.threshold else { return Ok(()) };
    let folder = match RunFolder::open_inside(outer, THRESHOLD)? {
        Some(folder) => {
            folder.repair()?;
            folder
        }
        None => {
            let (inner, searches) = resolve(plan, threshold)?;
            begin(outer, THRESHOLD, &inner, &searches, tools)?
        }
    };
    search(&folder, tools, interrupt)?;
    remedied::explain(&folder, tools, interrupt)
}

/// Starts searches in a folder of that name inside a run's.
pub fn begin(
    outer: &RunFolder,
    name: &str,
    plan: &Plan,
    searches: &SearchPlan,
    tools: &Tools,
) -> Result<RunFolder> {
    let folder = RunFolder::create_inside(outer, name)?;
    folder.write_new(SEARCHES, &pretty(searches)?)?;
    begin_folder(&folder, plan, "", tools, &outer.conditions()?.command)?;
    Ok(folder)
}

/// What a campaign's table means on this machine: the plan that its trials run by, and the searches.
pub fn resolve(plan: &Plan, threshold: &Threshold) -> Result<(Plan, SearchPlan)> {
    let campaign = &plan.campaign;
    let mut servers: Vec<Server> = Vec::new();
    let mut searches = Vec::new();
    let workloads = threshold.workloads(campaign);
    for base in threshold.servers(campaign) {
        let found = plan.servers.iter().find(|server| server.name == base);
        let base = found.with_context(|| format!("the plan has no {base:?}"))?;
        // The ceiling shows where the load tool fails, which the settings of frameworks do not change.
        let is_ceiling = campaign.ceiling.as_ref() == Some(&base.name);
        let tunings = if is_ceiling { &[Tuning::Equal] } else { &threshold.tunings[..] };
        for (server, tuning) in tuned(base, tunings) {
            for workload in &workloads {
                for client in &threshold.clients {
                    searches.push(Searched {
                        server: server.name.clone(),
                        base: base.name.clone(),
                        tuning,
                        workload: workload.clone(),
                        client: *client,
                        limit: limit(threshold.most, *client)?,
                    });
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
        servers: servers.iter().map(|server| server.name.clone()).collect(),
        baseline: None,
        ceiling: None,
        workloads: workloads.clone(),
        connections: Vec::new(),
        headline: std::collections::BTreeMap::new(),
        comparisons: Vec::new(),
        warmup_ms: threshold.warmup_ms.unwrap_or(campaign.warmup_ms),
        warmup_connections: Some(WARMUP_CONNECTIONS),
        window_ms: threshold.window_ms.unwrap_or(campaign.window_ms),
        timeout_ms,
        environment,
        duets: None,
        pass: Vec::new(),
        ..campaign.clone()
    };
    let of_search = plan.workloads.iter().filter(|workload| workloads.contains(&workload.name));
    let plan = Plan {
        campaign: inner,
        workloads: of_search.cloned().collect(),
        servers,
        threads: plan.threads,
        left_out_connections: Vec::new(),
        left_out_rates: Vec::new(),
        rates: Vec::new(),
        trials: Vec::new(),
    };
    let seed = campaign.seed;
    Ok((plan, SearchPlan { threshold: threshold.clone(), seed, timeout_ms, searches }))
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

/// The most connections that may be asked for: never more than this machine holds, in the server and in the client, which
/// both have the harness's limit of open files.
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
    let (connections, by) =
        bounds.into_iter().fold(bounds[0], |least, bound| if bound.0 < least.0 { bound } else { least });
    ensure!(
        connections > 0,
        "this machine holds no connections to search with ({}); see `just doctor`",
        by.words()
    );
    Ok(Limit { connections: connections as u32, by })
}

/// Runs searches from wherever they are to their end.
pub fn search(folder: &RunFolder, tools: &Tools, interrupt: &Interrupt) -> Result<()> {
    let plan = folder.plan()?;
    let searches: SearchPlan = folder.read_json(SEARCHES)?;
    let place = || format!("{} does not hold what was searched", folder.0.display());
    let mut schedule = searches.after(&folder.observations()?).with_context(place)?;
    if schedule.next().is_none() {
        return Ok(());
    }
    let truths = Truths::of(&plan)?;
    note_ready_lines(folder, &plan, interrupt)?;
    let bench = Bench { folder, plan: &plan, tools, truths: &truths, interrupt };
    let progress = Progress { searches: &searches, line: TrialLine::new() };
    progress.stage(&schedule);
    while let Some(asked) = schedule.next() {
        let trial = trial(&searches.searches[asked.search], asked);
        progress.begin(&trial);
        let observation = keep(&bench, &trial, searches.timeout_ms)?;
        schedule.tell(shown(&observation, searches.timeout_ms));
        progress.end(&observation, asked, &schedule);
    }
    Ok(())
}

fn trial(searched: &Searched, asked: Asked) -> Trial {
    Trial {
        number: asked.number,
        block: asked.round,
        server: searched.server.clone(),
        workload: searched.workload.clone(),
        connections: asked.load,
        client: searched.client,
        ..Trial::default()
    }
}

/// Runs a trial and writes it down. Of one that passed the figures are enough; of any other everything is kept.
fn keep(bench: &Bench<'_>, trial: &Trial, timeout_ms: u64) -> Result<Observation> {
    let mut observation = bench.run(trial)?;
    let passed = shown(&observation, timeout_ms) == Shown::Pass;
    if let (true, Outcome::Completed(sample)) = (passed, &mut observation.outcome) {
        sample.load.quantiles.clear();
        sample.resources.clear();
        bench.folder.forget_tool_output(trial)?;
    }
    bench.folder.append(&observation)?;
    Ok(observation)
}

/// What a person sees meanwhile, on standard error.
struct Progress<'a> {
    searches: &'a SearchPlan,
    line: TrialLine,
}

impl Progress<'_> {
    fn stage(&self, schedule: &Schedule) {
        let threshold = &self.searches.threshold;
        eprintln!(
            "threshold: {} searches from {} connections up, at most {} trials each",
            schedule.left(),
            threshold.from,
            threshold.most_trials
        );
    }

    fn begin(&self, trial: &Trial) {
        self.line.begin(&head(trial));
    }

    fn end(&self, observation: &Observation, asked: Asked, schedule: &Schedule) {
        let timeout_ms = self.searches.timeout_ms;
        let slowest = observation.outcome.evidence().map_or_else(String::new, |sample| {
            format!(", slowest {:.0} ms", sample.load.latency_us.max / 1e3)
        });
        let failure = || observation.outcome.failure().unwrap_or_else(|| "without a reason".to_owned());
        let said = match shown(observation, timeout_ms) {
            Shown::Pass => format!("pass{slowest}"),
            Shown::Fail => format!("FAIL: {}{slowest}", complaint(observation, timeout_ms).join("; ")),
            Shown::NotHeld => format!("NOT TRIED: {}", failure()),
            Shown::Nothing => {
                let disturbed = observation.outcome.evidence().and_then(invalid_reason);
                format!("NOTHING: {}", disturbed.unwrap_or_else(failure))
            }
        };
        self.line.end(&head(&observation.trial), &said);
        let search = &schedule.searches()[asked.search];
        if search.next().is_none() {
            let left = schedule.left();
            let searched = &self.searches.searches[asked.search];
            let Searched { server, workload, client, .. } = searched;
            eprintln!("{server} {workload} {}: {}; {left} searches go on", client.name(), search.found());
        }
    }
}

fn head(trial: &Trial) -> String {
    let Trial { number, block, server, workload, connections, client, .. } = trial;
    let client = client.name();
    format!(
        "[{number:>4}] round {block:<3} {server:<17} {workload:<10} {client:<8} {connections:>5} connections"
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::config::ConfigDir;

    #[test]
    fn a_tuning_is_a_server_of_its_own_and_one_without_tunings_has_one_search() {
        let config = ConfigDir(PathBuf::from(env!("CARGO_MANIFEST_DIR")));
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
    fn a_search_never_asks_for_more_than_the_machine_has() {
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
