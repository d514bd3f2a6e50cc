//! The statistics, each in its exact form where samples are small. Numbers in, numbers out: nothing here knows a
//! server, a figure or a verdict, reads a clock or draws a number.
//!
//! This module holds the median of one sample; the others hold what their names say. Sources: medians with
//! order-statistic intervals, Conover, Practical Nonparametric Statistics, 3rd ed., 3.2; the rest is named in each
//! module.

mod binomial;
mod group_sequential;
mod inversion;
mod line;
mod multiplicity;
mod normal;
mod paired;
mod student;
mod unpaired;

use serde::{Deserialize, Serialize};

pub use binomial::binomial_interval;
pub use group_sequential::{blocks_for, nominal_level};
pub use inversion::Ranked;
pub use line::{Line, Weighted, line, line_residual, slope};
pub use multiplicity::{FAMILY_ERROR, Judged, holm};
pub use paired::least_count;

/// The confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;

/// A value and the interval that holds the true one with at least [`CONFIDENCE`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// The interval; none where there are too few values for one.
    pub interval: Option<(f64, f64)>,
}

impl Estimate {
    /// The estimate under an increasing function.
    pub fn map(self, function: impl Fn(f64) -> f64) -> Self {
        Self {
            value: function(self.value),
            interval: self.interval.map(|(low, high)| (function(low), function(high))),
        }
    }
}

/// The median of values and its interval between two order statistics. `None` where there are no values.
pub fn median(values: &[f64]) -> Option<Estimate> {
    let sorted = sorted(values);
    let value = middle(&sorted)?;
    Some(Estimate { value, interval: order_interval(&sorted) })
}

/// The narrowest symmetric pair of order statistics that covers the median with [`CONFIDENCE`].
fn order_interval(sorted: &[f64]) -> Option<(f64, f64)> {
    let n = sorted.len();
    let each_tail = (1.0 - CONFIDENCE) / 2.0;
    // Tail of the binomial distribution with probability one half: P(X <= k).
    // As a logarithm: from 1,075 values on the chance itself is too small for a number.
    let mut log_chance = n as f64 * 0.5_f64.ln();
    let mut tail = 0.0;
    let mut drop = None;
    for k in 0..n / 2 {
        tail += log_chance.exp();
        if tail > each_tail {
            break;
        }
        drop = Some(k);
        log_chance += ((n - k) as f64 / (k + 1) as f64).ln();
    }
    drop.map(|k| (sorted[k], sorted[n - 1 - k]))
}

/// Twice the running sum of chances, at most 1: the two-sided chance of each value or a smaller one.
fn doubled_sums(chances: &[f64]) -> Vec<f64> {
    let mut below = 0.0;
    chances
        .iter()
        .map(|chance| {
            below += chance;
            f64::min(2.0 * below, 1.0)
        })
        .collect()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn middle(sorted: &[f64]) -> Option<f64> {
    let n = sorted.len();
    match n {
        0 => None,
        _ if n % 2 == 1 => Some(sorted[n / 2]),
        _ => Some(f64::midpoint(sorted[n / 2 - 1], sorted[n / 2])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    /// Published order-statistic intervals for the median: the 1st to 6th of 6, 1st to 8th of 8, 2nd to 8th of 9, 6th
    /// to 15th of 20.
    #[test]
    fn the_published_median_intervals() {
        let interval = |n: u32| {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            median(&values).unwrap().interval
        };
        assert_eq!(interval(5), None);
        assert_eq!(interval(6), Some((1.0, 6.0)));
        assert_eq!(interval(8), Some((1.0, 8.0)));
        assert_eq!(interval(9), Some((2.0, 8.0)));
        assert_eq!(interval(20), Some((6.0, 15.0)));
    }

    #[test]
    fn small_samples_have_a_value_and_no_interval() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0]), Some(Estimate { value: 2.0, interval: None }));
        assert_eq!(Ranked::paired(&[0.5]).unwrap().at_confidence(), Estimate { value: 0.5, interval: None });
    }

    #[test]
    fn swapping_the_sides_turns_the_estimate_round() {
        let differences = [0.3, -0.1, 0.25, 0.4, 0.05, 0.2, 0.15];
        let there = Ranked::paired(&differences).unwrap().at_confidence();
        let back = Ranked::paired(&differences.map(|d| -d)).unwrap().at_confidence();
        let ((low, high), (back_low, back_high)) = (there.interval.unwrap(), back.interval.unwrap());
        assert!(close(there.value, -back.value) && close(low, -back_high) && close(high, -back_low));
    }
}
