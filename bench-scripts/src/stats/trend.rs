//! A trend over time: the slope of Theil and Sen, the median of the slopes of all pairs of points, with Sen's interval, which inverts
//! Kendall's rank correlation.
//!
//! A few points far off change neither. Assumes that the distances from the line are independent: where each resembles the one before,
//! the interval is too narrow. Source: Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed., 9.2 and 9.3, with the
//! normal approximation.

use super::Estimate;
use super::normal;

/// The chance that the interval misses the slope.
const LEVEL: f64 = 0.05;

/// The fewest points for which the approximation is used.
pub const LEAST_POINTS: usize = 8;

/// The slope of `y` over `x`, points in any order, no two with the same `x`. `None` for fewer than two points, or where a number is not
/// finite. Without an interval below [`LEAST_POINTS`] points.
pub fn theil_sen(points: &[(f64, f64)]) -> Option<Estimate> {
    if !points.iter().all(|(x, y)| x.is_finite() && y.is_finite()) {
        return None;
    }
    let pairs = points.iter().enumerate().flat_map(|(at, a)| points[at + 1..].iter().map(move |b| (a, b)));
    let mut slopes: Vec<f64> =
        pairs.filter(|(a, b)| a.0 != b.0).map(|(a, b)| (b.1 - a.1) / (b.0 - a.0)).collect();
    slopes.sort_by(f64::total_cmp);
    let value = super::median(&slopes)?.value;
    let count = points.len() as f64;
    let deviation = (count * (count - 1.0) * (2.0 * count + 5.0) / 18.0).sqrt();
    let outside = ((slopes.len() as f64 - normal::two_sided_point(LEVEL) * deviation) / 2.0).floor();
    let interval = (points.len() >= LEAST_POINTS && outside >= 1.0).then(|| {
        let outside = outside as usize;
        (slopes[outside - 1], slopes[slopes.len() - outside])
    });
    Some(Estimate { value, interval })
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;

    fn series(random: &mut Xoshiro256PlusPlus, slope: f64, count: u32) -> Vec<(f64, f64)> {
        let mut noise = || (0..12).map(|_| random.next_u64() as f64 / u64::MAX as f64).sum::<f64>() - 6.0;
        (0..count).map(|at| (f64::from(at), slope * f64::from(at) + noise())).collect()
    }

    #[test]
    fn a_straight_line_is_found_though_a_point_is_far_off() {
        let mut points: Vec<(f64, f64)> =
            (0..12).map(|at| (f64::from(at), 3.0 + 0.5 * f64::from(at))).collect();
        points[4].1 = 1e6;
        let found = theil_sen(&points).unwrap();
        assert!((found.value - 0.5).abs() < 1e-12, "{found:?}");
        let (low, high) = found.interval.unwrap();
        assert!(low <= 0.5 && high >= 0.5 && low > 0.0, "{found:?}");
    }

    /// Nineteen of twenty intervals hold the slope, for few points and for many.
    #[test]
    fn intervals_hold_the_slope_as_often_as_they_say() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        for count in [8, 30] {
            let holds = (0..1_000)
                .filter(|_| {
                    let (low, high) = theil_sen(&series(&mut random, 0.1, count)).unwrap().interval.unwrap();
                    (low..=high).contains(&0.1)
                })
                .count();
            assert!((925..=985).contains(&holds), "{holds} of 1000 with {count} points");
        }
    }

    #[test]
    fn few_points_have_no_interval_and_one_has_no_slope() {
        assert_eq!(theil_sen(&[(0.0, 1.0)]), None);
        assert_eq!(theil_sen(&[(0.0, 1.0), (1.0, f64::NAN)]), None);
        let three = theil_sen(&[(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]).unwrap();
        assert_eq!((three.value, three.interval), (1.0, None));
    }
}
