//! Searches for the highest rate under a service level, and the example of RFC 9971.

mod curves;
mod observed;
mod rfc;
mod simulations;

use bench_analysis::slo::{FoundRate, Goal, RateLoad, Rules, Search};

use crate::{Draw, judgement, run};

/// Four of five windows of 3 s must pass; 5 % apart.
pub const RULES: Rules = Rules {
    width: 0.05,
    initial_trial_ms: 1_000,
    goal: Goal { final_trial_ms: 3_000, duration_sum_ms: 15_000, exceed_ratio: 0.2 },
    most_trials: 60,
};

pub const FROM: u32 = 1_000;
pub const MOST: u32 = 64_000;

/// Searches a server whose trials pass with this chance; also gives what was tried, and whether it passed.
fn search(rules: Rules, draw: &mut Draw, chance: impl Fn(u32) -> f64) -> (FoundRate, Vec<(RateLoad, bool)>) {
    run(Search::new(FROM, MOST, rules), |load| judgement(draw.uniform() < chance(load.rate)))
}

/// The chance of a server that sustains up to `most` and nothing above.
fn sharp(most: f64) -> impl Fn(u32) -> f64 {
    move |rate| f64::from(u8::from(f64::from(rate) <= most))
}

/// The chance of a server whose highest rate varies from trial to trial by `spread`, relatively (the standard deviation
/// of its logarithm; logistic), and that passes at `most` four times of five.
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
