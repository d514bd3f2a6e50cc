//! The standard normal distribution, as far as two-sided levels need it. No density and no sampling.
//!
//! `libm::erfc` (the FreeBSD msun routine) is exact to about one unit in the last place, also far out in the tail.

use std::f64::consts::FRAC_1_SQRT_2;

/// The chance that a standard normal value lies above `z`.
pub(super) fn upper_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z * FRAC_1_SQRT_2)
}

/// The `z` with a chance of `level` (between 0 and 1) that a standard normal value lies beyond `-z` or `z`.
pub(super) fn two_sided_point(level: f64) -> f64 {
    // Beyond 38 the tail is below the smallest positive number, so the answer lies in between. Halving needs no table of
    // constants and is called a handful of times.
    let (mut low, mut high) = (0.0_f64, 38.0_f64);
    for _ in 0..64 {
        let middle = f64::midpoint(low, high);
        if 2.0 * upper_tail(middle) > level {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SciPy: `2 * scipy.stats.norm.sf(z)`.
    #[test]
    fn tails_and_points_are_those_of_scipy() {
        let published = [
            (0.5, 0.617_075_077_451_973_8),
            (1.959_963_984_540_054, 0.05),
            (3.0, 0.002_699_796_063_260_186_6),
            (5.0, 5.733_031_437_583_866e-7),
            (8.0, 1.244_192_114_854_348e-15),
        ];
        for (z, level) in published {
            assert!((2.0 * upper_tail(z) / level - 1.0).abs() < 1e-13, "z = {z}");
            assert!((two_sided_point(level) - z).abs() < 1e-12, "level = {level}");
        }
    }
}
