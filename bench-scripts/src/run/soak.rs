//! A soak: one server that stays alive at one rate, window after window. It is one life, so it can't be resumed.

use std::path::Path;

use anyhow::{Result, ensure};

use super::requirements::{check_limits, check_one};
use super::view::View;
use super::{Bench, Truths, begin_folder, build_servers, most_connections, note_ready_lines};
use crate::config::{Campaign, ConfigDir, Environment};
use crate::interrupt::Interrupt;
use crate::load::LoadTool;
use crate::load::toolchain::Tools;
use crate::plan::{Plan, Trial};
use crate::probe::host;
use crate::results::RunFolder;

/// What sends the load.
pub const TOOL: LoadTool = LoadTool::RpcLoad;

/// How long the load is on before the first window, in milliseconds: what a server takes once, such as room for its connections, is no
/// growth.
const WARM_UP_MS: u64 = 10_000;

/// What to run.
#[derive(Debug, Clone)]
pub struct Soak<'a> {
    /// The server, by name.
    pub server: &'a str,
    /// The request, by name.
    pub workload: &'a str,
    /// Requests a second.
    pub rate: u32,
    /// Connections that the load tool holds at most.
    pub connections: u32,
    /// Windows.
    pub windows: u32,
    /// How long each is, in milliseconds.
    pub window_ms: u64,
    /// What the server runs in.
    pub environment: Environment,
}

/// The plan of a soak.
///
/// # Errors
/// One line: there is no such server or request, or this machine can't hold the connections.
pub fn plan(config: &ConfigDir, soak: &Soak<'_>) -> Result<Plan> {
    let (server, workload) = (config.server(soak.server)?, config.workload(soak.workload)?);
    check_one(&server, std::slice::from_ref(&workload))?;
    let most = most_connections();
    ensure!(
        u64::from(soak.connections) <= most,
        "--connections: this machine holds at most {most}; see `just doctor`"
    );
    let campaign = Campaign {
        name: "soak".to_owned(),
        why: format!(
            "Whether memory or latency of {} grows at {} requests a second.",
            server.label(),
            soak.rate
        ),
        servers: vec![server.name.clone()],
        workloads: vec![workload.name.clone()],
        tool: TOOL,
        max_blocks: 1,
        max_extra_blocks: Some(0),
        warmup_ms: WARM_UP_MS.min(soak.window_ms),
        window_ms: soak.window_ms,
        timeout_ms: 2_000,
        connect_ms: 10_000,
        environment: soak.environment.clone(),
        ..Campaign::default()
    };
    let trial = |number: u32| Trial {
        number,
        block: number,
        server: server.name.clone(),
        workload: workload.name.clone(),
        connections: soak.connections,
        rate: Some(soak.rate),
        tool: TOOL,
        ..Trial::default()
    };
    Ok(Plan {
        trials: (1..=soak.windows).map(trial).collect(),
        threads: campaign.environment.threads.unwrap_or_else(|| host::cores() as u32),
        campaign,
        workloads: vec![workload],
        servers: vec![server],
        ..Plan::default()
    })
}

/// Builds the server and makes the folder.
///
/// # Errors
/// One line: the build failed, the limits are not permitted, or the folder takes nothing.
pub fn begin(results: &Path, plan: &Plan, tools: &Tools, command: &str) -> Result<RunFolder> {
    check_limits(plan)?;
    build_servers(&plan.servers)?;
    let folder = RunFolder::create(results, &plan.campaign.name)?;
    begin_folder(&folder, plan, "", tools, command)?;
    Ok(folder)
}

/// Runs the windows; each is written down before the next begins. A server that ended has no further window.
///
/// # Errors
/// An interrupt, or a folder that takes no more.
pub fn carry_out(folder: &RunFolder, tools: &Tools, interrupt: &Interrupt) -> Result<()> {
    let plan = folder.plan()?;
    let truths = Truths::of(&plan)?;
    note_ready_lines(folder, &plan, interrupt)?;
    let bench = Bench { folder, plan: &plan, tools, truths: &truths, interrupt };
    let Some(first) = plan.trials.first() else { return Ok(()) };
    let mut live = bench.start_live(first)?;
    let view = View::new();
    for trial in &plan.trials {
        let observation = bench.run_window(trial, &mut live)?;
        folder.append(&observation)?;
        let head = format!("[{}/{}]", trial.number, plan.trials.len());
        let Some(sample) = observation.outcome.sample() else {
            view.line(&format!("{head} {}", observation.outcome.failure().unwrap_or_default()));
            if live.has_ended()? {
                break;
            }
            continue;
        };
        folder.forget_tool_output(trial)?;
        let memory = sample.resources.last().and_then(|moment| moment.memory_bytes);
        view.line(&format!(
            "{head} p99 {:.2} ms, memory {:.1} MiB, {} failed",
            sample.load.latency_us.p99 / 1e3,
            memory.unwrap_or(0) as f64 / f64::from(1 << 20),
            sample.load.failures()
        ));
    }
    live.stop(interrupt)
}
