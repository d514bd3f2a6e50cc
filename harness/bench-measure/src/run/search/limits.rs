//! The highest load of a search: as many connections as this machine holds, or the rate that the load tool can send,
//! which is searched first on the server that answers at once.

use anyhow::{Context, Result, ensure};

use super::super::ceilings::{WINDOW_MS, on_ceiling};
use super::super::stage::Stage;
use super::super::{Bench, SPARE_FILES, Truths, begin_inside, most_connections};
use bench_analysis::ceilings::{Ceiling, holds};
use bench_analysis::search::{Bound, Goal, Judgement, Limit, Mlr, NextTrial, Rules, Search, grid, trial_of};
use bench_model::config::{self, LoadAxis, ServiceLevel};
use bench_model::observation::{Observation, Outcome};
use bench_model::results::{CEILINGS, RunFolder};
use bench_system::probe::host;

/// Client ports that are left to the warm-up, to the harness's own requests, and to others.
const SPARE_PORTS: u64 = 200;

/// How the load tool's own rate is searched: 10 % apart; the tool holds a rate that it held in one window of two.
const RULES: Rules = Rules {
    width: 0.1,
    initial_trial_ms: WINDOW_MS,
    goal: Goal { final_trial_ms: WINDOW_MS, duration_sum_ms: 2 * WINDOW_MS, exceed_ratio: 0.5 },
};

/// Trials of that search at most.
const MOST_TRIALS: u32 = 24;

/// The highest load of a search, and what the load tool can send, where the campaign names a server to measure that on.
///
/// # Errors
/// The run is ended, or the machine or the load tool does not reach the lowest load.
pub(super) fn find(
    folder: &RunFolder,
    outer: &Stage<'_>,
    search: &config::Search,
) -> Result<(Limit, Option<Ceiling>)> {
    let level = match &search.along {
        LoadAxis::Connections => return Ok((connections(search.most)?, None)),
        LoadAxis::Rate(level) => level,
    };
    let most = most_connections();
    ensure!(
        u64::from(level.connections) <= most,
        "this machine holds at most {most} connections (open files, client ports), and [search] needs {}; see `just \
         doctor`",
        level.connections
    );
    let campaigns = Limit { at: search.most, by: Bound::Campaign };
    // Without a server that answers at once, a trial that the tool holds back says so by itself.
    if outer.plan.campaign.ceiling.is_none() {
        return Ok((campaigns, None));
    }
    let ceiling = ceiling(folder, outer, search, level)?;
    let held = ceiling.held.with_context(|| {
        format!("{} can't send even {} requests/s here; lower search.from", level.tool.name(), search.from)
    })?;
    let limit = if held < search.most { Limit { at: held, by: Bound::Tool } } else { campaigns };
    Ok((limit, Some(ceiling)))
}

/// The highest connection count: never more than this machine holds, in the server and in the client, which both have
/// the harness's limit of open files.
fn connections(most: u32) -> Result<Limit> {
    let ports =
        host::client_ports().map_or(u64::MAX, |(first, last)| u64::from(last.saturating_sub(first)) + 1);
    let bounds = [
        (u64::from(most), Bound::Campaign),
        (host::open_files().saturating_sub(SPARE_FILES), Bound::OpenFiles),
        (ports.saturating_sub(SPARE_PORTS), Bound::ClientPorts),
    ];
    let (connections, by) = bounds.into_iter().min_by_key(|bound| bound.0).unwrap_or(bounds[0]);
    let words = by.words();
    ensure!(connections > 0, "this machine holds no connections to search with ({words}); see `just doctor`");
    Ok(Limit { at: connections as u32, by })
}

/// Finds the highest rate of a campaign that its tool can send on this machine, before any server is searched: a search
/// of its own on the server that answers at once, in a folder inside the searches'.
fn ceiling(
    folder: &RunFolder,
    outer: &Stage<'_>,
    search: &config::Search,
    level: &ServiceLevel,
) -> Result<Ceiling> {
    let plan = on_ceiling(&outer.plan)?;
    let inner = begin_inside(folder, CEILINGS, &plan, outer.tools, &outer.folder.conditions()?.command)?;
    let truths = Truths::of(&plan)?;
    let Stage { tools, interrupt, .. } = *outer;
    let bench = Bench { folder: &inner, plan: &plan, tools, truths: &truths, interrupt };
    let (server, workload) = (&plan.campaign.servers[0], &plan.campaign.workloads[0]);
    bench_system::note!("search: what {} can send, measured on {server}", level.tool.name());
    let rates = grid(search.from, search.most, RULES.width);
    let mut own = Search::by(Mlr::new(rates, search.from, RULES), MOST_TRIALS);
    for number in 1.. {
        let Some(load) = own.next() else { break };
        let trial = trial_of(search, NextTrial { search: 0, round: 1, number, load }, server, workload);
        let observation = bench.run(&trial)?;
        inner.forget_tool_output(&trial)?;
        inner.append(&observation)?;
        let judgement = of_tool(&observation);
        let held = if judgement.passed() == Some(true) { "held" } else { "not held" };
        bench_system::note!("  {:>6}/s {held}", load.at);
        own.take(judgement);
    }
    let found = own.found();
    let [held, not_held] = [found.holds, found.fails].map(|end| Some(end?.at));
    Ok(Ceiling { tool: level.tool, held, not_held })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_never_needs_more_than_the_machine_has() {
        let (files, ports) = (host::open_files(), host::client_ports());
        assert_eq!(connections(1).unwrap(), Limit { at: 1, by: Bound::Campaign });
        let limit = connections(u32::MAX).unwrap();
        let most = u64::from(limit.at);
        assert!(most < files && limit.by != Bound::Campaign, "{limit:?}");
        assert!(ports.is_none_or(|(first, last)| most < u64::from(last - first)), "{limit:?}");
    }
}
