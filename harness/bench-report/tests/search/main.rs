//! Searches against servers whose truth is known: what they find, when they end, how often an answer is wrong, and that
//! they are resumed from what was written as if they had never stopped.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "../shared/samples.rs"]
mod samples;

mod connections;
mod interleaved;
mod observed;
mod observed_connections;
mod rate;
mod rfc;
mod simulations;

use bench_core::config::{Campaign, ConfigDir};
use bench_core::machine::ForeignCpu;
use bench_core::observation::{Observation, Outcome, Sample};
use bench_core::plan::{Plan, Trial};
use bench_core::results::{RunFolder, SEARCH, SEARCHES, pretty};
use bench_core::search::{Found, Judgement, Load, Search, SearchPlan};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Seeded draws; the same in every run.
struct Draw(Xoshiro256PlusPlus);

impl Draw {
    fn seeded(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// At least 0 and below 1.
    fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn count(&mut self, low: u32, high: u32) -> u32 {
        low + (self.0.next_u64() % u64::from(high - low + 1)) as u32
    }
}

/// Runs a search to its end; also gives each load and whether its trial passed.
fn run(mut search: Search, mut shows: impl FnMut(Load) -> Judgement) -> (Found, Vec<(Load, bool)>) {
    let mut tried = Vec::new();
    while let Some(load) = search.next() {
        let judgement = shows(load);
        tried.push((load, judgement.passed() == Some(true)));
        search.take(judgement);
    }
    (search.found(), tried)
}

fn judgement(passed: bool) -> Judgement {
    if passed { Judgement::PASS } else { Judgement::FAIL }
}

/// The spread of a logistic distribution with this standard deviation.
fn scale(spread: f64) -> f64 {
    spread * 3.0_f64.sqrt() / std::f64::consts::PI
}

fn observation(trial: Trial, outcome: Outcome) -> Observation {
    Observation { trial, started_at: String::new(), took_s: 1.0, outcome }
}

/// All trials of searches, as `gives` answers them by server and load.
fn observe(searches: &SearchPlan, gives: impl Fn(&str, u32) -> Outcome) -> Vec<Observation> {
    let mut schedule = searches.schedule();
    let mut observations = Vec::new();
    while let Some(next) = schedule.next() {
        let trial = searches.trial(next);
        let outcome = gives(&trial.server, next.load.at);
        observations.push(observation(trial, outcome));
        schedule.take(searches.judge().judgement(&observations[observations.len() - 1]));
    }
    observations
}

/// Ways in which a trial ends without a window, and how it is judged; one had no success.
fn endings(none: Sample) -> [(Outcome, Judgement); 7] {
    let reason = || "x".to_owned();
    [
        (Outcome::NoSuccess(Box::new(none)), Judgement::FAIL),
        (Outcome::Unanswered { reason: reason() }, Judgement::FAIL),
        (Outcome::ServerDied { reason: reason(), after_s: None }, Judgement::FAIL),
        (Outcome::NoAnswer { when: reason(), reason: reason() }, Judgement::FAIL),
        (Outcome::one_wrong_answer("", reason()), Judgement::FAIL),
        (Outcome::ToolFailed { reason: reason() }, Judgement::Nothing),
        (Outcome::Invalid { reason: reason() }, Judgement::Nothing),
    ]
}

/// What is written of a run of a campaign that only searches, with these observations: its report, the chart of its
/// searches, and its summary.
fn reported(campaign: Campaign, searches: &SearchPlan, observations: &[Observation]) -> [String; 3] {
    let config = ConfigDir::of_repository();
    let dir = tempfile::tempdir().unwrap();
    let run = RunFolder::create(dir.path(), "searched").unwrap();
    let inner = RunFolder::create_inside(&run, SEARCH).unwrap();
    let servers = searches.searches.iter().filter_map(|of| config.server(&of.server).ok()).collect();
    let workloads = vec![config.workload("getBalance").unwrap()];
    let resolved = Plan { workloads, servers, threads: 2, campaign, ..Plan::default() };
    for folder in [&run, &inner] {
        folder.write_new("environment.json", &samples::conditions("rpc-bench run searched")).unwrap();
        folder.write_new("plan.json", &pretty(&resolved).unwrap()).unwrap();
    }
    inner.write_new(SEARCHES, &pretty(searches).unwrap()).unwrap();
    observations.iter().for_each(|observation| inner.append(observation).unwrap());
    bench_report::write(&run).unwrap();
    ["report.md", "search.svg", "summary.json"]
        .map(|name| std::fs::read_to_string(run.0.join(name)).unwrap_or_default())
}

/// The same window next to a process that used a tenth of the processors.
fn disturbed(mut sample: Box<Sample>) -> Box<Sample> {
    sample.foreign_cpu = Some(ForeignCpu { used_s: 0.2, of_s: 2.0, limit: 0.03, busiest: None });
    sample
}
