//! The commands that make a figure again by hand.

use super::format::shell;
use super::{Run, targets};
use crate::config::{Campaign, Placement, Server};
use crate::load::toolchain::Source;
use crate::load::{Level, Load, LoadTool};
use crate::plan::Trial;
use crate::target::Target;
use crate::workload::Workload;

/// The address that the commands use: one that a person can type.
const ADDR: &str = "127.0.0.1:8899";

/// The command that starts a server as it was measured.
pub fn server(run: &Run, server: &Server, workload: &Workload) -> String {
    if let Some(at) = server.running_at() {
        return format!("# runs already, at {}", at.url);
    }
    let mut environment = run.plan.campaign.environment.clone();
    environment.threads = Some(run.plan.threads);
    let mut command = vec![server.program.clone()];
    // A ledger that lacks what a workload requests was never measured.
    let request = workload.opening(&environment.ledger()).unwrap_or_default();
    command.extend(server.arguments(&server.placeholders(&environment, ADDR, &request)));
    on_its_core(run, &shell(&command))
}

/// The command that puts a load on it; of a mix, what it sends, for which bombardier has no command.
pub fn load(run: &Run, workload: &Workload, connections: u32) -> String {
    let Campaign { window_ms, timeout_ms, .. } = run.plan.campaign;
    closed_load(run, workload, Load { connections, duration_ms: window_ms, timeout_ms, ..Load::default() })
}

/// The commands that make a trial again: its server's, where the plan has it, and its load's, where one command can send that. What ran at
/// the same time stands before them as a comment.
pub fn of_trial(run: &Run, trial: &Trial) -> Vec<String> {
    let of_name = |workload: &&Workload| workload.name == trial.workload;
    let Some(workload) = run.plan.workloads.iter().find(of_name) else { return Vec::new() };
    let Campaign { window_ms, timeout_ms, .. } = run.plan.campaign;
    let duration_ms = trial.window_ms.unwrap_or(window_ms);
    let paired =
        trial.beside.as_ref().map(|other| format!("# at the same time: {other} under the same load"));
    let disturbed = trial.disturbed.then(|| "# at the same time: the campaign's background load".to_owned());
    let own = run.plan.servers.iter().find(|server| server.name == trial.server);
    let own = own.map(|own| server(run, own, workload));
    let load = match trial.rate {
        Some(_) => open_load(run, workload, trial.level(), duration_ms),
        None => {
            let Trial { connections, client, .. } = *trial;
            Some(closed_load(
                run,
                workload,
                Load { connections, duration_ms, timeout_ms, client, rate: None },
            ))
        }
    };
    paired.into_iter().chain(disturbed).chain(own).chain(load).collect()
}

/// The command that puts a closed loop's load on it.
fn closed_load(run: &Run, workload: &Workload, load: Load) -> String {
    let Ok(body) = workload.body() else {
        return format!("# a mix, and bombardier sends one body only: {}", workload.words());
    };
    let folder = match run.conditions.tool.source {
        Source::Pinned => "bench-scripts/tools/bin/",
        Source::Environment | Source::Path => "",
    };
    let commands = LoadTool::default().driver().by_hand(&load, body, &url(run));
    on_its_core(run, &format!("{folder}{}", piped(&commands)))
}

/// The command that puts an open loop's load on it for `duration_ms`; `None` for a mix, which is drawn as it is sent.
pub fn open_load(run: &Run, workload: &Workload, level: Level, duration_ms: u64) -> Option<String> {
    let (body, rate) = (workload.body().ok()?, level.rate?);
    let timeout_ms = run.plan.campaign.timeout_ms;
    let connections = level.connections;
    let load = Load { rate: Some(rate), connections, duration_ms, timeout_ms, ..Load::default() };
    Some(piped(&level.tool.driver().by_hand(&load, body, &url(run))))
}

/// Commands of which each gets the output of the one before.
fn piped(commands: &[Vec<String>]) -> String {
    commands.iter().map(|command| shell(command)).collect::<Vec<_>>().join(" | ")
}

/// Where the commands send their load: to the run's server, where it has one that runs already.
fn url(run: &Run) -> String {
    targets::alone(run).map_or_else(|| Target::http(ADDR).url(), |(_, at)| at.url.clone())
}

/// The command on the one core that server and load tool shared, where they did.
fn on_its_core(run: &Run, command: &str) -> String {
    match (run.plan.campaign.environment.placement, run.conditions.host.one_core) {
        (Placement::OneCore | Placement::Duet, Some(core)) => format!("taskset -c {core} {command}"),
        _ => command.to_owned(),
    }
}
