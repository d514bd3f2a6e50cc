//! The statistics, each in its exact form: samples here are small.
//!
//! Sources: medians with order-statistic intervals (Conover, Practical Nonparametric Statistics, 3rd ed., 3.2); the
//! Hodges–Lehmann estimate with the signed-rank interval (Hollander, Wolfe and Chicken, Nonparametric Statistical
//! Methods, 3rd ed., 3.2 and 3.3).

use serde::{Deserialize, Serialize};

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
    let mut probability = 0.5_f64.powi(n as i32);
    let mut tail = 0.0;
    let mut drop = None;
    for k in 0..n / 2 {
        tail += probability;
        if tail > each_tail {
            break;
        }
        drop = Some(k);
        probability *= (n - k) as f64 / (k + 1) as f64;
    }
    drop.map(|k| (sorted[k], sorted[n - 1 - k]))
}

/// The Hodges–Lehmann estimate of the centre of paired differences: the median of all pairwise means, with the interval
/// that the signed-rank test does not reject. `None` where there are no differences; no interval below six of them.
pub fn hodges_lehmann(differences: &[f64]) -> Option<Estimate> {
    let mut walsh: Vec<f64> = Vec::with_capacity(differences.len() * (differences.len() + 1) / 2);
    for (index, a) in differences.iter().enumerate() {
        walsh.extend(differences[index..].iter().map(|b| f64::midpoint(*a, *b)));
    }
    let walsh = sorted(&walsh);
    let value = middle(&walsh)?;
    let interval = signed_rank_quantile(differences.len(), (1.0 - CONFIDENCE) / 2.0)
        .map(|rank| (walsh[rank], walsh[walsh.len() - 1 - rank]));
    Some(Estimate { value, interval })
}

/// The largest `k` with `P(T <= k) <= tail` for the signed-rank statistic of `n` differences, by exact counting.
fn signed_rank_quantile(n: usize, tail: f64) -> Option<usize> {
    let most = n * (n + 1) / 2;
    // ways[t]: probability that the ranks with a positive sign sum to t.
    let mut ways = vec![0.0_f64; most + 1];
    ways[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..=most).rev() {
            let with = if sum >= rank { ways[sum - rank] } else { 0.0 };
            ways[sum] = f64::midpoint(ways[sum], with);
        }
    }
    let mut below = 0.0;
    let mut quantile = None;
    for (sum, probability) in ways.iter().enumerate() {
        below += probability;
        if below > tail {
            break;
        }
        quantile = Some(sum);
    }
    quantile
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

    /// Depression scores of Hollander and Wolfe, table 3.1: R's `wilcox.test(y - x, conf.int = TRUE)` gives the estimate
    /// -0.46 and the 96.1 % interval (-0.786, -0.010).
    #[test]
    fn the_textbook_example() {
        #[allow(clippy::approx_constant, reason = "a published score happens to be 3.14")]
        let y = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let x = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let differences: Vec<f64> = y.iter().zip(x).map(|(y, x)| y - x).collect();
        let estimate = hodges_lehmann(&differences).unwrap();
        assert!(close(estimate.value, -0.46), "{estimate:?}");
        let (low, high) = estimate.interval.unwrap();
        assert!(close(low, -0.786) && close(high, -0.010), "{estimate:?}");
    }

    /// Critical values of the signed-rank statistic, two-sided 5 %: 0, 2, 3, 5, 8 for n = 6 to 10 and 52 for n = 20.
    #[test]
    fn the_published_critical_values() {
        for (n, critical) in [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (20, 52)] {
            assert_eq!(signed_rank_quantile(n, 0.025), Some(critical), "n = {n}");
        }
        assert_eq!(signed_rank_quantile(5, 0.025), None);
    }

    /// Published order-statistic intervals for the median: the 1st to 6th of 6, 1st to 8th of 8, 2nd to 8th of 9, 6th to
    /// 15th of 20.
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
        assert_eq!(hodges_lehmann(&[0.5]), Some(Estimate { value: 0.5, interval: None }));
    }

    #[test]
    fn swapping_the_sides_turns_the_estimate_round() {
        let differences = [0.3, -0.1, 0.25, 0.4, 0.05, 0.2, 0.15];
        let there = hodges_lehmann(&differences).unwrap();
        let back = hodges_lehmann(&differences.map(|d| -d)).unwrap();
        let ((low, high), (back_low, back_high)) = (there.interval.unwrap(), back.interval.unwrap());
        assert!(close(there.value, -back.value) && close(low, -back_high) && close(high, -back_low));
    }

    /// Over many samples with a known centre the interval holds it about as often as it says.
    #[test]
    fn the_interval_covers_the_truth() {
        use rand_xoshiro::Xoshiro256PlusPlus;
        use rand_xoshiro::rand_core::{Rng, SeedableRng};
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut draw =
            || (0..12).map(|_| random.next_u64() as f64 / u64::MAX as f64).sum::<f64>() - 6.0 + 0.7;
        let covered = (0..4_000)
            .filter(|_| {
                let sample: Vec<f64> = (0..7).map(|_| draw()).collect();
                let (low, high) = hodges_lehmann(&sample).unwrap().interval.unwrap();
                (low..=high).contains(&0.7)
            })
            .count();
        // Exactly 95.3 % for n = 7; four standard errors of 4,000 draws are 1.3 %.
        assert!((3_760..=3_864).contains(&covered), "{covered}");
    }
}
