//! A why run whose every part is known beforehand.

use std::collections::BTreeMap;

use bench_analysis::why::{Seen, WhySummary, explain};
use bench_model::config::{ConfigDir, Server};
use bench_model::cost::{CountObservation, InProcessObservation, InProcessOutcome, Rung};
use bench_model::observation::{Observation, Outcome, Sample};
use bench_model::plan::{self, Trial};
use bench_model::plan::{Plan, WhyPlan};
use bench_system::probe::process_usage::CpuTime;

use crate::samples::sample;

/// CPU time for a request of one server, in microseconds.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    pub state: f64,
    pub framework: f64,
    pub http_user: f64,
    pub system: f64,
    /// User time over HTTP that neither the runs in process nor the transport's request show.
    pub hidden: f64,
    /// System time of the transport's request.
    pub base_system: f64,
    /// Dispatch of the transport's request.
    pub base_dispatch: f64,
}

pub const ACTIX: Costs = Costs {
    state: 0.5,
    framework: 3.0,
    http_user: 2.0,
    system: 6.0,
    hidden: 0.0,
    base_system: 4.0,
    base_dispatch: 0.4,
};
pub const LEGACY: Costs =
    Costs { framework: 9.0, http_user: 4.0, system: 9.0, base_system: 5.0, base_dispatch: 1.1, ..ACTIX };

pub fn config() -> ConfigDir {
    ConfigDir::of_repository()
}

/// A why run of actix and legacy on getBlocks; every block is slower than the one before, by the same factor for all.
pub struct Known {
    pub why_plan: WhyPlan,
    pub main: Plan,
    pub ladder: Plan,
    pub slope: Plan,
    pub main_observations: Vec<Observation>,
    pub observations: Vec<Observation>,
    pub in_process: Vec<InProcessObservation>,
    pub slope_observations: Vec<Observation>,
    pub slope_in_process: Vec<InProcessObservation>,
    pub counts: Vec<CountObservation>,
}

/// What the machine makes of every cost in a block.
fn drift(block: u32) -> f64 {
    1.0 + 0.03 * f64::from(block)
}

/// A window in which a request took that much.
pub fn window(user_us: f64, system_us: f64) -> Sample {
    let requests = 100_000.0;
    let seconds = |us: f64| us * requests / 1e6;
    let cpu = CpuTime { user_s: seconds(user_us), system_s: seconds(system_us) };
    Sample { server_cpu: Some(cpu), ..sample(requests, 1.0) }
}

fn observed(trial: &Trial, sample: Sample) -> Observation {
    let outcome = Outcome::Completed(Box::new(sample));
    Observation { trial: trial.clone(), started_at: String::new(), took_s: 1.0, outcome }
}

fn call(block: u32, server: &str, workload: &str, rung: Rung, us: f64) -> InProcessObservation {
    let (server, workload) = (server.to_owned(), workload.to_owned());
    // One repeat of three was disturbed.
    let cpu_ns_per_request = vec![us * 1e3, us * 1e3, us * 9e3];
    let outcome = InProcessOutcome::Measured { cpu_ns_per_request };
    InProcessObservation { block, server, workload, rung, outcome }
}

impl Known {
    pub fn new(blocks: u32, actix: Costs, legacy: Costs) -> Self {
        let (mut why, _) = config().why().unwrap();
        why.blocks = blocks;
        why.max_extra_blocks = Some(0);
        why.ladder.blocks = blocks;
        let mut by_length = why.slope.take().unwrap();
        by_length.blocks = blocks;
        let pair = ["actix".to_owned(), "legacy".to_owned()];
        let servers: Vec<Server> = pair.iter().map(|name| config().server(name).unwrap()).collect();
        let plan = |campaign: bench_model::config::Campaign, workloads| Plan {
            trials: plan::trials(&campaign),
            campaign,
            workloads,
            servers: servers.clone(),
            threads: 2,
            ..Plan::default()
        };
        let both = ["getBlocks", "getHealth"].map(|name| config().workload(name).unwrap()).to_vec();
        let main = plan(why.campaign(&pair, "getBlocks", 500), both[..1].to_vec());
        let ladder = plan(why.ladder_campaign(&pair, "getBlocks", 500), both);
        let slope = plan(why.slope_campaign(&by_length, &pair), by_length.workloads());
        let returned: BTreeMap<String, u64> =
            by_length.lengths.iter().map(|slots| (format!("getBlocks-{slots}"), *slots)).collect();
        let costs = |server: &str| if server == "actix" { actix } else { legacy };
        let [server, over] = pair;
        let workload = "getBlocks".to_owned();
        why.slope = Some(by_length);
        let why_plan = WhyPlan { why, server, over, workload, connections: 500, returned };
        let mut known = Self {
            why_plan,
            main_observations: Vec::new(),
            observations: Vec::new(),
            in_process: Vec::new(),
            slope_observations: Vec::new(),
            slope_in_process: Vec::new(),
            counts: Vec::new(),
            main,
            ladder,
            slope,
        };
        known.observe_main(&costs);
        known.observe_ladder(&costs);
        known.observe_slope();
        known
    }

    fn observe_main(&mut self, costs: &dyn Fn(&str) -> Costs) {
        for trial in &self.main.trials {
            let (cost, drift) = (costs(&trial.server), drift(trial.block));
            let user = cost.state + cost.framework + cost.http_user + cost.hidden;
            self.main_observations.push(observed(trial, window(user * drift, cost.system * drift)));
        }
    }

    fn observe_ladder(&mut self, costs: &dyn Fn(&str) -> Costs) {
        for trial in &self.ladder.trials {
            let (cost, drift) = (costs(&trial.server), drift(trial.block));
            let (user, system) = match trial.workload.as_str() {
                "getHealth" => (cost.base_dispatch + cost.http_user, cost.base_system),
                _ => (cost.state + cost.framework + cost.http_user + cost.hidden, cost.system),
            };
            self.observations.push(observed(trial, window(user * drift, system * drift)));
            let (state, dispatch) = match trial.workload.as_str() {
                "getHealth" => (0.1, cost.base_dispatch),
                _ => (cost.state, cost.state + cost.framework),
            };
            for (rung, us) in [(Rung::State, state), (Rung::Dispatch, dispatch)] {
                self.in_process.push(call(trial.block, &trial.server, &trial.workload, rung, us * drift));
            }
        }
    }

    /// Over HTTP a slot costs actix 20 ns (1 state, 12 serialising, 3 HTTP, 4 kernel) and legacy 50 (1, 40, 3, 6); a
    /// request of none 10 and 15 us.
    fn observe_slope(&mut self) {
        for trial in &self.slope.trials {
            let slots = self.why_plan.returned[&trial.workload] as f64 / 1e3;
            let drift = drift(trial.block);
            let (state, serialising, http, kernel, none) = if trial.server == "actix" {
                (1.0, 12.0, 3.0, 4.0, 10.0)
            } else {
                (1.0, 40.0, 3.0, 6.0, 15.0)
            };
            let (in_state, in_dispatch) = (state * slots, 1.0 + (state + serialising) * slots);
            let (system, user) =
                (none * 0.4 + kernel * slots, none * 0.6 + (state + serialising + http) * slots);
            self.slope_observations.push(observed(trial, window(user * drift, system * drift)));
            for (rung, us) in [(Rung::State, in_state), (Rung::Dispatch, in_dispatch)] {
                self.slope_in_process.push(call(
                    trial.block,
                    &trial.server,
                    &trial.workload,
                    rung,
                    us * drift,
                ));
            }
        }
    }

    pub fn explain(&self) -> WhySummary {
        let main = Seen { plan: &self.main, observations: &self.main_observations, in_process: &[] };
        let ladder =
            Seen { plan: &self.ladder, observations: &self.observations, in_process: &self.in_process };
        let slope = Seen {
            plan: &self.slope,
            observations: &self.slope_observations,
            in_process: &self.slope_in_process,
        };
        explain(&self.why_plan, &main, &ladder, Some(&slope), &self.counts)
    }
}

pub fn near(value: f64, wanted: f64) -> bool {
    (value - wanted).abs() <= wanted.abs() * 1e-6 + 1e-9
}
