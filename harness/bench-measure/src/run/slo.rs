//! Searches for the highest rate that servers sustain under a service level: what a campaign's table means on this
//! machine, and what is kept of the trials. What the load tool can send is measured first.

mod ceiling;

use anyhow::{Context, Result, ensure};

use super::most_connections;
use super::search::{self, Runnable};
use super::stage::Stage;
use bench_analysis::ceilings::Ceiling;
use bench_analysis::slo::{Missed, RateBound, RateLimit, SloPlan, SloSearched};
use bench_model::config::{Campaign, Server, Slo};
use bench_model::observation::{Observation, Sample};
use bench_model::plan::{Plan, Trial};
use bench_model::results::{SLO, SLO_PLAN, pretty};
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
            Some(_) => ceiling::find(folder, outer, slo)?,
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
        searches.extend(servers.iter().map(|server| SloSearched {
            server: server.clone(),
            workload: workload.clone(),
            limit,
        }));
    }
    let servers: Vec<Server> =
        servers.iter().map(|name| plan.server(name).cloned()).collect::<Result<_>>()?;
    let inner = plan.part(servers, Campaign { workloads, ..campaign.part(SLO) });
    Ok((inner, SloPlan { slo: slo.clone(), seed: campaign.seed, cores: host::cores(), ceiling, searches }))
}

impl Runnable for SloPlan {
    const FILE: &str = SLO_PLAN;

    fn announce(&self, left: usize) -> String {
        let Slo { from, tool, most_trials, .. } = &self.slo;
        let tool = tool.name();
        format!(
            "slo: {left} searches from {from} requests/s up with {tool}, at most {most_trials} trials each"
        )
    }

    /// Of a trial that met the level, and of a short one, the figures are enough; of any other everything is kept.
    fn shorten(&self, trial: &Trial, has_passed: bool, sample: &mut Sample) -> bool {
        let is_short = trial.window_ms.is_some_and(|window_ms| window_ms < self.slo.final_trial_ms);
        if has_passed || is_short {
            sample.load.series.clear();
        }
        if has_passed {
            sample.resources.clear();
        }
        has_passed || is_short
    }

    fn wrong(&self, observation: &Observation) -> String {
        let missed = self.judge().missed(observation);
        missed.iter().map(Missed::to_string).collect::<Vec<_>>().join("; ")
    }
}
