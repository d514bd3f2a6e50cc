//! Searches for thresholds against servers whose truth is known: what they find, when they end, how often they are wrong, and
//! that they go on from what was written as if they had never stopped.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "../samples/mod.rs"]
mod samples;

mod curves;
mod observed;
mod schedule;
mod simulations;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rpc_bench::analysis::threshold::{Found, Rules, Search, Shown, grid};

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

const RULES: Rules = Rules { steps_per_doubling: 4, confirmations: 10, most_trials: 80 };

/// Searches from 125 to 16,000 connections on a server that is bad with this chance; also gives what was asked.
fn search(rules: Rules, draw: &mut Draw, chance: impl Fn(u32) -> f64) -> (Found, Vec<(u32, bool)>) {
    let mut search = Search::new(grid(125, 16_000, rules.steps_per_doubling), rules);
    let mut asked = Vec::new();
    while let Some(connections) = search.next() {
        let bad = draw.uniform() < chance(connections);
        asked.push((connections, bad));
        search.tell(if bad { Shown::Fail } else { Shown::Pass });
    }
    (search.found(), asked)
}

/// The chance of a server that fails from `threshold` on and never below.
fn sharp(threshold: u32) -> impl Fn(u32) -> f64 {
    move |connections| f64::from(u8::from(connections >= threshold))
}

/// The chance of a server whose threshold varies from trial to trial, by so much relatively (the standard deviation of its
/// logarithm; logistic, whose tails are heavier than those of a normal one).
fn sloped(threshold: f64, spread: f64) -> impl Fn(u32) -> f64 {
    move |connections| {
        let scale = spread * 3.0_f64.sqrt() / std::f64::consts::PI;
        1.0 / (1.0 + (-(f64::from(connections) / threshold).ln() / scale).exp())
    }
}

/// The chance of a server with a sharp threshold, of whose trials one in five shows the opposite.
fn noisy(threshold: u32) -> impl Fn(u32) -> f64 {
    move |connections| if connections >= threshold { 0.8 } else { 0.2 }
}
