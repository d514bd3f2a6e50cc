//! Random-effects pooling of estimates of one quantity from several runs: each run has a true value of its own, and
//! these vary from run to run.
//!
//! The variance between runs, tau², is the restricted maximum likelihood estimate by Fisher scoring (Viechtbauer, *Bias
//! and efficiency of meta-analytic variance estimators in the random-effects model*, Journal of Educational and
//! Behavioral Statistics 30, 2005). The interval of the mean is Hartung and Knapp's (Statistics in Medicine 20, 2001)
//! with k - 1 degrees of freedom; its scale factor is never taken below 1, so that runs which agree by chance don't
//! narrow it (Röver, Knapp and Friede, BMC Medical Research Methodology 15, 2015). The prediction interval for the true
//! value of a new run has k - 2 degrees of freedom (Higgins, Thompson and Spiegelhalter, Journal of the Royal
//! Statistical Society A 172, 2009). I² is tau² over tau² and the typical variance within runs (Higgins and Thompson,
//! Statistics in Medicine 21, 2002).

use serde::{Deserialize, Serialize};

use super::student::two_sided_point;
use super::{CONFIDENCE, Estimate};

/// Below this many runs there is nothing to pool.
pub const LEAST_RUNS: usize = 2;

/// Fisher scoring ends once a step is below this share of the variances, or after this number of steps.
const TOLERANCE: f64 = 1e-12;
const MOST_STEPS: usize = 1_000;

/// One run's estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunEstimate {
    /// The estimate.
    pub value: f64,
    /// Its standard error within the run, above 0.
    pub standard_error: f64,
}

/// What several runs show together, in the unit of their estimates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RandomEffects {
    /// The mean over runs, with its interval.
    pub mean: Estimate,
    /// The standard error of the mean by Hartung and Knapp, its scale factor at least 1.
    pub standard_error: f64,
    /// The standard deviation between runs, tau.
    pub between: f64,
    /// The typical standard error within a run.
    pub within: f64,
    /// The share of the variance that lies between runs, from 0 to 1.
    pub i_squared: f64,
    /// Cochran's Q: the weighted sum of squares around the common mean.
    pub q: f64,
    /// What holds the true value of a new run; none below three runs.
    pub prediction: Option<(f64, f64)>,
}

/// The weighted mean and what follows from weights of `1 / (variance + tau²)`.
struct Weighted {
    weights: Vec<f64>,
    sum: f64,
    mean: f64,
}

impl Weighted {
    fn new(runs: &[RunEstimate], between_squared: f64) -> Self {
        let weights: Vec<f64> =
            runs.iter().map(|run| (run.standard_error.powi(2) + between_squared).recip()).collect();
        let sum: f64 = weights.iter().sum();
        let mean = runs.iter().zip(&weights).map(|(run, weight)| run.value * weight).sum::<f64>() / sum;
        Self { weights, sum, mean }
    }

    fn power_sum(&self, power: i32) -> f64 {
        self.weights.iter().map(|weight| weight.powi(power)).sum()
    }

    /// Squared distances from the mean, each times a power of its weight.
    fn squares(&self, runs: &[RunEstimate], power: i32) -> f64 {
        let each = runs.iter().zip(&self.weights);
        each.map(|(run, weight)| weight.powi(power) * (run.value - self.mean).powi(2)).sum()
    }
}

/// Pools the estimates of several runs. `None` where there are fewer than [`LEAST_RUNS`], or one is not finite or has
/// no standard error.
pub fn random_effects(runs: &[RunEstimate]) -> Option<RandomEffects> {
    let is_usable = |run: &RunEstimate| {
        run.value.is_finite() && run.standard_error.is_finite() && run.standard_error > 0.0
    };
    if runs.len() < LEAST_RUNS || !runs.iter().all(is_usable) {
        return None;
    }
    let degrees = runs.len() - 1;
    let level = 1.0 - CONFIDENCE;
    let common = Weighted::new(runs, 0.0);
    let typical = degrees as f64 * common.sum / (common.sum.powi(2) - common.power_sum(2));
    let between_squared = restricted_likelihood(runs, typical);
    let weighted = Weighted::new(runs, between_squared);
    let scale = (weighted.squares(runs, 1) / degrees as f64).max(1.0);
    let standard_error = (scale / weighted.sum).sqrt();
    let around = |half: f64| (weighted.mean - half, weighted.mean + half);
    let prediction = (runs.len() > LEAST_RUNS).then(|| {
        around(two_sided_point(level, degrees - 1) * (between_squared + standard_error.powi(2)).sqrt())
    });
    Some(RandomEffects {
        mean: Estimate {
            value: weighted.mean,
            interval: Some(around(two_sided_point(level, degrees) * standard_error)),
        },
        standard_error,
        between: between_squared.sqrt(),
        within: typical.sqrt(),
        i_squared: between_squared / (between_squared + typical),
        q: common.squares(runs, 1),
        prediction,
    })
}

/// The variance between runs that maximises the restricted likelihood, at least 0.
fn restricted_likelihood(runs: &[RunEstimate], typical: f64) -> f64 {
    // From the variance of the estimates themselves less the typical one (Hedges), which is near.
    let plain = runs.iter().map(|run| run.value).sum::<f64>() / runs.len() as f64;
    let spread = runs.iter().map(|run| (run.value - plain).powi(2)).sum::<f64>() / (runs.len() - 1) as f64;
    let mut between = (spread - typical).max(0.0);
    for _ in 0..MOST_STEPS {
        let weighted = Weighted::new(runs, between);
        let [one, two, three] = [1, 2, 3].map(|power| weighted.power_sum(power));
        let score = weighted.squares(runs, 2) - (one - two / one);
        let information = two - 2.0 * three / one + (two / one).powi(2);
        let next = (between + score / information).max(0.0);
        let step = (next - between).abs();
        between = next;
        if step <= TOLERANCE * (between + typical) {
            break;
        }
    }
    between
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(values: &[f64], variances: &[f64]) -> Vec<RunEstimate> {
        let both = values.iter().zip(variances);
        both.map(|(value, variance)| RunEstimate { value: *value, standard_error: variance.sqrt() }).collect()
    }

    fn close(a: f64, b: f64, digits: i32) -> bool {
        (a - b).abs() <= 0.5 * 10_f64.powi(-digits) * 1.000_001
    }

    /// The BCG vaccine trials (Colditz et al. 1994; `dat.bcg` of R's metafor): cases and others, vaccinated and not, as
    /// log relative risks.
    fn vaccine() -> Vec<RunEstimate> {
        let tables = [
            [4, 119, 11, 128],
            [6, 300, 29, 274],
            [3, 228, 11, 209],
            [62, 13_536, 248, 12_619],
            [33, 5_036, 47, 5_761],
            [180, 1_361, 372, 1_079],
            [8, 2_537, 10, 619],
            [505, 87_886, 499, 87_892],
            [29, 7_470, 45, 7_232],
            [17, 1_699, 65, 1_600],
            [186, 50_448, 141, 27_197],
            [5, 2_493, 3, 2_338],
            [27, 16_886, 29, 17_825],
        ];
        let risk = |table: [i32; 4]| {
            let [a, b, c, d] = table.map(f64::from);
            let variance: f64 = 1.0 / a - 1.0 / (a + b) + 1.0 / c - 1.0 / (c + d);
            RunEstimate { value: ((a / (a + b)) / (c / (c + d))).ln(), standard_error: variance.sqrt() }
        };
        tables.map(risk).to_vec()
    }

    /// `rma(yi, vi, data = dat, method = "REML", test = "knha")`: tau² 0.3132, I² 92.22 %, Q 152.2330, -0.7145
    /// [-1.1084, -0.3206] with a standard error of 0.1808. The prediction interval with k - 2 degrees of freedom was
    /// worked out with SciPy, tau² found there by minimising the restricted likelihood itself.
    #[test]
    fn the_vaccine_trials_as_metafor_has_them() {
        let pooled = random_effects(&vaccine()).unwrap();
        let (low, high) = pooled.mean.interval.unwrap();
        assert!(close(pooled.between.powi(2), 0.3132, 4) && close(pooled.i_squared, 0.9222, 4), "{pooled:?}");
        assert!(close(pooled.q, 152.2330, 4) && close(pooled.standard_error, 0.1808, 4), "{pooled:?}");
        assert!(close(pooled.mean.value, -0.7145, 4), "{pooled:?}");
        assert!(close(low, -1.1084, 4) && close(high, -0.3206, 4), "{pooled:?}");
        let (low, high) = pooled.prediction.unwrap();
        assert!(close(low, -2.009_057_66, 6) && close(high, 0.579_992_98, 6), "{pooled:?}");
    }

    /// Both examples of Viechtbauer 2005, pages 271 and 272, restricted maximum likelihood: tau² 0.223 with I² 76.84 %,
    /// and 0.016 with 32.02 %.
    #[test]
    fn the_examples_of_viechtbauer() {
        let first = random_effects(&runs(
            &[-0.581, 0.530, 0.771, 1.031, 0.553, 0.295, 0.078, 0.573, -0.176, -0.232],
            &[0.023, 0.052, 0.060, 0.115, 0.095, 0.203, 0.200, 0.211, 0.051, 0.040],
        ))
        .unwrap();
        assert!(close(first.between.powi(2), 0.223, 3) && close(first.i_squared, 0.7684, 4), "{first:?}");
        let second = random_effects(&runs(
            &[
                0.100, -0.162, -0.090, -0.049, -0.046, -0.010, -0.431, -0.261, 0.134, 0.019, 0.175, 0.056,
                0.045, 0.103, 0.121, -0.482, 0.290, 0.342,
            ],
            &[
                0.016, 0.015, 0.050, 0.050, 0.032, 0.052, 0.036, 0.024, 0.034, 0.033, 0.031, 0.034, 0.039,
                0.167, 0.134, 0.096, 0.016, 0.035,
            ],
        ))
        .unwrap();
        assert!(close(second.between.powi(2), 0.016, 3) && close(second.i_squared, 0.3202, 4), "{second:?}");
    }

    /// Two runs that differ by much less than their errors: no variance between them, and an interval that is not
    /// narrower for it.
    #[test]
    fn chance_agreement_does_not_narrow_the_interval() {
        let agree = random_effects(&runs(&[1.0, 1.001], &[0.01, 0.01])).unwrap();
        assert_eq!((agree.between, agree.i_squared, agree.prediction), (0.0, 0.0, None));
        assert!(close(agree.standard_error, (0.01_f64 / 2.0).sqrt(), 12), "{agree:?}");
    }

    #[test]
    fn what_can_not_be_pooled_is_not() {
        assert_eq!(random_effects(&runs(&[1.0], &[0.01])), None);
        assert_eq!(random_effects(&runs(&[1.0, f64::NAN], &[0.01, 0.01])), None);
        assert_eq!(random_effects(&runs(&[1.0, 2.0], &[0.01, 0.0])), None);
    }
}
