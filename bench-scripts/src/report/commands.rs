//! The commands that make a figure again by hand.

use super::Run;
use super::format::shell;
use crate::config::{Placement, Server, Workload};
use crate::load::toolchain::Source;
use crate::load::{Client, Load, bombardier};
use crate::subject::placeholders;

/// The address that the commands use: one that a person can type.
const ADDR: &str = "127.0.0.1:8899";

/// The command that starts a server as it was measured.
pub fn server(run: &Run, server: &Server, workload: &Workload) -> String {
    let mut environment = run.plan.campaign.environment.clone();
    environment.threads = Some(run.plan.threads);
    let mut command = vec![server.program.clone()];
    // A ledger that lacks what a workload asks for was never measured.
    let request = workload.opening(&environment.ledger()).unwrap_or_default();
    command.extend(server.arguments(&placeholders(&environment, ADDR, &request)));
    on_its_core(run, &shell(&command))
}

/// The command that puts a load on it; of a mix, what it asks, for which bombardier has no command.
pub fn load(run: &Run, workload: &Workload, connections: u32) -> String {
    let Ok(body) = workload.body() else {
        return format!("# a mix, and bombardier sends one body only: {}", workload.words());
    };
    let campaign = &run.plan.campaign;
    let load = Load {
        connections,
        duration_ms: campaign.window_ms,
        timeout_ms: campaign.timeout_ms,
        client: Client::default(),
    };
    let tool = match run.conditions.tool.source {
        Source::Pinned => "bench-scripts/tools/bin/bombardier",
        Source::Environment | Source::Path => "bombardier",
    };
    let mut command = vec![tool.to_owned()];
    command.extend(bombardier::arguments(&load, body, &format!("http://{ADDR}/"), &[]));
    on_its_core(run, &shell(&command))
}

/// The command on the one core that server and load tool shared, where they did.
fn on_its_core(run: &Run, command: &str) -> String {
    match (run.plan.campaign.environment.placement, run.conditions.host.one_core) {
        (Placement::OneCore | Placement::Duet, Some(core)) => format!("taskset -c {core} {command}"),
        _ => command.to_owned(),
    }
}
