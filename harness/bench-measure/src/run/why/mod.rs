//! Carrying a why run out: blocks of the pair with the machine to themselves; blocks at the same time on one core, over
//! HTTP and in process, and the same against the answer's length, each in a folder of its own; and counts that are not
//! timed. It can be stopped and resumed at any observation.

mod counts;
mod in_process;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde_json::Value;

use self::in_process::Call;
use super::stage::Stage;
use super::{Truths, begin_folder, begin_inside, most_connections, progress};
use crate::subject;
use bench_analysis::why::blocks;
use bench_model::config::{Campaign, ConfigDir, Placement, Server};
use bench_model::cost::{IN_PROCESS, InProcessObservation, InProcessOutcome, Rung};
use bench_model::load::toolchain::Tools;
use bench_model::plan::{self, Plan, Trial, WhyPlan};
use bench_model::results::{LADDER, RunFolder, SLOPE, WHY, pretty};
use bench_model::workload::Workload;
use bench_system::interrupt::Interrupt;
use bench_system::probe::host;

/// Why the first server differs from the second on a request.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The server whose difference is explained.
    pub server: &'a str,
    /// The server that it is compared with.
    pub over: &'a str,
    /// The request, by name.
    pub workload: &'a str,
    /// Connections; those of `why.toml` where left out.
    pub connections: Option<u32>,
}

/// A why run, resolved: nothing of it needs the configuration any longer.
#[derive(Debug)]
pub struct Resolved {
    /// The question.
    pub why_plan: WhyPlan,
    /// The pair on its request, one after the other.
    pub main: Plan,
    /// The pair on its request and the transport's, at the same time.
    pub ladder: Plan,
    /// The pair on answers of rising length.
    pub slope: Option<Plan>,
    /// The text of `why.toml`.
    pub text: String,
}

/// Resolves a question: servers, requests, true answers, and whether this machine can carry the load.
///
/// # Errors
/// One line: what is missing or can't be answered.
pub fn resolve(config: &ConfigDir, question: &Question<'_>) -> Result<Resolved> {
    let (why, text) = config.why()?;
    let servers = vec![config.server(question.server)?, config.server(question.over)?];
    if let Some(Server { name, .. }) = servers.iter().find(|server| server.running_at().is_some()) {
        bail!(
            "server {name}: runs already, and a why run starts both of its servers on one core; name another one"
        );
    }
    ensure!(servers[0].name != servers[1].name, "{} is given twice; give two servers", question.server);
    let workload = config.workload(question.workload)?;
    let transport = config.workload(&why.transport)?;
    workload.body()?;
    transport.body().context("why.toml, field transport")?;
    ensure!(
        workload.name != transport.name,
        "{} is the request that the cost of HTTP is taken from (why.toml, field transport): it can't be compared with \
         itself; give another one",
        transport.name
    );
    let connections = question.connections.unwrap_or(why.connections);
    let most = most_connections();
    ensure!(
        u64::from(connections) <= most,
        "this machine holds at most {most} connections (open files, client ports), not {connections}; see `just doctor`"
    );
    let pair = [servers[0].name.clone(), servers[1].name.clone()];
    let threads = why.environment.threads.unwrap_or_else(|| host::cores() as u32);
    let plan = |campaign: Campaign, workloads: Vec<Workload>| Plan {
        trials: plan::trials(&campaign),
        campaign,
        workloads,
        servers: servers.clone(),
        threads,
        ..Plan::default()
    };
    let slope = why.slope.as_ref().filter(|slope| slope.method() == workload.method());
    let slope = slope.map(|slope| plan(why.slope_campaign(slope, &pair), slope.workloads()));
    let main = plan(why.campaign(&pair, &workload.name, connections), vec![workload.clone()]);
    let ladder = plan(why.ladder_campaign(&pair, &workload.name, connections), vec![workload, transport]);
    Truths::of(&ladder)?;
    let returned = slope.as_ref().map(returned).transpose()?.unwrap_or_default();
    let [server, over] = pair;
    let workload = question.workload.to_owned();
    let why_plan = WhyPlan { why, server, over, workload, connections, returned };
    Ok(Resolved { why_plan, main, ladder, slope, text })
}

/// Elements that the true results hold, by request.
fn returned(plan: &Plan) -> Result<BTreeMap<String, u64>> {
    let truths = Truths::of(plan)?;
    let of = |answer: &Value| answer["result"].as_array().map_or(0, Vec::len) as u64;
    let elements = |workload: &Workload| {
        let truth = &truths.first(&workload.name)?.truth;
        Ok((workload.name.clone(), truth.answer().map_or(0, of)))
    };
    plan.workloads.iter().map(elements).collect()
}

/// Builds the servers, and what of the rest can be built: without a program in process or one that counts, that part of
/// the run is unavailable.
pub fn build(servers: &[Server]) -> Result<()> {
    subject::build(servers)?;
    let mut done: HashSet<&[String]> = HashSet::new();
    for server in servers {
        let in_process = server.in_process.as_ref().map(|program| &program.build);
        let counting = server.counting.as_ref().map(|program| &program.build);
        for command in [in_process, counting].into_iter().flatten().filter(|command| !command.is_empty()) {
            if done.insert(command) {
                let alone = Server { build: command.clone(), ..server.clone() };
                if let Err(error) = subject::build(&[alone]) {
                    bench_system::note!("{error:#}; the report will say what is unavailable for it");
                }
            }
        }
    }
    Ok(())
}

/// Starts a why run: its folder and those inside it.
pub fn begin(results: &Path, resolved: &Resolved, tools: &Tools, command: &str) -> Result<RunFolder> {
    let folder = RunFolder::create(results, "why")?;
    begin_inside(&folder, LADDER, &resolved.ladder, tools, command)?;
    if let Some(slope) = &resolved.slope {
        begin_inside(&folder, SLOPE, slope, tools, command)?;
    }
    folder.write_new(WHY, &pretty(&resolved.why_plan)?)?;
    begin_folder(&folder, &resolved.main, &resolved.text, tools, command)?;
    Ok(folder)
}

/// The folders of a run that are there: its own, the ladder's and the slope's.
fn folders(folder: &RunFolder) -> Vec<RunFolder> {
    let inside = [LADDER, SLOPE].into_iter().filter_map(|name| folder.inside(name));
    std::iter::once(folder.clone()).chain(inside).collect()
}

/// Resumes a run: repairs what a crash cut off, and records when.
pub fn resume(folder: &RunFolder) -> Result<()> {
    folders(folder).iter().try_for_each(super::resume)
}

/// Runs what has no observation yet: the blocks of the pair, those of the ladder and of the slope, the counts.
pub fn carry_out(folder: &RunFolder, tools: &Tools, interrupt: &Interrupt) -> Result<()> {
    let why_plan = &folder.why()?;
    for folder in folders(folder) {
        Part::of(Stage::open(folder, tools, interrupt)?, why_plan)?.carry_out()?;
    }
    Part::of(Stage::open(folder.clone(), tools, interrupt)?, why_plan)?.count()
}

/// A part of the run with a plan and a folder of its own.
struct Part<'a> {
    stage: Stage<'a>,
    why_plan: &'a WhyPlan,
    truths: Truths,
}

impl<'a> Part<'a> {
    fn of(stage: Stage<'a>, why_plan: &'a WhyPlan) -> Result<Self> {
        Ok(Self { truths: Truths::of(&stage.plan)?, stage, why_plan })
    }

    /// Runs block after block: its trials, then what of it runs in process, in an order that is drawn. So what the
    /// machine does to a block it does to all that is compared.
    fn carry_out(&self) -> Result<()> {
        let Stage { folder, plan, .. } = &self.stage;
        self.stage.note_ready_lines()?;
        let bench = self.stage.bench(&self.truths);
        let mut observations = folder.observations()?;
        let done: HashSet<u32> = observations.iter().map(|observation| observation.trial.number).collect();
        let called: Vec<InProcessObservation> = folder.lines(IN_PROCESS)?;
        let mut progress = progress::Progress::new(plan);
        let left: Vec<&Trial> = plan.trials.iter().filter(|trial| !done.contains(&trial.number)).collect();
        let mut last_block = 0;
        for block in 1.. {
            let to = blocks(plan, &observations);
            if block > to {
                break;
            }
            if to > last_block {
                let is_next = |trial: &&Trial| (block..=to).contains(&trial.block);
                let to_run: Vec<&Trial> = left.iter().copied().filter(is_next).collect();
                let run_again = to.saturating_sub(plan.campaign.max_blocks);
                progress.stage(&to_run, &observations, run_again);
                last_block = to;
            }
            let trials: Vec<&Trial> = left.iter().copied().filter(|trial| trial.block == block).collect();
            bench.run_all(&trials, &mut progress, &mut observations)?;
            for call in self.calls(block)? {
                let of_call = (block, &call.workload.name, call.rung);
                if called.iter().any(|done| (done.block, &done.workload, done.rung) == of_call) {
                    continue;
                }
                for observation in self.in_process(&call)? {
                    if let InProcessOutcome::Failed { reason } = &observation.outcome {
                        progress.view.line(&format!("{} in process: {reason}", observation.server));
                    }
                    folder.append_to(IN_PROCESS, &observation)?;
                }
            }
        }
        Ok(())
    }

    /// What of a block runs in process, in an order drawn from the seed and the block's number. Only where trials run
    /// at the same time: nothing of the others is taken apart.
    fn calls(&self, block: u32) -> Result<Vec<Call<'_>>> {
        let plan = &self.stage.plan;
        if plan.campaign.environment.placement != Placement::Duet {
            return Ok(Vec::new());
        }
        let mut calls = Vec::new();
        let accounts = plan.campaign.environment.accounts;
        for workload in &plan.workloads {
            let requests = self.requests(workload)?;
            calls.extend(Rung::ALL.map(|rung| Call { block, workload, rung, requests, accounts }));
        }
        let seed = plan.campaign.seed.wrapping_add(u64::from(block));
        plan::shuffle(&mut calls, &mut Xoshiro256PlusPlus::seed_from_u64(seed));
        Ok(calls)
    }
}
