//! Student's t distribution for whole degrees of freedom, where its distribution function is a finite sum (Abramowitz and
//! Stegun, *Handbook of Mathematical Functions*, 26.7.3 and 26.7.4). Two-sided levels only.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// The chance that a t value of `degrees` degrees of freedom lies between `-t` and `t`, where `t` is `sqrt(degrees) * tan(angle)`.
fn inside(angle: f64, degrees: usize) -> f64 {
    let (sine, cosine) = angle.sin_cos();
    let is_odd = degrees % 2 == 1;
    let mut term = if is_odd { cosine } else { 1.0 };
    let mut sum = if degrees == 1 { 0.0 } else { term };
    let mut k = if is_odd { 3 } else { 2 };
    while k < degrees {
        term *= (k - 1) as f64 / k as f64 * cosine * cosine;
        sum += term;
        k += 2;
    }
    if is_odd { FRAC_2_PI * (angle + sine * sum) } else { sine * sum }
}

/// The `t` with a chance of `level` (between 0 and 1) that a value of `degrees` (1 or more) degrees of freedom lies beyond `-t` or
/// `t`.
pub(super) fn two_sided_point(level: f64, degrees: usize) -> f64 {
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    for _ in 0..64 {
        let middle = f64::midpoint(low, high);
        if 1.0 - inside(middle, degrees) > level {
            low = middle;
        } else {
            high = middle;
        }
    }
    (degrees as f64).sqrt() * f64::midpoint(low, high).tan()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The points of the published tables (Fisher and Yates, table III), with the digits of `scipy.stats.t.ppf(1 - level / 2, n)`.
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
