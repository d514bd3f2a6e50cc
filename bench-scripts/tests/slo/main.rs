//! Searches for the highest rate under a service level: the example of RFC 9971, servers whose truth is known, how often an
//! answer is wrong, and that a search goes on from what was written as if it had never stopped.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "../samples/mod.rs"]
mod samples;

mod curves;
mod observed;
mod rfc;
mod schedule;
mod simulations;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rpc_bench::analysis::slo::{Found, Goal, Load, Rules, Search, Shown};

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

/// Four of five windows of 3 s must pass; 5 % apart.
const RULES: Rules = Rules {
    width: 0.05,
    initial_trial_ms: 1_000,
    goal: Goal { final_trial_ms: 3_000, duration_sum_ms: 15_000, exceed_ratio: 0.2 },
    most_trials: 60,
};

const FROM: u32 = 1_000;
const MOST: u32 = 64_000;

fn measured(passed: bool) -> Shown {
    Shown::Measured { passed, missed: if passed { 0.0 } else { 0.3 } }
}

/// Searches a server that passes with this chance; also gives what was asked.
fn search(rules: Rules, draw: &mut Draw, chance: impl Fn(u32) -> f64) -> (Found, Vec<(Load, bool)>) {
    let mut search = Search::new(FROM, MOST, rules);
    let mut asked = Vec::new();
    while let Some(load) = search.next() {
        let passed = draw.uniform() < chance(load.rate);
        asked.push((load, passed));
        search.tell(measured(passed));
    }
    (search.found(), asked)
}

/// The chance of a server that sustains up to `most` and nothing above.
fn sharp(most: f64) -> impl Fn(u32) -> f64 {
    move |rate| f64::from(u8::from(f64::from(rate) <= most))
}

/// The chance of a server whose highest rate varies from trial to trial by so much relatively (the standard deviation of its
/// logarithm; logistic), and that passes at `most` four times of five.
fn sloped(most: f64, spread: f64) -> impl Fn(u32) -> f64 {
    move |rate| {
        let scale = spread * 3.0_f64.sqrt() / std::f64::consts::PI;
        1.0 / (1.0 + 0.25 * ((f64::from(rate) / most).ln() / scale).exp())
    }
}

/// The chance of a server with a sharp end, of whose trials this share shows the opposite.
fn noisy(most: f64, opposite: f64) -> impl Fn(u32) -> f64 {
    move |rate| if f64::from(rate) <= most { 1.0 - opposite } else { opposite }
}
