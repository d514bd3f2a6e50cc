//! Searches for the highest rate that servers sustain under a service level: what a campaign's table means on this
//! machine, and what is kept of the trials. What the load tool can send is measured first.

use anyhow::{Context, Result, ensure};

use super::ceilings::{WINDOW_MS, on_ceiling};
use super::search::{self, Runnable};
use super::stage::Stage;
use super::{Bench, Truths, begin_inside, most_connections};
use bench_analysis::ceilings::{Ceiling, holds};
use bench_analysis::interleaved_searches::NextTrial;
use bench_analysis::search::Judgement;
use bench_analysis::slo::{Goal, Missed, RateBound, RateLimit, Rules, Search, SloPlan, SloSearched};
use bench_model::config::{Campaign, Server, Slo};
use bench_model::observation::{Observation, Outcome};
use bench_model::plan::Plan;
use bench_model::results::{CEILINGS, RunFolder, SLO, SLO_PLAN, pretty};
use bench_system::probe::host;

/// Runs the searches of a campaign, where it has any, in the folder of its run. What the load tool can send is measured
/// first, where the campaign names a server for that.
pub(super) fn carry_out(outer: &Stage<'_>) -> Result<()> {
    let Some(slo) = &outer.plan.campaign.slo else { return Ok(()) };
    let stage = outer.inside(SLO, |folder| {
        let most = most_connections();
        ensure!(
            u64::from(slo.connections) <= most,
            "this machine holds at most {most} connections (open files, client ports), and [slo] needs {}; see `just \
             doctor`",
            slo.connections
        );
        let found = match &outer.plan.campaign.ceiling {
            Some(_) => find_ceiling(folder, outer, slo)?,
            None => Ceiling { tool: slo.tool, held: None, not_held: None },
        };
        let (plan, searches) = resolve(&outer.plan, slo, found)?;
        folder.write_new(SLO_PLAN, &pretty(&searches)?)?;
        Ok(plan)
    })?;
    search::search::<SloPlan>(&stage)
}

/// What a campaign's table means on this machine: the plan that its trials run by, and the searches.
fn resolve(plan: &Plan, slo: &Slo, ceiling: Ceiling) -> Result<(Plan, SloPlan)> {
    let campaign = &plan.campaign;
    let servers = campaign.searched_servers(&slo.servers);
    let workloads = campaign.searched_workloads(&slo.workloads);
    // Without a server that answers at once, a trial that the tool holds back says so by itself.
    let held = if campaign.ceiling.is_none() { Some(slo.most) } else { ceiling.held };
    let held = held.with_context(|| {
        format!("{} can't send even {} requests/s here; lower slo.from", slo.tool.name(), slo.from)
    })?;
    let by = if held < slo.most { RateBound::Tool } else { RateBound::Campaign };
    let limit = RateLimit { rate: held.min(slo.most), by };
    let mut searches = Vec::new();
    for workload in &workloads {
        let of = |server: &String| SloSearched { server: server.clone(), workload: workload.clone(), limit };
        searches.extend(servers.iter().map(of));
    }
    let servers = servers.iter().map(|name| plan.server(name).cloned()).collect::<Result<Vec<Server>>>()?;
    let inner = plan.part(servers, Campaign { workloads, ..campaign.part(SLO) });
    Ok((inner, SloPlan { slo: slo.clone(), seed: campaign.seed, cores: host::cores(), ceiling, searches }))
}

impl Runnable for SloPlan {
    const FILE: &str = SLO_PLAN;

    fn announce(&self, left: usize) -> String {
        let Slo { from, most_trials, .. } = &self.slo;
        let tool = self.slo.tool.name();
        format!(
            "slo: {left} searches from {from} requests/s up with {tool}, at most {most_trials} trials each"
        )
    }

    fn wrong(&self, observation: &Observation) -> String {
        let missed = self.judge().missed(observation);
        missed.iter().map(Missed::to_string).collect::<Vec<_>>().join("; ")
    }
}

/// How the load tool's own rate is searched: 10 % apart; the tool holds a rate that it held in one window of two.
const RULES: Rules = Rules {
    width: 0.1,
    initial_trial_ms: WINDOW_MS,
    goal: Goal { final_trial_ms: WINDOW_MS, duration_sum_ms: 2 * WINDOW_MS, exceed_ratio: 0.5 },
    most_trials: 24,
};

/// Finds the highest rate of a campaign that its tool can send on this machine, before any server is searched: a search
/// of its own on the server that answers at once, in a folder inside the searches'.
///
/// # Errors
/// The run is ended, or the campaign names no server that answers at once.
fn find_ceiling(folder: &RunFolder, outer: &Stage<'_>, slo: &Slo) -> Result<Ceiling> {
    let plan = on_ceiling(&outer.plan)?;
    let inner = begin_inside(folder, CEILINGS, &plan, outer.tools, &outer.folder.conditions()?.command)?;
    let truths = Truths::of(&plan)?;
    let Stage { tools, interrupt, .. } = *outer;
    let bench = Bench { folder: &inner, plan: &plan, tools, truths: &truths, interrupt };
    bench_system::note!("slo: what {} can send, measured on {}", slo.tool.name(), plan.campaign.servers[0]);
    let mut search = Search::new(slo.from, slo.most, RULES);
    let (server, workload) = (&plan.campaign.servers[0], &plan.campaign.workloads[0]);
    for number in 1.. {
        let Some(load) = search.next() else { break };
        let trial = SloPlan::trial_of(slo, NextTrial { search: 0, round: 1, number, load }, server, workload);
        let observation = bench.run(&trial)?;
        inner.forget_tool_output(&trial)?;
        inner.append(&observation)?;
        let judgement = of_tool(&observation);
        let held = if judgement.passed() == Some(true) { "held" } else { "not held" };
        bench_system::note!("  {:>6}/s {held}", load.rate);
        search.take(judgement);
    }
    let found = search.found();
    let [held, not_held] = [found.lower, found.upper].map(|end| Some(end?.rate));
    Ok(Ceiling { tool: slo.tool, held, not_held })
}

/// What a trial showed of the tool. A server that ends or answers wrongly shows nothing of it.
fn of_tool(observation: &Observation) -> Judgement {
    match &observation.outcome {
        Outcome::Completed(sample) => Judgement::Measured { passed: holds(&sample.load), missed: 0.0 },
        Outcome::NoSuccess(_) | Outcome::Silent(_) | Outcome::NotHeld(_) | Outcome::Unanswered { .. } => {
            Judgement::FAIL
        }
        _ => Judgement::Nothing,
    }
}
