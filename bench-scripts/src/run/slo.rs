//! Carrying searches for the highest rate under a service level out, in a folder of their own inside a run's: every trial is
//! written before the next begins, and what comes next follows from what is written, so it can be stopped and gone on with at
//! any trial. What the load tool can send is measured first.

mod ceiling;

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};

use super::trial_line::TrialLine;
use super::{Bench, Truths, begin_folder, most_connections, note_ready_lines};
use crate::analysis::ceilings::Ceiling;
use crate::analysis::invalid_reason;
use crate::analysis::slo::{Asked, Judge, RateBound, RateLimit, Schedule, Shown, SloPlan, SloSearched};
use crate::config::{Campaign, Server, Slo};
use crate::interrupt::Interrupt;
use crate::load::toolchain::Tools;
use crate::observation::{Observation, Outcome};
use crate::plan::Plan;
use crate::plan::Trial;
use crate::probe::host;
use crate::results::{RunFolder, SLO, SLO_PLAN, pretty};

/// Runs the searches of a campaign, where it has any, in the folder of its run.
pub fn carry_out(outer: &RunFolder, plan: &Plan, tools: &Tools, interrupt: &Interrupt) -> Result<()> {
    let Some(slo) = &plan.campaign.slo else { return Ok(()) };
    let folder = match RunFolder::open_inside(outer, SLO)? {
        Some(folder) => {
            folder.repair()?;
            folder
        }
        None => begin(outer, plan, slo, tools, interrupt)?,
    };
    search(&folder, tools, interrupt)
}

/// Starts the searches' folder inside a run's.
fn begin(
    outer: &RunFolder,
    plan: &Plan,
    slo: &Slo,
    tools: &Tools,
    interrupt: &Interrupt,
) -> Result<RunFolder> {
    let most = most_connections();
    ensure!(
        u64::from(slo.connections) <= most,
        "this machine holds at most {most} connections (open files, client ports), and [slo] asks for {}; see `just doctor`",
        slo.connections
    );
    let command = outer.conditions()?.command;
    let folder = RunFolder::create_inside(outer, SLO)?;
    let ceiling = ceiling::find(&folder, plan, slo, tools, &command, interrupt)?;
    let (inner, searches) = resolve(plan, slo, ceiling)?;
    folder.write_new(SLO_PLAN, &pretty(&searches)?)?;
    begin_folder(&folder, &inner, "", tools, &command)?;
    Ok(folder)
}

/// What a campaign's table means on this machine: the plan that its trials run by, and the searches.
fn resolve(plan: &Plan, slo: &Slo, ceiling: Ceiling) -> Result<(Plan, SloPlan)> {
    let campaign = &plan.campaign;
    let (servers, workloads) = (slo.servers(campaign), slo.workloads(campaign));
    let held = ceiling.held.with_context(|| {
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
    let known = |name: &String| {
        let found: Option<&Server> = plan.servers.iter().find(|server| server.name == *name);
        found.cloned().with_context(|| format!("the plan has no {name:?}"))
    };
    let inner = Plan {
        servers: servers.iter().map(known).collect::<Result<_>>()?,
        workloads: plan.workloads.iter().filter(|of| workloads.contains(&of.name)).cloned().collect(),
        threads: plan.threads,
        left_out_connections: Vec::new(),
        left_out_rates: Vec::new(),
        rates: Vec::new(),
        trials: Vec::new(),
        campaign: Campaign {
            servers,
            baseline: None,
            ceiling: None,
            workloads,
            headline: BTreeMap::new(),
            comparisons: Vec::new(),
            pass: Vec::new(),
            ..campaign.clone()
        },
    };
    Ok((inner, SloPlan { slo: slo.clone(), seed: campaign.seed, cores: host::cores(), ceiling, searches }))
}

/// Runs searches from wherever they are to their end.
fn search(folder: &RunFolder, tools: &Tools, interrupt: &Interrupt) -> Result<()> {
    let plan = folder.plan()?;
    let searches: SloPlan = folder.read_json(SLO_PLAN)?;
    let place = || format!("{} does not hold what was searched", folder.0.display());
    let mut schedule = searches.after(&folder.observations()?).with_context(place)?;
    if schedule.next().is_none() {
        return Ok(());
    }
    let truths = Truths::of(&plan)?;
    note_ready_lines(folder, &plan, interrupt)?;
    let bench = Bench { folder, plan: &plan, tools, truths: &truths, interrupt };
    let judge = searches.judge();
    let progress = Progress { searches: &searches, judge, line: TrialLine::new() };
    progress.stage(&schedule);
    while let Some(asked) = schedule.next() {
        let trial = trial(&searches, asked);
        progress.begin(&trial);
        let observation = keep(&bench, &trial, &searches)?;
        schedule.tell(judge.shown(&observation));
        progress.end(&observation, asked, &schedule);
    }
    Ok(())
}

fn trial(searches: &SloPlan, asked: Asked) -> Trial {
    let searched = &searches.searches[asked.search];
    Trial {
        number: asked.number,
        block: asked.round,
        server: searched.server.clone(),
        workload: searched.workload.clone(),
        connections: searches.slo.connections,
        rate: Some(asked.load.rate),
        tool: searches.slo.tool,
        window_ms: Some(asked.load.duration_ms),
        ..Trial::default()
    }
}

/// Runs a trial and writes it down. Of one that met the level, and of a short one, the figures are enough; of any other
/// everything is kept.
fn keep(bench: &Bench<'_>, trial: &Trial, searches: &SloPlan) -> Result<Observation> {
    let mut observation = bench.run(trial)?;
    let is_short = trial.window_ms.is_some_and(|window_ms| window_ms < searches.slo.final_trial_ms);
    let passed = matches!(searches.judge().shown(&observation), Shown::Measured { passed: true, .. });
    if let (true, Outcome::Completed(sample)) = (passed || is_short, &mut observation.outcome) {
        sample.load.series.clear();
        if passed {
            sample.resources.clear();
        }
        bench.folder.forget_tool_output(trial)?;
    }
    bench.folder.append(&observation)?;
    Ok(observation)
}

/// What a person sees meanwhile, on standard error.
struct Progress<'a> {
    searches: &'a SloPlan,
    judge: Judge,
    line: TrialLine,
}

impl Progress<'_> {
    fn stage(&self, schedule: &Schedule) {
        let slo = &self.searches.slo;
        eprintln!(
            "slo: {} searches from {} requests/s up with {}, at most {} trials each",
            schedule.left(),
            slo.from,
            slo.tool.name(),
            slo.most_trials
        );
    }

    fn begin(&self, trial: &Trial) {
        self.line.begin(&head(trial));
    }

    fn end(&self, observation: &Observation, asked: Asked, schedule: &Schedule) {
        let p99 = observation
            .outcome
            .sample()
            .map_or_else(String::new, |sample| format!(", p99 {:.1} ms", sample.load.latency_us.p99 / 1e3));
        let missed = || {
            let parts: Vec<String> = self.judge.missed(observation).iter().map(ToString::to_string).collect();
            parts.join("; ")
        };
        let said = match self.judge.shown(observation) {
            Shown::Measured { passed: true, .. } => format!("passed{p99}"),
            Shown::Measured { passed: false, .. } => format!("MISSED: {}", missed()),
            Shown::ToolLimited => format!("the tool was the limit: {}", missed()),
            Shown::Nothing => {
                let disturbed = observation.outcome.evidence().and_then(invalid_reason);
                format!("NOTHING: {}", disturbed.unwrap_or_else(missed))
            }
        };
        self.line.end(&head(&observation.trial), &said);
        let search = &schedule.searches()[asked.search];
        if search.next().is_none() {
            let left = schedule.left();
            let SloSearched { server, workload, .. } = &self.searches.searches[asked.search];
            eprintln!("{server} {workload}: {}; {left} searches go on", search.found());
        }
    }
}

fn head(trial: &Trial) -> String {
    let Trial { number, block, server, workload, .. } = trial;
    let (rate, window_ms) = (trial.rate.unwrap_or_default(), trial.window_ms.unwrap_or_default());
    format!("[{number:>4}] round {block:<3} {server:<17} {workload:<10} {rate:>6}/s for {window_ms} ms")
}
