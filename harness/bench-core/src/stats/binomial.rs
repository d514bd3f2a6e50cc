//! A share with its interval. Nothing about what is counted.
//!
//! Source: Clopper and Pearson, Biometrika 26 (1934).

use statrs::function::beta::inv_beta_reg;

use super::CONFIDENCE;

/// The Clopper–Pearson interval of a share: it holds the true one with at least [`CONFIDENCE`]. From 0 to 1 where
/// nothing was tried; more successes than trials are taken as all.
pub fn binomial_interval(successes: u32, trials: u32) -> (f64, f64) {
    let successes = successes.min(trials);
    (lower_bound(successes, trials), 1.0 - lower_bound(trials - successes, trials))
}

/// The share at which that many successes or more have half of the allowed error as their chance.
fn lower_bound(successes: u32, trials: u32) -> f64 {
    if successes == 0 {
        return 0.0;
    }
    inv_beta_reg(f64::from(successes), f64::from(trials - successes + 1), (1.0 - CONFIDENCE) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.beta.ppf(0.025, k, n - k + 1)` and `beta.ppf(0.975, k + 1, n - k)`, which is what
    /// `scipy.stats.binomtest(k, n).proportion_ci(method="exact")` looks for, and finds to 12 digits.
    #[test]
    fn intervals_are_those_of_scipy() {
        let published = [
            (0, 10, 0.0, 0.308_497_107_818_760_7),
            (10, 10, 0.691_502_892_181_239_2, 1.0),
            (1, 10, 0.002_528_578_544_461_784_8, 0.445_016_117_028_195_4),
            (3, 7, 0.098_988_278_442_507_86, 0.815_948_432_359_916_9),
            (5, 100, 0.016_431_879_182_052_155, 0.112_834_911_105_462_75),
            (7, 100, 0.028_605_288_907_438_704, 0.138_919_728_455_857_32),
            (95, 100, 0.887_165_088_894_537_3, 0.983_568_120_817_947_9),
            (50, 2_000, 0.018_611_105_676_337_118, 0.032_827_771_149_005_04),
        ];
        for (successes, trials, low, high) in published {
            let ours = binomial_interval(successes, trials);
            assert!(
                (ours.0 - low).abs() < 1e-12 && (ours.1 - high).abs() < 1e-12,
                "{successes}/{trials}: {ours:?}"
            );
        }
    }

    #[test]
    fn nothing_tried_says_nothing() {
        assert_eq!(binomial_interval(0, 0), (0.0, 1.0));
        assert_eq!(binomial_interval(9, 4), binomial_interval(4, 4));
    }
}
