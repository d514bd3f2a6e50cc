//! Carries a plan out: trial after trial, each observation recorded before the next begins.

mod ceilings;
mod duet;
mod ended;
pub mod gate;
pub mod hosts;
pub mod instructions;
pub mod one_call;
mod progress;
mod remedies;
pub mod requirements;
mod search;
mod stage;
mod sweep;
mod trial;
mod true_answers;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Error, Result, bail, ensure};

use crate::interrupt::Interrupt;
use crate::link::Link;
use crate::probe::host;
use crate::subject;
use bench_core::config::layouts::Layouts;
use bench_core::config::{Campaign, ConfigDir, Instead, Server};
use bench_core::load::Capability;
use bench_core::load::toolchain::Tools;
use bench_core::plan::{self, Plan, Trial};
use bench_core::readable_numbers::counted;
use bench_core::results::{Conditions, DUETS, ENVIRONMENT, Resumed, RunFolder, pretty, remove_all};
use bench_core::workload::{Opening, Workload};

use stage::Stage;
pub use trial::Bench;
pub use true_answers::{Truths, truth_of};

/// Connections take one file each in the server; this many more are the server's own, and the harness's.
const SPARE_FILES: u64 = 100;

/// Resolves a campaign, with what is said in place of its own fields: its servers and workloads, its true answers, and
/// the loads that this machine can carry. Gives its text as well.
///
/// # Errors
/// One line: what does not fit together, or what this machine lacks.
pub fn resolve(config: &ConfigDir, name: &str, instead: &Instead) -> Result<(Plan, String)> {
    let (mut campaign, text) = config.campaign_with(name, instead)?;
    // A ceiling that is no server of the campaign shows what the load tool can send, and is not measured.
    let ceiling = campaign.ceiling.iter().filter(|ceiling| !campaign.servers.contains(ceiling));
    let servers: Vec<Server> = campaign
        .servers
        .iter()
        .chain(ceiling)
        .map(|name| campaign.server(config, name))
        .collect::<Result<_>>()?;
    for server in &servers {
        if let Some(lacking) = server.lacks(&campaign.environment.with(&server.overrides)) {
            bail!(
                "campaign {name}: server {}: servers.toml gives it no {{{lacking}}}; leave the setting out, or add it \
                 to its args",
                server.name
            );
        }
    }
    compare_ceiling(&mut campaign, &servers);
    // What is sent besides the measured requests has true answers as well.
    let unmeasured = campaign.background().map(|other| &other.workload);
    let unmeasured = unmeasured.filter(|name| !campaign.workloads.contains(name));
    let names = campaign.workloads.iter().chain(unmeasured);
    let mut workloads = names.map(|name| config.workload(name)).collect::<Result<Vec<_>>>()?;
    // Those that run already have a URL.
    let started = workloads.iter_mut().flat_map(Workload::references_mut).filter(|of| of.url.is_empty());
    let references = started.map(|of| config.server(&of.server)).collect::<Result<_>>()?;
    Ok((Plan { references, ..resolved(campaign, servers, workloads)? }, text))
}

/// The plan of a campaign over these servers, with the workloads that it names.
fn resolved(campaign: Campaign, servers: Vec<Server>, workloads: Vec<Workload>) -> Result<Plan> {
    let name = &campaign.name;
    check_mixes(&campaign, &workloads)?;
    let calls = campaign.views.iter().try_for_each(|view| view.check_method(&workloads));
    calls.with_context(|| format!("campaign {name}"))?;
    requirements::check(&campaign, &servers, &workloads)?;
    let most = most_connections();
    let (held, left_out_connections): (Vec<u32>, Vec<u32>) =
        campaign.connections.iter().partition(|connections| u64::from(**connections) <= most);
    ensure!(
        !held.is_empty() || campaign.connections.is_empty(),
        "campaign {name}: this machine holds at most {most} connections (open files, client ports), and every load \
         needs more; see `just doctor`"
    );
    if let Some(open) = &campaign.open {
        let background = open.background.as_ref().map_or(0, |other| u64::from(other.connections));
        ensure!(
            u64::from(open.connections) + background <= most,
            "campaign {name}: fields open.connections and open.background.connections: this machine holds at most \
             {most} together; see `just doctor`"
        );
    }
    let threads = campaign.environment.threads.unwrap_or_else(|| bench_core::machine::cores() as u32);
    let trials = drawn(&Campaign { connections: held, ..campaign.clone() }, &servers);
    Ok(Plan { campaign, workloads, servers, threads, left_out_connections, trials, ..Plan::default() })
}

/// Has a ceiling that is a server like the others compared with the baseline as they are.
fn compare_ceiling(campaign: &mut Campaign, servers: &[Server]) {
    let is_like_others =
        |name: &String| servers.iter().any(|server| server.name == *name && !server.answers_one_request());
    let (Some(baseline), Some(ceiling)) = (&campaign.baseline, &campaign.ceiling) else { return };
    if campaign.comparisons.is_empty() && ceiling != baseline && is_like_others(ceiling) {
        let pair = (ceiling.clone(), baseline.clone());
        campaign.comparisons = campaign.compared();
        campaign.comparisons.push(pair);
    }
}

/// A plan with the order of its trials and the layouts of its servers drawn from another number, which is to say
/// another run by luck alone.
///
/// # Errors
/// One line with the field that the number does not fit.
pub fn drawn_from(mut plan: Plan, seed: u32) -> Result<Plan> {
    let campaign = &mut plan.campaign;
    campaign.seed = seed.into();
    campaign.layouts = campaign.layouts.map(|layouts| Layouts { seed, ..layouts });
    campaign.layouts.iter().try_for_each(Layouts::check)?;
    let connections = plan.connections();
    plan.trials = drawn(&Campaign { connections, ..plan.campaign.clone() }, &plan.servers);
    Ok(plan)
}

/// A campaign's trials in their drawn order, each with its server's layout.
fn drawn(campaign: &Campaign, servers: &[Server]) -> Vec<Trial> {
    let mut trials = plan::trials(campaign);
    plan::layouts::draw(campaign, servers, &mut trials);
    trials
}

/// Whether the load tools of a campaign can send its workloads: that of a closed loop sends one body only. Users in
/// stages have one each.
fn check_mixes(campaign: &Campaign, workloads: &[Workload]) -> Result<()> {
    let has_closed_loop = campaign.has_closed_loop() && campaign.stages.is_none();
    let repeats_bodies =
        campaign.tools().all(|tool| tool.can(Capability::RepeatsBodies)) && campaign.duets.is_none();
    if !has_closed_loop || repeats_bodies {
        return Ok(());
    }
    let bodies = workloads.iter().try_for_each(|workload| workload.body().map(drop));
    bodies.with_context(|| format!("campaign {}", campaign.name))
}

/// The most connections that one client on this machine can hold to one server.
fn most_connections() -> u64 {
    let ports = host::client_ports().map_or(u64::MAX, |(first, last)| u64::from(last.saturating_sub(first)));
    host::open_files().saturating_sub(SPARE_FILES).min(ports)
}

/// Starts a new run: its folder, its plan, and what it is measured on. In an open loop the plan's rates are found
/// first: those that a load tool can send here.
///
/// # Errors
/// The run is ended, a tool is missing, no rate is left, or the folder takes no more. The folder is removed then, and
/// the error says so.
pub fn begin(
    results: &Path,
    plan: &Plan,
    text: &str,
    tools: &mut Tools,
    command: &str,
    interrupt: &Interrupt,
) -> Result<RunFolder> {
    if plan.campaign.has_network() {
        // Where that is not permitted it is better said before anything is measured.
        Link::new(Duration::ZERO, 0.0).with_context(|| format!("campaign {}", plan.campaign.name))?;
    }
    let folder = RunFolder::create(results, &plan.campaign.name)?;
    let begun = ceilings::with_rates(&folder, plan, tools, command, interrupt)
        .and_then(|plan| begin_folder(&folder, &plan, text, tools, command));
    begun.map_err(|error| undone(&folder, error)).map(|()| folder)
}

/// Removes the folder of a run that ended before it had a plan, and says so with the error. One that can't be removed
/// stays.
fn undone(folder: &RunFolder, error: Error) -> Error {
    match remove_all(&folder.0) {
        Ok(()) => error.context(format!("nothing was measured yet, so {} was removed", folder.0.display())),
        Err(_) => error,
    }
}

fn begin_folder(folder: &RunFolder, plan: &Plan, text: &str, tools: &Tools, command: &str) -> Result<()> {
    folder.write_new("campaign.toml", text)?;
    let conditions = Conditions {
        started_at: now(),
        host: host::read(),
        tool: tools.get(plan.campaign.tool)?.clone(),
        open_loop_tools: tools.open_loop(),
        servers: BTreeMap::new(),
        programs: BTreeMap::new(),
        command: command.to_owned(),
        resumed: Vec::new(),
    };
    folder.write_new(ENVIRONMENT, &pretty(&conditions)?)?;
    // Last, because a folder with a plan is one that can be resumed.
    folder.write_new("plan.json", &pretty(plan)?)
}

/// Resumes a run: repairs what a crash cut off, and records when.
pub fn resume(folder: &RunFolder) -> Result<()> {
    folder.repair()?;
    folder.note_resumed(Resumed { at: now(), commit: host::read().commit })
}

fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Runs what is left of a run, in folders inside it where it has parts: its duets, which say the most in the least
/// time, then the loads of the headline, then the rest of its sweep, the remedies of what failed in it, its search.
/// Where the campaign compares its headline alone, `so_far` is called with the folder at the duets' first interim
/// analysis, and before what only completes the answer.
pub fn carry_out(
    folder: &RunFolder,
    tools: &Tools,
    interrupt: &Interrupt,
    so_far: &dyn Fn(&RunFolder),
) -> Result<()> {
    let stage = Stage::open(folder.clone(), tools, interrupt)?;
    let is_in_parts = stage.plan.campaign.compare_headline_only;
    let so_far = || {
        if is_in_parts {
            so_far(folder);
        }
    };
    if let Some(duets) = stage.plan.duets() {
        stage.inside(DUETS, |_| Ok(duets))?.sweep(&so_far)?;
    }
    stage.sweep(&so_far)?;
    stage.try_remedies()?;
    search::carry_out(&stage)
}

/// A request for a server's arguments where nothing is measured: the first workload's.
fn opening(plan: &Plan) -> Result<Opening> {
    let first = plan.workloads.first().context("the plan has no workload")?;
    first.opening(&plan.campaign.environment.ledger())
}

/// Builds and prepares what a plan needs, once it is known that its servers may be limited as it says.
///
/// # Errors
/// One line: what may not be limited here, or which build or preparation failed.
pub fn build(plan: &Plan) -> Result<()> {
    requirements::check_limits(plan, &plan.campaign.name)?;
    if let Some(server) = plan.servers.iter().find(|server| server.checkout.is_some()) {
        bail!(
            "the program of {} is another commit's and gone by now; begin again with gate --base-rev",
            server.name
        );
    }
    // An arm is a server with other settings, and no program of its own.
    let programs: BTreeSet<&str> = plan.servers.iter().map(|server| server.program.as_str()).collect();
    let programs = programs.iter().filter(|program| !program.is_empty()).count() as u64;
    if programs > 0 {
        bench_core::note!("building what is not built yet of {}", counted(programs, "server"));
    }
    subject::layouts::build(plan)?;
    subject::build(&plan.references)?;
    plan.servers.iter().flat_map(Server::and_upstream).try_for_each(|server| {
        let environment = plan.environment_of(server);
        subject::prepare(server, &environment, &mut server.placeholders(&environment, "", ""))
    })
}

#[cfg(test)]
mod tests;
