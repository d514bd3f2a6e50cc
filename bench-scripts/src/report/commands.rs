//! The commands that make a figure again by hand.

use super::Run;
use super::format::shell;
use crate::config::{Placement, Server};
use crate::load::toolchain::Source;
use crate::load::{Client, Level, Load, LoadTool, OpenLoad, bombardier, oha, vegeta};
use crate::workload::Workload;

/// The address that the commands use: one that a person can type.
const ADDR: &str = "127.0.0.1:8899";

/// The command that starts a server as it was measured.
pub fn server(run: &Run, server: &Server, workload: &Workload) -> String {
    if let Some(url) = server.running_at() {
        return format!("# runs already, at {url}");
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

/// The command that puts an open loop's load on it for a time; `None` for a mix, which is drawn as it is sent.
pub fn open_load(run: &Run, workload: &Workload, level: Level, duration_ms: u64) -> Option<String> {
    let (body, rate) = (workload.body().ok()?, level.rate?);
    let timeout_ms = run.plan.campaign.timeout_ms;
    let load = OpenLoad { rate, connections: level.connections, duration_ms, timeout_ms };
    let url = format!("http://{ADDR}/");
    let words = |mut args: Vec<String>, program: &str| {
        args.insert(0, program.to_owned());
        shell(&args)
    };
    Some(match level.tool {
        LoadTool::Bombardier => {
            let load = Load {
                connections: load.connections,
                duration_ms: load.duration_ms,
                timeout_ms: load.timeout_ms,
                client: Client::default(),
            };
            words(bombardier::arguments(&load, body, &url, &["-r", &rate.to_string()]), "bombardier")
        }
        LoadTool::Vegeta => {
            let target = shell(&["echo".to_owned(), vegeta::target(&url, body)]);
            format!("{target} | {} | vegeta report", words(vegeta::attack_by_hand(&load), "vegeta"))
        }
        LoadTool::Oha => words(oha::by_hand(&load, body, &url), "oha"),
    })
}

/// The command on the one core that server and load tool shared, where they did.
fn on_its_core(run: &Run, command: &str) -> String {
    match (run.plan.campaign.environment.placement, run.conditions.host.one_core) {
        (Placement::OneCore | Placement::Duet, Some(core)) => format!("taskset -c {core} {command}"),
        _ => command.to_owned(),
    }
}
