//! Searches against servers whose truth is known: what they find, when they end, how often an answer is wrong, and that
//! they are resumed from what was written as if they had never stopped.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "../shared/samples.rs"]
mod samples;

mod interleaved_searches;
mod slo;
mod threshold;

use bench_analysis::interleaved_searches::Searches;
use bench_analysis::search::{Judgement, Rule, Search};
use bench_model::observation::{Observation, Outcome, Sample};
use bench_model::plan::Trial;
use bench_system::probe::other_processes::ForeignCpu;
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
fn run<R: Rule>(
    mut search: Search<R>,
    mut shows: impl FnMut(R::Load) -> Judgement,
) -> (R::Found, Vec<(R::Load, bool)>) {
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

fn observation(trial: Trial, outcome: Outcome) -> Observation {
    Observation { trial, started_at: String::new(), took_s: 1.0, outcome }
}

/// All trials of searches, as `gives` answers them.
fn observe<S: Searches>(searches: &S, gives: impl Fn(&Trial) -> Outcome) -> Vec<Observation> {
    let mut schedule = searches.schedule();
    let mut observations = Vec::new();
    while let Some(next) = schedule.next() {
        let trial = searches.trial(next);
        let outcome = gives(&trial);
        observations.push(observation(trial, outcome));
        schedule.take(searches.judgement(&observations[observations.len() - 1]));
    }
    observations
}

/// The same window next to a process that used a tenth of the processors.
fn disturbed(mut sample: Box<Sample>) -> Box<Sample> {
    sample.foreign_cpu = Some(ForeignCpu { used_s: 0.2, of_s: 2.0, limit: 0.03, busiest: None });
    sample
}
