//! Student's t distribution. Two-sided levels only.

use statrs::function::beta::inv_beta_reg;

/// The `t` with a chance of `level` (between 0 and 1) that a value of `degrees` (1 or more) degrees of freedom lies
/// beyond `-t` or `t`. Meant for levels that are in use: below 0.000_001 it is less exact.
pub(super) fn two_sided_point(level: f64, degrees: usize) -> f64 {
    // The square of t over itself and the degrees of freedom has a beta distribution.
    let degrees = degrees as f64;
    let rest = inv_beta_reg(degrees / 2.0, 0.5, level);
    (degrees * (1.0 - rest) / rest).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The points of the published tables (Fisher and Yates, table III), with the digits of `scipy.stats.t.ppf(1 -
    /// level / 2, n)`.
    #[test]
    fn points_are_those_of_the_published_tables() {
        let published = [
            (0.05, 1, 12.706_204_736_174_69),
            (0.05, 2, 4.302_652_729_749_464),
            (0.05, 3, 3.182_446_305_284_263),
            (0.05, 4, 2.776_445_105_197_793),
            (0.05, 11, 2.200_985_160_091_64),
            (0.05, 12, 2.178_812_829_672_283),
            (0.10, 10, 1.812_461_122_811_676),
            (0.01, 7, 3.499_483_297_350_494),
            (0.001, 30, 3.645_958_635_047_985),
        ];
        for (level, degrees, t) in published {
            let point = two_sided_point(level, degrees);
            assert!((point / t - 1.0).abs() < 1e-9, "{level} {degrees}: {point}");
        }
    }

    #[test]
    fn many_degrees_of_freedom_come_to_the_normal_point() {
        let normal = super::super::normal::two_sided_point(0.05);
        assert!((two_sided_point(0.05, 100_000) - normal).abs() < 1e-4);
    }
}
