//! The commands that make a figure again by hand.

use super::Run;
use super::format::{joined, known, shell};
use bench_model::config::{Campaign, Placement, Server, Stages};
use bench_model::load::toolchain::Source;
use bench_model::load::{Level, Load, LoadTool};
use bench_model::plan::Trial;
use bench_model::target::Target;
use bench_model::transport::Transport;
use bench_model::workload::Workload;

/// The addresses that the commands use: ones that a person can type. The second one is of WebSockets that have a port
/// of their own: the next one, as a node has it.
const ADDRS: Addrs = ("127.0.0.1:8899", "127.0.0.1:8900");

/// The same two for the server behind a gateway.
const BEHIND: Addrs = ("127.0.0.1:8901", "127.0.0.1:8902");

type Addrs = (&'static str, &'static str);

/// The Unix socket of a server.
const IPC_PATH: &str = "/tmp/node.ipc";

/// What a server's arguments say where any free port will do.
const ANY_PORT: &str = "127.0.0.1:0";

/// The command that starts a server as it was measured.
pub fn server(run: &Run, server: &Server, workload: &Workload) -> String {
    if let Some(at) = server.running_at() {
        return format!("# runs already, at {}", at.url);
    }
    let command = |server, addrs| on_its_core(run, &shell(&arguments(run, server, workload, addrs)));
    let behind = server.upstream.as_ref().and_then(|upstream| upstream.entry.as_ref());
    known(behind, "", |behind| format!("{} &\n", command(behind, BEHIND))) + &command(server, ADDRS)
}

/// The program and the arguments of a server on these addresses.
fn arguments(run: &Run, server: &Server, workload: &Workload, (addr, ws_addr): Addrs) -> Vec<String> {
    let mut environment = run.plan.campaign.environment.clone();
    environment.threads = Some(run.plan.threads);
    let mut command = vec![server.program.clone()];
    // A ledger that lacks what a workload requests was never measured.
    let opening = match workload.names_files() {
        // A report needs nothing but its run's folder.
        true => "REQUEST".into(),
        false => workload.opening(&environment.ledger()).unwrap_or_default(),
    };
    let mut values = server.placeholders(&environment, addr, &opening.body);
    if let Some(upstream) = server.upstream.as_ref().and_then(|upstream| upstream.entry.as_ref()) {
        values.insert("upstream", at(run, upstream, BEHIND).url());
    }
    let transport = run.plan.environment_of(server).transport();
    if transport == Transport::Ipc {
        values.insert("ipc", IPC_PATH.to_owned());
    }
    command.extend(server.arguments(&values));
    if transport == Transport::WebSocket {
        let typed = |arg: &String| if arg == ANY_PORT { ws_addr.to_owned() } else { arg.clone() };
        command.extend(server.ws_args.iter().map(typed));
    }
    command
}

/// The servers that a load needs commands of their own for, each with what its heading ends with: one for all, where
/// all are reached in the same way.
pub fn loaded_alike(run: &Run) -> Vec<(String, Option<&Server>)> {
    let servers = &run.plan.servers;
    let way = |server: &Server| {
        let environment = run.plan.environment_of(server);
        (environment.transport(), environment.in_flight(), environment.batch(), environment.keep_alive())
    };
    let is_plain =
        |server: &Server| way(server) == (Transport::Http, 1, 1, true) && server.access().is_empty();
    if servers.iter().all(is_plain) {
        return vec![(String::new(), None)];
    }
    servers.iter().map(|server| (format!(", {}", server.name), Some(server))).collect()
}

/// The command that puts the campaign's closed loop on a server; of a mix, what it sends, for which its load tool has
/// no command.
pub fn load(run: &Run, server: Option<&Server>, workload: &Workload, connections: u32) -> String {
    let Campaign { window_ms, timeout_ms, tool, .. } = run.plan.campaign;
    let load = Load { connections, duration_ms: window_ms, timeout_ms, ..Load::default() };
    closed_load(run, server, workload, tool, load)
}

/// The commands that make a trial again: its server's, where the plan has it, and its load's, where one command can
/// send that. What ran at the same time stands before them as a comment.
pub fn of_trial(run: &Run, trial: &Trial) -> Vec<String> {
    let of_name = |workload: &&Workload| workload.name == trial.workload;
    let Some(workload) = run.plan.workloads.iter().find(of_name) else { return Vec::new() };
    let Campaign { window_ms, timeout_ms, .. } = run.plan.campaign;
    let duration_ms = trial.window_ms.unwrap_or(window_ms);
    let same_time = |what: String| format!("# at the same time: {what}");
    let paired = trial.beside.as_ref().map(|other| same_time(format!("{other} under the same load")));
    let disturbed = trial.disturbed.then(|| same_time("the campaign's background load".to_owned()));
    let own = run.plan.servers.iter().find(|server| server.name == trial.server);
    let load = match trial.rate {
        Some(_) => open_load(run, own, workload, trial.level(), duration_ms),
        None => {
            let Trial { connections, client, tool, .. } = *trial;
            let load = Load { connections, duration_ms, timeout_ms, client, ..Load::default() };
            Some(closed_load(run, own, workload, tool, load))
        }
    };
    let own = own.map(|own| server(run, own, workload));
    paired.into_iter().chain(disturbed).chain(own).chain(load).collect()
}

/// The command that puts a closed loop's load on a server.
fn closed_load(
    run: &Run,
    server: Option<&Server>,
    workload: &Workload,
    tool: LoadTool,
    load: Load,
) -> String {
    let Ok(body) = workload.body() else {
        return format!("# a mix, and {} sends one body only: {}", tool.name(), workload.words());
    };
    let folder = match run.conditions.tool.source {
        Source::Pinned if tool.is_default() => "bench-scripts/tools/bin/",
        Source::Pinned | Source::Environment | Source::Path => "",
    };
    let stages = run.plan.campaign.stages.as_ref().map_or_else(Vec::new, Stages::scaled);
    let load = Load { stages, ..shared(run, server, load) };
    let commands = tool.driver().by_hand(&load, body, &url(run, server));
    on_its_core(run, &format!("{folder}{}", piped(&commands)))
}

/// The command that puts an open loop's load on it for `duration_ms`; `None` for a mix, which is drawn as it is sent.
pub fn open_load(
    run: &Run,
    server: Option<&Server>,
    workload: &Workload,
    level: Level,
    duration_ms: u64,
) -> Option<String> {
    let (body, rate) = (workload.body().ok()?, level.rate?);
    let (timeout_ms, connections) = (run.plan.campaign.timeout_ms, level.connections);
    let load = Load { rate: Some(rate), connections, duration_ms, timeout_ms, ..Load::default() };
    Some(piped(&level.tool.driver().by_hand(&shared(run, server, load), body, &url(run, server))))
}

/// A load as a server gets it; as it is where no server is named.
fn shared(run: &Run, server: Option<&Server>, load: Load) -> Load {
    match server {
        Some(server) => run.plan.load_of(server, load),
        None => load,
    }
}

/// Commands of which each gets the output of the one before.
fn piped(commands: &[Vec<String>]) -> String {
    joined(commands.iter().map(|command| shell(command)), " | ")
}

/// Where the commands send their load: to the run's server, where it has one that runs already.
fn url(run: &Run, server: Option<&Server>) -> String {
    if let Some((_, at)) = run.alone() {
        return at.url.clone();
    }
    server.map_or_else(|| Target::http(ADDRS.0), |server| at(run, server, ADDRS)).url()
}

/// Where a server answers that is started on these addresses.
fn at(run: &Run, server: &Server, (addr, ws_addr): Addrs) -> Target {
    match run.plan.environment_of(server).transport() {
        Transport::Http => server.listening_at(addr),
        Transport::WebSocket if !server.ws_args.is_empty() => Target::websocket(ws_addr),
        Transport::WebSocket => server.websocket_at(addr).unwrap_or_else(|| Target::websocket(addr)),
        Transport::Ipc => Target::unix(IPC_PATH),
    }
}

/// The command on the one core that server and load tool shared, where they did.
fn on_its_core(run: &Run, command: &str) -> String {
    match (run.plan.campaign.environment.placement, run.conditions.host.one_core) {
        (Placement::OneCore | Placement::Duet, Some(core)) => format!("taskset -c {core} {command}"),
        _ => command.to_owned(),
    }
}
