//! Searches for connection counts.

mod curves;
mod observed;
mod simulations;

use bench_analysis::threshold::{FoundThreshold, Rules, Search, grid};

use crate::{Draw, judgement, run};

pub const RULES: Rules = Rules { steps_per_doubling: 4, confirmations: 10, most_trials: 80 };

/// Searches from 125 to 16,000 connections on a server whose trials fail with this chance; also gives what was tried,
/// and whether it passed.
fn search(rules: Rules, draw: &mut Draw, chance: impl Fn(u32) -> f64) -> (FoundThreshold, Vec<(u32, bool)>) {
    let search = Search::new(grid(125, 16_000, rules.steps_per_doubling), rules);
    run(search, |connections| judgement(draw.uniform() >= chance(connections)))
}

/// The chance of a server that fails from `threshold` on and never below.
fn sharp(threshold: u32) -> impl Fn(u32) -> f64 {
    move |connections| f64::from(u8::from(connections >= threshold))
}

/// The chance of a server whose threshold varies from trial to trial by `spread`, relatively (the standard deviation of
/// its logarithm; logistic, whose tails are heavier than those of a normal one).
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
