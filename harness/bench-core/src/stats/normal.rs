//! The standard normal distribution, as far as two-sided levels need it. No density and no sampling.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

use statrs::function::erf::erfc_inv;

/// The chance that a standard normal value lies above `z`. `libm::erfc` (the FreeBSD msun routine) is exact to about
/// one unit in the last place, also far out in the tail; that of statrs is not.
pub(super) fn upper_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z * FRAC_1_SQRT_2)
}

/// The `z` with a chance of `level` (between 0 and 1) that a standard normal value lies beyond `-z` or `z`.
pub(super) fn two_sided_point(level: f64) -> f64 {
    SQRT_2 * erfc_inv(level)
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
