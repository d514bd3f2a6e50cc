//! Paired differences: the Hodges–Lehmann estimate with the exact signed-rank interval and p-value. Nothing here knows
//! what was measured; a difference is the natural log of a ratio, so that the sides are exchangeable.
//!
//! Sources: Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed., 3.1 to 3.3.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::inversion::Ranked;
use super::normal;

/// Up to this number of differences the distribution is counted exactly; that takes time with the cube of the number.
const EXACT_UP_TO: usize = 150;

impl Ranked {
    /// Paired differences (natural logs of ratios), in any order, with their pairwise means (the Walsh averages) as
    /// points. `None` where there are none, or where one is not finite: a ratio with a zero in it is a failure to be
    /// reported as such, and leaving it out here would hide it.
    ///
    /// Assumes differences that are independent and symmetric about the centre, of any shape. What hits both members
    /// of a pair is gone with the difference. Exact for up to 150 differences, and by the normal approximation beyond.
    pub fn paired(differences: &[f64]) -> Option<Self> {
        if differences.is_empty() || !differences.iter().all(|difference| difference.is_finite()) {
            return None;
        }
        let count = differences.len();
        let mut walsh = Vec::with_capacity(count * (count + 1) / 2);
        for (index, a) in differences.iter().enumerate() {
            walsh.extend(differences[index..].iter().map(|b| f64::midpoint(*a, *b)));
        }
        Some(Self::new(count, walsh, levels(count)))
    }
}

/// The smallest number of differences for which an interval at the two-sided `level` exists: the smallest n with
/// 2^(1-n) <= level. `usize::MAX` for a level of 0 or less, which no number reaches; 1 for levels from 1.
pub fn least_count(level: f64) -> usize {
    if level.is_nan() || level <= 0.0 {
        return usize::MAX;
    }
    let mut count = 1;
    let mut smallest = 1.0;
    while smallest > level {
        smallest /= 2.0;
        count += 1;
    }
    count
}

/// The two-sided chances for a number of differences. They depend on nothing else, so each thread works them out once:
/// a calibration needs the same few counts thousands of times.
fn levels(count: usize) -> Arc<[f64]> {
    thread_local! {
        static KNOWN: RefCell<BTreeMap<usize, Arc<[f64]>>> = const { RefCell::new(BTreeMap::new()) };
    }
    let work_out = || {
        if count <= EXACT_UP_TO { exact_levels(count).into() } else { approximate_levels(count).into() }
    };
    KNOWN.with_borrow_mut(|known| Arc::clone(known.entry(count).or_insert_with(work_out)))
}

/// By value of the signed-rank statistic of `count` differences, up to half of the greatest: twice the chance of that
/// value or a smaller one, by exact counting.
fn exact_levels(count: usize) -> Vec<f64> {
    let reach = Ranked::reach(count * (count + 1) / 2);
    // chances[t]: the chance that the ranks with a positive sign sum to t. Larger sums never come back below.
    let mut chances = vec![0.0_f64; reach];
    chances[0] = 1.0;
    for rank in 1..=count {
        for sum in (0..reach.min(rank * (rank + 1) / 2 + 1)).rev() {
            let with = if sum >= rank { chances[sum - rank] } else { 0.0 };
            chances[sum] = f64::midpoint(chances[sum], with);
        }
    }
    super::doubled_sums(&chances)
}

/// The same by the normal approximation with continuity correction.
fn approximate_levels(count: usize) -> Vec<f64> {
    let n = count as f64;
    let mean = n * (n + 1.0) / 4.0;
    let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    (0..Ranked::reach(count * (count + 1) / 2))
        .map(|sum| (2.0 * normal::upper_tail((mean - sum as f64 - 0.5) / deviation)).min(1.0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_approximation_takes_over_where_it_is_good() {
        for (exact, approximate) in exact_levels(EXACT_UP_TO).iter().zip(approximate_levels(EXACT_UP_TO)) {
            assert!((exact - approximate).abs() < 2e-3, "{exact} {approximate}");
            // Far out it says more than it should, never less: no claim rests on it that the exact count denies.
            assert!(*exact > 0.05 || *exact <= approximate + 1e-12, "{exact} {approximate}");
        }
    }

    const TWELVE: [f64; 12] =
        [0.031, -0.012, 0.047, 0.008, 0.022, -0.003, 0.061, 0.019, -0.027, 0.038, 0.014, 0.052];

    /// Depression scores of Hollander and Wolfe, table 3.1, as on R's help page of `wilcox.test`: `x - y`, exact
    /// one-sided p = 0.01953; SciPy's `wilcoxon(x - y, method="exact")` gives 0.0390625 two-sided. R's `wilcox.test(y -
    /// x, conf.int = TRUE)` gives the estimate -0.46 and the 96.1 % interval (-0.786, -0.010).
    #[test]
    fn the_textbook_example() {
        #[allow(clippy::approx_constant, reason = "a published score happens to be 3.14")]
        let y = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let x = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let differences: Vec<f64> = y.iter().zip(x).map(|(y, x)| y - x).collect();
        let paired = Ranked::paired(&differences).unwrap();
        assert!((paired.p_value(0.0) - 0.039_062_5).abs() < 1e-15);
        assert!((paired.estimate() + 0.46).abs() < 1e-9);
        let (low, high) = paired.interval(0.05).unwrap();
        assert!((low + 0.786).abs() < 1e-9 && (high + 0.010).abs() < 1e-9, "{low} {high}");
    }

    /// `scipy.stats.wilcoxon(numpy.array(TWELVE) - centre, method="exact").pvalue`.
    #[test]
    fn p_values_are_those_of_scipy() {
        let paired = Ranked::paired(&TWELVE).unwrap();
        let published = [
            (0.0, 0.026_855_468_75),
            (0.010_25, 0.233_398_437_5),
            (0.030_25, 0.301_269_531_25),
            (-0.010_25, 0.003_417_968_75),
            (0.050_25, 0.003_417_968_75),
        ];
        for (centre, p) in published {
            assert!((paired.p_value(centre) - p).abs() < 1e-15, "{centre}: {}", paired.p_value(centre));
        }
    }

    /// Critical values of the signed-rank statistic, two-sided 5 %: 0, 2, 3, 5, 8 for n = 6 to 10 and 52 for n = 20
    /// (Hollander, Wolfe and Chicken, table A.4).
    #[test]
    fn the_published_critical_values() {
        for (count, critical) in [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (20, 52)] {
            let levels = exact_levels(count);
            assert!(levels[critical] <= 0.05 && levels[critical + 1] > 0.05, "n = {count}");
        }
        assert!(exact_levels(5).iter().all(|level| *level > 0.05));
    }

    #[test]
    fn the_least_count_is_where_intervals_begin() {
        for level in [0.2, 0.1, 0.05, 0.03125, 0.0158, 0.01, 0.0005] {
            let least = least_count(level);
            let interval = |count: usize| {
                let differences: Vec<f64> = (0..count).map(|index| index as f64).collect();
                Ranked::paired(&differences).unwrap().interval(level)
            };
            assert_eq!(interval(least), Some((0.0, least as f64 - 1.0)), "{level}");
            assert_eq!(interval(least - 1), None, "{level}");
        }
        assert_eq!([least_count(0.05), least_count(0.03125), least_count(0.0312)], [6, 6, 7]);
        assert_eq!([least_count(1.0), least_count(0.0)], [1, usize::MAX]);
    }

    #[test]
    fn what_is_no_number_gives_no_result() {
        assert_eq!(Ranked::paired(&[]), None);
        assert_eq!(Ranked::paired(&[0.1, f64::NAN]), None);
        assert_eq!(Ranked::paired(&[0.1, f64::NEG_INFINITY]), None);
        let paired = Ranked::paired(&TWELVE).unwrap();
        assert_eq!([paired.interval(0.0), paired.interval(1.0), paired.interval(f64::NAN)], [None; 3]);
        assert!((paired.p_value(f64::NAN) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn differences_at_the_centre_speak_for_it() {
        let paired = Ranked::paired(&[0.0; 20]).unwrap();
        assert!((paired.p_value(0.0) - 1.0).abs() < 1e-15);
        assert_eq!(paired.interval(0.05), Some((0.0, 0.0)));
        assert!(paired.p_value(1e-9) < 1e-5);
        // One of seven at the centre: as if it had fallen on the thinner side with the lowest rank.
        let paired = Ranked::paired(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert!((paired.p_value(0.0) - 4.0 / 128.0).abs() < 1e-15);
    }
}
