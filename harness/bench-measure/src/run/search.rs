//! Searches for the load from which servers fail, in a folder of their own inside a run's. Every trial is written
//! before the next begins, and what comes next follows from what is written, so searches can be stopped and resumed at
//! any trial.

use anyhow::{Context, Result, ensure};

use super::most_connections;
use super::stage::{Question, Stage};
use bench_core::config::{Campaign, Placement, Search, Server};
use bench_core::diagnosis::{Remedy, Standing};
use bench_core::load::at;
use bench_core::note;
use bench_core::observation::{Observation, Sample};
use bench_core::plan::{Plan, Trial};
use bench_core::results::{REMEDIED, RunFolder, SEARCH, SEARCHES, pretty};
use bench_core::search::{Judged, Judgement, Missed, Replay, SearchPlan, Searched, read};
use bench_core::{TriedRemedy, invalid_reason, tried_remedies};

/// Connections of the warm-up at most. It warms the server's code and no more: along connections the window is the
/// first to open all of them, and the ports that a warm-up has used can't be used again at once.
const WARMUP_CONNECTIONS: u32 = 50;

/// Connections that are left to the warm-up, to the harness's own requests, and to others.
const SPARE_PORTS: u64 = 200;

/// Runs the search of a campaign, where it has one, in the folder of its run; then tries the remedy of each likely cause
/// where servers fail, as far as the campaign says. Where it takes the symptom away, the search is made again with it.
pub(super) fn carry_out(outer: &Stage<'_>) -> Result<()> {
    let Some(search) = &outer.plan.campaign.search else { return Ok(()) };
    let stage = outer.inside(SEARCH, |folder| {
        let (plan, searches) = resolve(&outer.plan, search)?;
        folder.write_new(SEARCHES, &pretty(&searches)?)?;
        Ok(plan)
    })?;
    run(&stage)?;
    if stage.plan.campaign.remedy_trials == 0 {
        return Ok(());
    }
    let folder = &stage.folder;
    stage.try_remedies_of(&read(folder)?.causes)?;
    let (servers, searches) = with_remedies(folder, &folder.read_json(SEARCHES)?)?;
    if searches.searches.is_empty() {
        return Ok(());
    }
    run(&stage.inside(REMEDIED, |folder| {
        folder.write_new(SEARCHES, &pretty(&searches)?)?;
        Ok(stage.plan.part(servers, Campaign { remedy_trials: 0, ..stage.plan.campaign.clone() }))
    })?)
}

/// What a campaign's table means on this machine: the plan that its trials run by, and the searches.
fn resolve(plan: &Plan, search: &Search) -> Result<(Plan, SearchPlan)> {
    let campaign = &plan.campaign;
    let workloads = if search.workloads.is_empty() { &campaign.workloads } else { &search.workloads }.clone();
    let of =
        |workload: &String, server: &String| Searched { server: server.clone(), workload: workload.clone() };
    let searches =
        workloads.iter().flat_map(|workload| campaign.servers.iter().map(move |server| of(workload, server)));
    let searches = SearchPlan {
        search: search.clone(),
        seed: campaign.seed,
        timeout_ms: campaign.timeout_ms,
        window_ms: search.window_ms(campaign),
        cores: bench_core::machine::cores(),
        limit: limit(search)?,
        searches: searches.collect(),
    };
    let mut environment = campaign.environment.clone();
    if environment.placement == Placement::Duet {
        // A search runs one server at a time.
        environment.placement = Placement::OneCore;
    }
    let closed = campaign.searches_connections();
    let inner = Campaign {
        workloads,
        connections: Vec::new(),
        warmup_connections: if closed { Some(WARMUP_CONNECTIONS) } else { campaign.warmup_connections },
        window_ms: searches.window_ms,
        environment,
        ..campaign.part(SEARCH)
    };
    Ok((plan.part(plan.servers.clone(), inner), searches))
}

/// The highest load that is tried: never more connections than this machine holds.
fn limit(search: &Search) -> Result<u32> {
    let most = most_connections().saturating_sub(SPARE_PORTS);
    let needed = search.service_level().map_or(search.from, |level| level.connections);
    ensure!(
        u64::from(needed) <= most,
        "this machine holds at most {most} connections (open files, client ports), and [search] needs {needed}; see \
         `just doctor`"
    );
    Ok(if search.service_level().is_some() {
        search.most
    } else {
        search.most.min(u32::try_from(most).unwrap_or(u32::MAX))
    })
}

/// The servers whose remedy took the symptom away, and a search for each.
fn with_remedies(folder: &RunFolder, before: &SearchPlan) -> Result<(Vec<Server>, SearchPlan)> {
    let mut servers: Vec<Server> = Vec::new();
    let mut searches = Vec::new();
    for (tried, inner) in tried_remedies(folder)? {
        let confirmed = tried.confirmation.is_some_and(|of| of.standing == Standing::Confirmed);
        let TriedRemedy { plan, .. } = tried;
        // Another client changes the load and not the server.
        let searched_again = confirmed && plan.cause.remedy != Some(Remedy::OtherClient);
        let Some((name, _)) = plan.remedied.filter(|_| searched_again) else { continue };
        let server = inner.plan()?.server(&name)?.clone();
        let is_of = |of: &&Searched| (&of.server, &of.workload) == (&plan.server, &plan.workload);
        let searched = before.searches.iter().find(is_of);
        let searched = searched.with_context(|| format!("no search is of {}", plan.server))?;
        searches.push(Searched { server: server.name.clone(), ..searched.clone() });
        if !servers.contains(&server) {
            servers.push(server);
        }
    }
    Ok((servers, SearchPlan { searches, ..before.clone() }))
}

/// Runs searches from wherever they are to their end.
fn run(stage: &Stage<'_>) -> Result<()> {
    let folder = &stage.folder;
    stage.answer(&mut Searching { folder, searches: folder.read_json(SEARCHES)?, has_begun: false })
}

/// The searches of a folder.
struct Searching<'a> {
    folder: &'a RunFolder,
    searches: SearchPlan,
    has_begun: bool,
}

impl Question for Searching<'_> {
    fn next(&mut self, observations: &[Observation]) -> Result<Vec<Trial>> {
        let place = || format!("{} does not hold what was searched", self.folder.0.display());
        let schedule = self.searches.replay(observations).with_context(place)?.schedule;
        let next = schedule.next();
        if next.is_some() && !self.has_begun {
            self.has_begun = true;
            let Search { from, most, most_trials, .. } = self.searches.search;
            let (left, unit) = (schedule.left(), self.searches.search.level(most).unit_of(most));
            note!("search: {left} from {from} to {most} {unit}, of at most {most_trials} trials each");
        }
        Ok(next.map(|next| self.searches.trial(next)).into_iter().collect())
    }

    fn ended(&mut self, observations: &[Observation]) -> Result<()> {
        let Some(Observation { trial, .. }) = observations.last() else { return Ok(()) };
        let Replay { schedule, judged } = self.searches.replay(observations)?;
        let is_it = |judged: &&Judged<'_>| judged.observation.trial.number == trial.number;
        let lasts = judged.iter().map(|of_one| of_one.last().filter(is_it));
        for (judged, search) in lasts.zip(schedule.searches()) {
            let Some(Judged { observation, judgement }) = judged else { continue };
            if judgement.passed() == Some(true) {
                self.folder.forget_tool_output(trial)?;
            }
            note!("{}  {}", head(trial), shown(&self.searches, observation, *judgement));
            if search.next().is_none() {
                let (found, left) = (search.found(), schedule.left());
                note!("{} {}: {found}; searches left: {left}", trial.server, trial.workload);
            }
        }
        Ok(())
    }
}

/// A trial on one line.
fn head(trial: &Trial) -> String {
    let Trial { number, block, server, workload, window_ms, .. } = trial;
    let short = if window_ms.is_some() { ", short" } else { "" };
    format!("[{number:>4}] round {block:<3} {server:<17} {}{short}", at(workload, trial.level()))
}

/// What a trial showed.
fn shown(searches: &SearchPlan, observation: &Observation, judgement: Judgement) -> String {
    let evidence = observation.outcome.evidence();
    let wrong = || {
        let missed = searches.judge().missed(observation);
        missed.iter().map(Missed::to_string).collect::<Vec<_>>().join("; ")
    };
    match judgement {
        Judgement::Measured { passed: true, .. } => {
            format!(
                "pass, {}",
                evidence.map_or_else(String::new, |sample| figure(sample, observation.trial.rate))
            )
        }
        Judgement::Measured { passed: false, .. } => format!("FAIL: {}", wrong()),
        Judgement::NotReached => format!("LOAD NOT REACHED: {}", wrong()),
        Judgement::Nothing => format!("NOTHING: {}", evidence.and_then(invalid_reason).unwrap_or_else(wrong)),
    }
}

/// The figure that decides: the slowest request, or the 99th percentile of latency where there is a rate.
fn figure(sample: &Sample, rate: Option<u32>) -> String {
    match rate {
        None => format!("slowest {:.0} ms", sample.load.latency_us.max / 1e3),
        Some(_) => format!("p99 {:.1} ms", sample.load.latency_us.p99 / 1e3),
    }
}
