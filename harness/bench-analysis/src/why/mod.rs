//! Why one server is faster than another on a request: the parts of the CPU time for a request, compared with the
//! whole, its growth with the answer's length, and the instructions of a request, function by function. From
//! observations alone; what was not measured is reported as missing, and what the parts don't explain as unexplained.

mod ladder;
mod slope;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::comparison::{Comparisons, Terms};
use super::invalid_trials::{FailedTrial, InvalidTrial, Uncounted, failed_trial, invalid_trial};
use super::observed::{Observed, Samples, median_figure, median_of};
use bench_model::config::Placement;
use bench_model::cost::{
    CountKind, CountObservation, CountOutcome, InProcessObservation, InProcessOutcome, Rung,
};
use bench_model::figure::Figure;
use bench_model::observation::Observation;
use bench_model::plan::{Plan, WhyPlan};
use bench_stats::{Estimate, hodges_lehmann, median};

pub use ladder::{Ladder, LadderRow, Part};
pub use slope::{Line, PartsNs, Point, SlopeSummary};

/// What a why run observed.
#[derive(Debug)]
pub struct Seen<'a> {
    /// What was to be done.
    pub plan: &'a Plan,
    /// The trials.
    pub observations: &'a [Observation],
    /// What ran in process.
    pub in_process: &'a [InProcessObservation],
}

/// Why one server is faster than another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WhySummary {
    /// The server whose difference is explained.
    pub server: String,
    /// The server that it is compared with.
    pub over: String,
    /// The request.
    pub workload: String,
    /// The request that the cost of HTTP is taken from.
    pub transport: String,
    /// Connections.
    pub connections: u32,
    /// Observations that were planned, those in process and counts included.
    pub planned: usize,
    /// Observations that are still to be made.
    pub left: usize,
    /// The ratio of rates and what it is made of.
    pub terms: Option<Terms>,
    /// The two servers, measured: first the one that is explained.
    pub sides: Vec<Side>,
    /// CPU time for a request in microseconds, both at the same time on one core: all, in the program, in the kernel.
    /// None where no block has both.
    pub measured: Option<[LadderRow; 3]>,
    /// The ladder, or why there is none.
    pub ladder: Result<Ladder, String>,
    /// What was counted in runs that are not timed.
    pub counts: Vec<CountObservation>,
    /// Instructions of each server by function, where they were counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<Instructions>,
    /// CPU time against the answer's length; none where the request has no length.
    pub slope: Option<SlopeSummary>,
    /// Trials that gave no figure.
    pub failed: Vec<FailedTrial>,
    /// Trials that were measured and do not count, because the machine spoiled them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<InvalidTrial>,
}

/// One server, measured over HTTP with the machine to itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// The server.
    pub server: String,
    /// Successful requests a second.
    pub requests_per_second: Option<Estimate>,
    /// Processors used.
    pub cores: Option<Estimate>,
    /// Processors that the load tool used.
    pub client_cores: Option<Estimate>,
    /// Server CPU time for a request, in microseconds.
    pub cpu_us: Option<Estimate>,
    /// Of it, in the program itself.
    pub user_us: Option<Estimate>,
    /// Of it, in the kernel.
    pub system_us: Option<Estimate>,
    /// Context switches for a request.
    pub switches: Option<Estimate>,
}

/// The summary of a why run: from the pair one after the other, from both at the same time, and from the slope's own
/// trials, where there are any.
pub fn explain(
    request: &WhyPlan,
    main: &Seen<'_>,
    ladder: &Seen<'_>,
    slope: Option<&Seen<'_>>,
    counts: &[CountObservation],
) -> WhySummary {
    let transport = &request.why.transport;
    let pair = [&request.server, &request.over];
    let [a, b] = pair.map(|server| samples(main, server, &request.workload, request));
    let stages = [Some(main), Some(ladder), slope];
    let of_all =
        |count: fn(&Seen<'_>) -> usize| stages.iter().flatten().map(|seen| count(seen)).sum::<usize>();
    let observations = || stages.iter().flatten().flat_map(|seen| seen.observations);
    let planned = of_all(planned) + pair.len() * CountKind::of(&request.why).count();
    let done = of_all(|seen| seen.observations.len() + seen.in_process.len()) + counts.len();
    let own = pair.map(|server| samples(ladder, server, &request.workload, request));
    let blocks = |side: usize| {
        let base = samples(ladder, pair[side], transport, request);
        let in_process = Block::in_process(ladder.in_process, pair[side], &request.workload, transport);
        Block::all(&own[side], &base, &in_process)
    };
    WhySummary {
        server: request.server.clone(),
        over: request.over.clone(),
        workload: request.workload.clone(),
        transport: transport.clone(),
        connections: request.connections,
        planned,
        left: planned.saturating_sub(done),
        terms: Terms::new(&a, &b),
        sides: vec![Side::new(&request.server, &a), Side::new(&request.over, &b)],
        measured: ladder::measured(&own[0], &own[1]),
        ladder: match missing(ladder, pair) {
            Some(reason) => Err(reason),
            None => Ladder::new(&blocks(0), &blocks(1)).ok_or_else(|| no_whole_block(ladder)),
        },
        counts: counts.to_vec(),
        instructions: counts.iter().filter_map(Instructions::new).collect(),
        slope: slope.and_then(|slope| SlopeSummary::new(request, slope)),
        failed: observations().filter_map(failed_trial).collect(),
        invalid: observations().filter_map(invalid_trial).collect(),
    }
}

/// Why no block of the ladder has all of its parts: the first lost trial, if there is one.
fn no_whole_block(seen: &Seen<'_>) -> String {
    let lost = seen.observations.iter().find_map(|observation| {
        invalid_trial(observation).map(words).or_else(|| failed_trial(observation).map(words))
    });
    format!("no block has all measurements of both servers{}", lost.unwrap_or_default())
}

fn words<Kind>(trial: Uncounted<Kind>) -> String {
    format!(": in block {} with {} {}", trial.block, trial.server, trial.reason)
}

/// A server's samples that may be compared, by block: in a duet, those made with the other server.
fn samples<'a>(seen: &Seen<'a>, server: &str, workload: &str, request: &WhyPlan) -> Samples<'a> {
    let other = if server == request.server { &request.over } else { &request.server };
    let campaign = &seen.plan.campaign;
    let connections = campaign.connections.first().copied().unwrap_or(request.connections);
    let observed = Observed::new(seen.observations);
    observed.samples_in(campaign.environment.placement, [server, other], workload, connections)
}

/// All planned observations of a stage: its trials, and, in duets, two rungs for each request, block and server with an
/// in-process program.
fn planned(seen: &Seen<'_>) -> usize {
    let plan = seen.plan;
    let programs = match plan.campaign.environment.placement {
        Placement::Duet => plan.servers.iter().filter(|server| server.in_process.is_some()).count(),
        Placement::Free | Placement::OneCore => 0,
    };
    let blocks = blocks(plan, seen.observations) as usize;
    let trials = plan.trials.iter().filter(|trial| trial.block as usize <= blocks).count();
    trials + programs * blocks * plan.workloads.len() * Rung::ALL.len()
}

/// The last block of a stage that is to be run: as many as planned, and one for each lost to the machine or the load
/// tool, as far as the plan has blocks for that.
pub fn blocks(plan: &Plan, observations: &[Observation]) -> u32 {
    let observed = Observed::new(observations);
    let judged = Comparisons::new(&plan.campaign, &plan.levels(), &plan.trials, &observed);
    let last = plan.trials.last().map_or(0, |trial| trial.block);
    (plan.campaign.max_blocks + judged.run_again()).min(last)
}

/// Why there can be no ladder: a server that was never measured in process.
fn missing(seen: &Seen<'_>, pair: [&String; 2]) -> Option<String> {
    pair.into_iter().find_map(|name| {
        let server = seen.plan.servers.iter().find(|server| &server.name == name)?;
        if server.in_process.is_none() {
            return Some(format!("servers.toml names no in-process program for {name}"));
        }
        let of = || seen.in_process.iter().filter(|call| &call.server == name);
        if of().any(|call| matches!(call.outcome, InProcessOutcome::Measured { .. })) {
            return None;
        }
        let failed = of().find_map(|call| match &call.outcome {
            InProcessOutcome::Failed { reason } => Some(format!("{name} in process: {reason}")),
            InProcessOutcome::Measured { .. } => None,
        });
        failed.or_else(|| Some(format!("{name} was not yet measured in process")))
    })
}

impl Side {
    fn new(server: &str, samples: &Samples<'_>) -> Self {
        let figure = |figure: Figure| median_figure(samples, figure);
        Self {
            server: server.to_owned(),
            requests_per_second: figure(Figure::RequestsPerSecond),
            cores: figure(Figure::ServerCores),
            client_cores: figure(Figure::ClientCores),
            cpu_us: figure(Figure::CpuUsPerRequest),
            user_us: figure(Figure::UserUsPerRequest),
            system_us: figure(Figure::SystemUsPerRequest),
            switches: figure(Figure::SwitchesPerRequest),
        }
    }
}

/// One block of one server, in microseconds of CPU time for a request.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Block {
    user: f64,
    system: f64,
    /// In process: the method alone.
    state: f64,
    /// In process: from bytes to bytes.
    dispatch: f64,
    /// The same three of the transport's request.
    base_user: f64,
    base_system: f64,
    base_dispatch: f64,
}

/// In process, by block: state and dispatch of the request, dispatch of the transport's.
type InProcess = BTreeMap<u32, [f64; 3]>;

impl Block {
    /// The blocks that have everything.
    fn all(own: &Samples<'_>, base: &Samples<'_>, in_process: &InProcess) -> BTreeMap<u32, Self> {
        let block = |(block, sample): (&u32, &&bench_model::observation::Sample)| {
            let base = base.get(block)?;
            let [state, dispatch, base_dispatch] = *in_process.get(block)?;
            let one = Self {
                user: sample.figure(Figure::UserUsPerRequest)?,
                system: sample.figure(Figure::SystemUsPerRequest)?,
                state,
                dispatch,
                base_user: base.figure(Figure::UserUsPerRequest)?,
                base_system: base.figure(Figure::SystemUsPerRequest)?,
                base_dispatch,
            };
            Some((*block, one))
        };
        own.iter().filter_map(block).collect()
    }

    fn in_process(
        calls: &[InProcessObservation],
        server: &str,
        workload: &str,
        transport: &str,
    ) -> InProcess {
        let of = |workload, rung| cpu_us(calls, server, workload, rung);
        let (state, dispatch) = (of(workload, Rung::State), of(workload, Rung::Dispatch));
        let base = of(transport, Rung::Dispatch);
        let all =
            |(block, state): (&u32, &f64)| Some((*block, [*state, *dispatch.get(block)?, *base.get(block)?]));
        state.iter().filter_map(all).collect()
    }
}

/// CPU time of a request in process by block, in microseconds: the median over repeats.
fn cpu_us(calls: &[InProcessObservation], server: &str, workload: &str, rung: Rung) -> BTreeMap<u32, f64> {
    let of =
        calls.iter().filter(|call| call.server == server && call.workload == workload && call.rung == rung);
    of.filter_map(|call| match &call.outcome {
        InProcessOutcome::Measured { cpu_ns_per_request } => {
            Some((call.block, median(cpu_ns_per_request)?.value / 1e3))
        }
        InProcessOutcome::Failed { .. } => None,
    })
    .collect()
}

/// Medians of both sides over the blocks that both have, and the Hodges–Lehmann estimate of their paired differences.
fn row<T>(
    a: &BTreeMap<u32, T>,
    b: &BTreeMap<u32, T>,
    value: impl Fn(&T) -> Option<f64>,
) -> Option<LadderRow> {
    let both: Vec<(f64, f64)> =
        a.iter().filter_map(|(block, a)| Some((value(a)?, value(b.get(block)?)?))).collect();
    let differences: Vec<f64> = both.iter().map(|(a, b)| a - b).collect();
    Some(LadderRow {
        a: median_of(both.iter().map(|(a, _)| *a))?,
        b: median_of(both.iter().map(|(_, b)| *b))?,
        difference: hodges_lehmann(&differences)?,
    })
}

/// The instructions of a server's request in process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Instructions {
    /// The server.
    pub server: String,
    /// Instructions for a request.
    pub per_request: f64,
    /// Of them each function's, the dearest first.
    pub functions: Vec<Function>,
}

/// What a function takes, without those that it calls and that are not compiled into it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// Its name.
    pub function: String,
    /// Instructions for a request.
    pub per_request: f64,
    /// Of all instructions, from 0 to 1.
    pub share: f64,
}

impl Instructions {
    /// Of a count of instructions.
    fn new(count: &CountObservation) -> Option<Self> {
        let CountOutcome::Instructions { requests, functions } = &count.outcome else { return None };
        let each = |instructions: u64| instructions as f64 / *requests as f64;
        let all: u64 = functions.values().sum();
        let function = |(name, instructions): (&String, &u64)| Function {
            function: name.clone(),
            per_request: each(*instructions),
            share: *instructions as f64 / all as f64,
        };
        let mut functions: Vec<Function> = functions.iter().map(function).collect();
        functions.sort_by(|a, b| b.per_request.total_cmp(&a.per_request));
        Some(Self { server: count.server.clone(), per_request: each(all), functions })
    }

    /// A function's.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.function == name)
    }
}
