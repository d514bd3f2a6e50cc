//! What each load tool can send on this machine, before any server is measured at a rate: the campaign's rates, rising, against
//! the server that answers at once, in a folder inside the run's. A tool is tried until it holds a rate no more; one whose rates
//! an earlier tool holds is not tried, nor built.

use anyhow::{Context, Result, ensure};

use super::{Bench, Truths, begin_folder};
use crate::analysis::ceilings::{Ceiling, ceilings, holds};
use crate::config::{Campaign, Open};
use crate::interrupt::Interrupt;
use crate::load::toolchain::Tools;
use crate::load::{Level, LoadTool};
use crate::plan::Trial;
use crate::results::{CEILINGS, Plan, RunFolder};

/// The tools of open loops, in the order in which they are tried: the one that is there at once first.
const TOOLS: [LoadTool; 2] = [LoadTool::Vegeta, LoadTool::Oha];

/// How long each rate is sent, in milliseconds.
const WINDOW_MS: u64 = 1_500;

/// Finds the loads of an open-loop campaign, each with a tool that can send it. The rates that no tool holds are left out.
///
/// # Errors
/// The run is ended, a tool is missing, or no rate is left.
pub(super) fn levels(
    folder: &RunFolder,
    plan: &Plan,
    open: &Open,
    tools: &mut Tools,
    command: &str,
    interrupt: &Interrupt,
) -> Result<Vec<Level>> {
    let inner = RunFolder::create_inside(folder, CEILINGS)?;
    let tried = ceiling_plan(plan, open)?;
    begin_folder(&inner, &tried, "", tools, command)?;
    let named = |tool: &&LoadTool| open.tools.is_empty() || open.tools.contains(tool);
    let mut rates = open.rates.clone();
    rates.sort_unstable();
    for &tool in TOOLS.iter().filter(named) {
        let found = ceilings(&inner.observations()?);
        let is_held = |rate: &u32| found.iter().any(|ceiling| ceiling.held >= Some(*rate));
        if open.tools.is_empty() && rates.iter().all(is_held) {
            continue;
        }
        tools.need(tool)?;
        try_rates(&inner, &tried, tool, &rates, tools, interrupt)?;
    }
    let found = ceilings(&inner.observations()?);
    found.iter().for_each(say);
    let holds = |tool: LoadTool, rate: u32| {
        // bombardier asks late rather than more, so it has no ceiling of its own to keep below.
        tool == LoadTool::Bombardier
            || found.iter().any(|ceiling| ceiling.tool == tool && ceiling.held >= Some(rate))
    };
    let first = |rate: u32| TOOLS.into_iter().find(|tool| holds(*tool, rate));
    let mut levels = open.levels(first);
    levels.retain(|level| level.rate.is_some_and(|rate| holds(level.tool, rate)));
    ensure!(!levels.is_empty(), "no load tool can send even {} requests/s here; lower open.rates", rates[0]);
    Ok(levels)
}

fn say(ceiling: &Ceiling) {
    let Ceiling { tool, held, not_held } = *ceiling;
    let held = held.map_or_else(|| "no rate".to_owned(), |rate| format!("{rate} requests/s"));
    let beyond = not_held
        .map_or_else(|| "no more was asked of it".to_owned(), |rate| format!("and did not hold {rate}"));
    eprintln!("{} held {held}, {beyond}", tool.name());
}

/// The plan of the trials: one server and one request, no list of trials beforehand.
fn ceiling_plan(plan: &Plan, open: &Open) -> Result<Plan> {
    let campaign = &plan.campaign;
    let name = campaign.ceiling.as_ref().context(
        "table [open]: what a load tool can send is measured with the server that answers at once; name it: ceiling = \"control\"",
    )?;
    let server = plan.servers.iter().find(|server| server.name == *name);
    let workload = plan.workloads.first().context("the plan has no workload")?;
    let campaign = Campaign {
        name: CEILINGS.to_owned(),
        servers: vec![name.clone()],
        baseline: None,
        workloads: vec![workload.name.clone()],
        comparisons: Vec::new(),
        max_blocks: 1,
        precision: None,
        window_ms: WINDOW_MS,
        pass: Vec::new(),
        open: Some(Open { background: None, stall: None, ..open.clone() }),
        ..campaign.clone()
    };
    Ok(Plan {
        campaign,
        workloads: vec![workload.clone()],
        servers: vec![server.with_context(|| format!("the plan has no {name:?}"))?.clone()],
        trials: Vec::new(),
        ..plan.clone()
    })
}

/// Lets a tool send rising rates until it holds one no more.
fn try_rates(
    inner: &RunFolder,
    plan: &Plan,
    tool: LoadTool,
    rates: &[u32],
    tools: &Tools,
    interrupt: &Interrupt,
) -> Result<()> {
    let truths = Truths::of(plan)?;
    let bench = Bench { folder: inner, plan, tools, truths: &truths, interrupt };
    let open = plan.campaign.open.as_ref().context("a campaign without [open]")?;
    for &rate in rates {
        let trial = Trial {
            number: inner.observations()?.len() as u32 + 1,
            block: 1,
            server: plan.campaign.servers[0].clone(),
            workload: plan.campaign.workloads[0].clone(),
            connections: open.connections,
            rate: Some(rate),
            tool,
            ..Trial::default()
        };
        let observation = bench.run(&trial)?;
        inner.append(&observation)?;
        if !observation.outcome.sample().is_some_and(|sample| holds(&sample.load)) {
            return Ok(());
        }
    }
    Ok(())
}
