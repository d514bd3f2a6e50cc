//! What each load tool can send on this machine, before any server is measured at a rate: the campaign's rates, rising,
//! against the server that answers at once, in a folder inside the run's. A tool is tried until it holds a rate in
//! neither of two windows. A tool is neither tried nor built where an earlier one holds all rates.

use anyhow::{Context, Result, ensure};

use super::begin_folder;
use super::stage::{Question, Stage};
use crate::interrupt::Interrupt;
use bench_core::ceilings::{Ceiling, ceilings, holds};
use bench_core::config::{Campaign, Open};
use bench_core::load::toolchain::Tools;
use bench_core::load::{Capability, LoadTool};
use bench_core::observation::Observation;
use bench_core::plan::{self, Plan, Trial};
use bench_core::results::{CEILINGS, RunFolder};

/// How long a tool sends a rate, in milliseconds.
const WINDOW_MS: u64 = 1_500;

/// Windows in which a tool may send a rate: it holds one that it held in any of them.
const WINDOWS: u32 = 2;

/// The plan with the loads of an open loop, where its campaign has one, each with a tool that can send it. The rates
/// that no tool holds are left out.
///
/// # Errors
/// The run is ended, a tool is missing, or no rate is left.
pub(super) fn with_rates(
    folder: &RunFolder,
    plan: &Plan,
    tools: &mut Tools,
    command: &str,
    interrupt: &Interrupt,
) -> Result<Plan> {
    let Some(open) = &plan.campaign.open else { return Ok(plan.clone()) };
    if plan.campaign.ceiling.is_none() && !open.tools.is_empty() {
        open.tools.iter().try_for_each(|tool| tools.need(*tool).map(drop))?;
        bench_core::note!(
            "what {} can send here was not tried, since the campaign names no server that answers at once (ceiling); \
             where it did not keep up, the report says so",
            open.tools.iter().map(|tool| tool.name()).collect::<Vec<_>>().join(" and ")
        );
        let levels = open.levels(|_| None);
        let trials = plan::trials_at(&plan.campaign, &levels);
        return Ok(Plan { rates: levels, trials, ..plan.clone() });
    }
    let tried = on_ceiling(plan)?;
    let inner = RunFolder::create_inside(folder, CEILINGS)?;
    begin_folder(&inner, &tried, "", tools, command)?;
    let any = open.tools.is_empty();
    let mut rates = open.rates.clone();
    rates.sort_unstable();
    for tool in LoadTool::of_open_loops().filter(|tool| any || open.tools.contains(tool)) {
        let found = ceilings(&inner.observations()?);
        let is_held = |rate: &u32| found.iter().any(|ceiling| ceiling.held >= Some(*rate));
        if any && rates.iter().all(is_held) {
            continue;
        }
        tools.need(tool)?;
        let stage = Stage { folder: inner.clone(), plan: tried.clone(), tools, interrupt };
        stage.answer(&mut Rising { campaign: &tried.campaign, tool, rates: &rates })?;
    }
    let found = ceilings(&inner.observations()?);
    found.iter().for_each(say);
    let holds = |tool: LoadTool, rate: u32| {
        // A closed loop sends late rather than more, so it has no ceiling of its own to keep below.
        !tool.can(Capability::OpenLoop)
            || found.iter().any(|ceiling| ceiling.tool == tool && ceiling.held >= Some(rate))
    };
    let first = |rate: u32| LoadTool::of_open_loops().find(|tool| holds(*tool, rate));
    let mut levels = open.levels(first);
    levels.retain(|level| level.rate.is_some_and(|rate| holds(level.tool, rate)));
    ensure!(!levels.is_empty(), "no load tool can send even {} requests/s here; lower open.rates", rates[0]);
    let is_left = |rate: &u32| levels.iter().any(|level| level.rate == Some(*rate));
    let left_out_rates = open.rates.iter().copied().filter(|rate| !is_left(rate)).collect();
    let trials = plan::trials_at(&plan.campaign, &levels);
    Ok(Plan { rates: levels, left_out_rates, trials, ..plan.clone() })
}

fn say(ceiling: &Ceiling) {
    let Ceiling { tool, held, not_held } = *ceiling;
    let held = held.map_or_else(|| "no rate".to_owned(), |rate| format!("{rate} requests/s"));
    let beyond = not_held.map(|rate| format!("and did not hold {rate}"));
    let beyond = beyond.as_deref().unwrap_or("no higher rate was tried");
    bench_core::note!("{} held {held}, {beyond}", tool.name());
}

/// The plan of the trials that show what a load tool can send: the campaign's ceiling and its first request, no
/// background load, and no list of trials beforehand.
///
/// # Errors
/// The campaign names no server that answers at once.
fn on_ceiling(plan: &Plan) -> Result<Plan> {
    let campaign = &plan.campaign;
    let name = campaign.ceiling.as_ref().with_context(|| {
        format!(
            "campaign {}: load tools are tried on the server that answers at once; name it: ceiling = \"control\". Or \
             say which tool sends the rates, untried: open.tools = [\"rpc-load\"]",
            campaign.name
        )
    })?;
    let workload = plan.workloads.first().context("the plan has no workload")?;
    let campaign = Campaign {
        workloads: vec![workload.name.clone()],
        max_blocks: WINDOWS,
        max_extra_blocks: Some(0),
        precision: None,
        window_ms: WINDOW_MS,
        open: campaign.open.clone().map(|open| Open { background: None, stall: None, ..open }),
        ..campaign.part(CEILINGS)
    };
    Ok(plan.part(vec![plan.server(name)?.clone()], campaign))
}

/// Rising rates of a tool, until it holds one no more.
struct Rising<'a> {
    campaign: &'a Campaign,
    tool: LoadTool,
    rates: &'a [u32],
}

impl Question for Rising<'_> {
    fn next(&mut self, observations: &[Observation]) -> Result<Vec<Trial>> {
        let Self { campaign, tool, rates } = *self;
        let tried = |rate: u32| {
            let is_of = move |of: &&Observation| (of.trial.tool, of.trial.rate) == (tool, Some(rate));
            observations.iter().filter(is_of)
        };
        let held = |of: &Observation| of.outcome.sample().is_some_and(|sample| holds(&sample.load));
        let Some(&rate) = rates.iter().find(|rate| !tried(**rate).any(held)) else { return Ok(Vec::new()) };
        let block = tried(rate).count() as u32 + 1;
        let trial = Trial {
            number: observations.len() as u32 + 1,
            block,
            server: campaign.servers[0].clone(),
            workload: campaign.workloads[0].clone(),
            connections: campaign.open.as_ref().map_or(0, |open| open.connections),
            rate: Some(rate),
            tool,
            ..Trial::default()
        };
        Ok(if block <= WINDOWS { vec![trial] } else { Vec::new() })
    }
}
