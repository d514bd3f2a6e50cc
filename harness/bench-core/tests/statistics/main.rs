//! The statistics as a whole: what must hold for any numbers, and how often they are right where the truth is known.
//! Published values are tested next to the code.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod properties;
mod simulations;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Seeded draws; the same in every run.
struct Draw(Xoshiro256PlusPlus);

impl Draw {
    fn seeded(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Above 0 and at most 1.
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    fn count(&mut self, low: usize, high: usize) -> usize {
        low + (self.0.next_u64() % (high - low + 1) as u64) as usize
    }

    /// Standard normal, by Box and Muller.
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Student's t with three degrees of freedom: symmetric, with tails so heavy that a mean is led astray.
    fn heavy(&mut self) -> f64 {
        let squares: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / (squares / 3.0).sqrt()
    }

    fn values(&mut self, count: usize, mut value: impl FnMut(&mut Self) -> f64) -> Vec<f64> {
        (0..count).map(|_| value(self)).collect()
    }

    /// Natural logs of what two servers gave, `apart` apart, on a machine that drifts and jumps under both.
    fn drifting_pairs(&mut self, count: usize, apart: f64) -> (Vec<f64>, Vec<f64>) {
        let mut machine = 0.0;
        let pair = |_| {
            machine += 0.05 * self.normal() + if self.uniform() < 0.1 { 0.5 } else { -0.02 };
            (machine + apart + 0.02 * self.normal(), machine + 0.02 * self.normal())
        };
        (0..count).map(pair).unzip()
    }
}

fn differences(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}
