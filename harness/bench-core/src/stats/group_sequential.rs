//! Interim analyses: the level for each of them that keeps the chance of a false alarm over all, and how many blocks
//! are still needed. Takes no decision and knows no hypothesis.
//!
//! Sources: Pocock, Biometrika 64 (1977), for the constant level; Armitage, McPherson and Rowe, J. R. Statist. Soc. A
//! 132 (1969), for the recursive integration; Jennison and Turnbull, Group Sequential Methods with Applications to
//! Clinical Trials (2000), 2.4 and chapter 19, for both.

use std::f64::consts::PI;

use super::normal::{two_sided_point, upper_tail};

/// The most nodes on half of an analysis's range. More would be needed only where two analyses are within about a
/// thousandth of the last count of each other.
const MOST_NODES: usize = 256;

/// The constant two-sided level for interim analyses at the given rising counts at which the chance of at least one
/// crossing, where there is no difference, is `alpha`.
///
/// The test statistics of two analyses are taken as normal with the correlation sqrt(earlier count/later count), as
/// sums of independent terms have. One analysis gives `alpha` itself. A count that does not rise above the ones before
/// it brings no new data and is left out. Analyses too near to each other for the integration (within about a
/// thousandth of the last count) give `alpha` over their number (Bonferroni), which is never too large. Some
/// milliseconds at most; the caller keeps what it needs often.
pub fn nominal_level(analyses: &[u32], alpha: f64) -> f64 {
    let mut counts: Vec<u32> = Vec::with_capacity(analyses.len());
    for count in analyses {
        if *count > counts.last().copied().unwrap_or(0) {
            counts.push(*count);
        }
    }
    let Some(last) = counts.last().copied().filter(|_| counts.len() > 1 && alpha > 0.0 && alpha < 1.0) else {
        return alpha;
    };
    let fractions: Vec<f64> = counts.iter().map(|count| f64::from(*count) / f64::from(last)).collect();
    let apart = alpha / counts.len() as f64;
    // The point lies between that of a single analysis and that of analyses which share nothing.
    let (narrow, wide) = (two_sided_point(alpha), two_sided_point(apart));
    let Some(boundary) = Boundary::new(fractions, wide) else {
        return apart;
    };
    let point = root(narrow, wide, |point| (boundary.crossing(point) / alpha).ln());
    (2.0 * upper_tail(point)).clamp(apart, alpha)
}

/// The blocks in all that an interval of half-width `target` takes, going by `half_width` from `count` blocks and by
/// its shrinking with the square root of their number. `None` for a target of 0 or less, without blocks, and for what
/// is no number. Interval and target in the same unit.
pub fn blocks_for(half_width: f64, count: usize, target: f64) -> Option<u64> {
    let usable = target > 0.0 && count > 0 && half_width >= 0.0 && half_width.is_finite();
    // Rounding must not add one more where the target is met exactly.
    usable.then(|| (count as f64 * (half_width / target).powi(2) * (1.0 - 1e-12)).ceil().max(1.0) as u64)
}

/// A falling function's root between `low` and `high` by the Illinois form of false position.
fn root(mut low: f64, mut high: f64, value: impl Fn(f64) -> f64) -> f64 {
    let (mut at_low, mut at_high) = (value(low), value(high));
    for _ in 0..50 {
        if at_low <= 0.0 {
            return low;
        }
        if at_high >= 0.0 {
            return high;
        }
        let next = (low * at_high - high * at_low) / (at_high - at_low);
        let at_next = value(next);
        if at_next.abs() < 1e-9 {
            return next;
        }
        // The end that stays is halved in value, so that it can't stay for ever.
        if at_next > 0.0 {
            (low, at_low, at_high) = (next, at_next, at_high / 2.0);
        } else {
            (high, at_high, at_low) = (next, at_next, at_low / 2.0);
        }
    }
    f64::midpoint(low, high)
}

/// A sum of independent terms, analysed when the given fractions of its variance are in, against a constant multiple of
/// its standard deviation.
struct Boundary {
    /// Rising; the last is 1.
    fractions: Vec<f64>,
    /// Nodes and weights on 0 to 1. The sum's distribution is symmetric, so that half of it is enough.
    rule: Vec<(f64, f64)>,
}

impl Boundary {
    /// With nodes enough for multiples up to `widest`; `None` where that would be more than [`MOST_NODES`].
    fn new(fractions: Vec<f64>, widest: f64) -> Option<Self> {
        let steps = fractions.windows(2).map(|pair| pair[1] - pair[0]);
        let step = steps.fold(fractions[0], f64::min);
        // The narrowest normal curve that an analysis's range is integrated over decides: two nodes for each of its
        // standard deviations, and some for the start, leave an error below 1e-9.
        let nodes = 16 + (2.0 * widest / step.sqrt()).ceil() as usize;
        (nodes <= MOST_NODES).then(|| Self { fractions, rule: gauss_legendre(nodes) })
    }

    /// The chance of at least one crossing at `point` standard deviations.
    fn crossing(&self, point: f64) -> f64 {
        let first = self.fractions[0];
        let mut crossed = 2.0 * upper_tail(point);
        let mut edge = point * first.sqrt();
        // Node, and the chance that the sum has not crossed yet and lies about there, per node.
        let mut inside: Vec<(f64, f64)> = self.at_nodes(edge, |sum| normal_density(sum, first));
        for (index, pair) in self.fractions.windows(2).enumerate() {
            let (variance, next_edge) = (pair[1] - pair[0], point * pair[1].sqrt());
            let deviation = variance.sqrt();
            crossed += inside
                .iter()
                .map(|(sum, chance)| {
                    let out =
                        upper_tail((next_edge - sum) / deviation) + upper_tail((next_edge + sum) / deviation);
                    2.0 * chance * out
                })
                .sum::<f64>();
            edge = next_edge;
            if index + 2 < self.fractions.len() {
                inside = self.at_nodes(edge, |to| {
                    let reached = |(from, chance): &(f64, f64)| {
                        chance * (normal_density(to - from, variance) + normal_density(to + from, variance))
                    };
                    inside.iter().map(reached).sum()
                });
            }
        }
        crossed
    }

    /// The nodes on 0 to `edge`, each with the weighted density there.
    fn at_nodes(&self, edge: f64, density: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        self.rule.iter().map(|(node, weight)| (node * edge, weight * edge * density(node * edge))).collect()
    }
}

fn normal_density(value: f64, variance: f64) -> f64 {
    (-value * value / (2.0 * variance)).exp() / (2.0 * PI * variance).sqrt()
}

/// Nodes and weights of the Gauss–Legendre rule on 0 to 1, by Newton's method from Tricomi's starting points.
fn gauss_legendre(count: usize) -> Vec<(f64, f64)> {
    let size = count as f64;
    (0..count)
        .map(|index| {
            let mut node = (PI * (index as f64 + 0.75) / (size + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..8 {
                let (value, before) = legendre(count, node);
                slope = size * (node * value - before) / (node * node - 1.0);
                node -= value / slope;
            }
            ((1.0 - node) / 2.0, 1.0 / ((1.0 - node * node) * slope * slope))
        })
        .collect()
}

/// The Legendre polynomials of the given degree and of the one before it.
fn legendre(degree: usize, at: f64) -> (f64, f64) {
    let (mut before, mut value) = (0.0, 1.0);
    for index in 1..=degree {
        let index = index as f64;
        (before, value) = (value, ((2.0 * index - 1.0) * at * value - (index - 1.0) * before) / index);
    }
    (value, before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn even(analyses: u32) -> Vec<u32> {
        (1..=analyses).map(|analysis| analysis * 5).collect()
    }

    /// Jennison and Turnbull, table 2.1: Pocock's constants for evenly spaced analyses.
    #[test]
    fn the_published_constants() {
        let table: [(f64, &[f64]); 3] = [
            (0.1, &[1.645, 1.875, 1.992, 2.067, 2.122, 2.164, 2.197, 2.225]),
            (0.05, &[1.960, 2.178, 2.289, 2.361, 2.413, 2.453, 2.485, 2.512]),
            (0.01, &[2.576, 2.772, 2.873, 2.939, 2.986, 3.023, 3.053, 3.078]),
        ];
        for (alpha, constants) in table {
            for (analyses, constant) in (1..).zip(constants) {
                let point = two_sided_point(nominal_level(&even(analyses), alpha));
                assert!((point - constant).abs() <= 5.1e-4, "{alpha} {analyses}: {point} and {constant}");
            }
        }
    }

    /// Analyses at uneven counts, against SciPy's numerical integration of the multivariate normal distribution (Genz):
    /// `brentq` over `1 - multivariate_normal(cov=sqrt(min/max)).cdf([c] * K, lower_limit=[-c] * K) - alpha`.
    #[test]
    fn uneven_analyses_agree_with_scipy() {
        let integrated: [(&[u32], f64, f64); 5] = [
            (&[8, 12, 16, 24, 40], 0.05, 2.420_000),
            (&[6, 40], 0.05, 2.222_753),
            (&[10, 20, 21], 0.01, 2.813_887),
            (&[1, 2, 3, 4, 5, 6, 7, 8], 0.05, 2.512_337),
            (&[8, 12, 16, 24, 40], 0.0005, 3.842_035),
        ];
        for (analyses, alpha, point) in integrated {
            let ours = two_sided_point(nominal_level(analyses, alpha));
            assert!((ours - point).abs() < 1e-4, "{analyses:?} {alpha}: {ours} and {point}");
        }
    }

    #[test]
    fn finer_nodes_change_nothing() {
        for (analyses, point) in [(vec![6, 40], 2.1), (vec![8, 12, 16, 24, 40], 3.6), (vec![20, 39, 40], 2.3)]
        {
            let last = f64::from(analyses[analyses.len() - 1]);
            let fractions: Vec<f64> = analyses.iter().map(|count| f64::from(*count) / last).collect();
            let mut boundary = Boundary::new(fractions, 4.3).unwrap();
            let crossing = boundary.crossing(point);
            boundary.rule = gauss_legendre(2 * boundary.rule.len());
            assert!((boundary.crossing(point) / crossing - 1.0).abs() < 1e-8, "{analyses:?}");
        }
    }

    #[test]
    fn the_rule_is_exact_for_polynomials() {
        for count in [1, 2, 7, 40] {
            let rule = gauss_legendre(count);
            for power in 0..2 * count as i32 {
                let sum: f64 = rule.iter().map(|(node, weight)| weight * node.powi(power)).sum();
                assert!((sum - 1.0 / (f64::from(power) + 1.0)).abs() < 1e-13, "{count} {power}");
            }
        }
    }

    #[test]
    fn analyses_that_add_nothing_are_left_out() {
        let level = nominal_level(&[10, 20, 30], 0.05);
        assert!((nominal_level(&[0, 10, 20, 20, 15, 30], 0.05) - level).abs() < 1e-15);
        assert!((nominal_level(&[7], 0.05) - 0.05).abs() < 1e-15);
        assert!((nominal_level(&[], 0.05) - 0.05).abs() < 1e-15);
        assert!((nominal_level(&[99_999, 100_000], 0.05) - 0.025).abs() < 1e-15);
    }

    #[test]
    fn the_level_lies_between_bonferroni_and_one_analysis() {
        for analyses in [&[6, 40][..], &[8, 10, 12, 16, 20, 26, 32, 40], &[39, 40]] {
            let mut below = 0.0;
            for alpha in [0.0005, 0.002, 0.05 / 6.0, 0.0125, 0.025, 0.05] {
                let level = nominal_level(analyses, alpha);
                assert!(
                    level > alpha / analyses.len() as f64 && level < alpha && level > below,
                    "{analyses:?}"
                );
                below = level;
            }
        }
    }

    #[test]
    fn blocks_grow_with_the_square() {
        assert_eq!(blocks_for(0.04, 10, 0.02), Some(40));
        assert_eq!(blocks_for(0.03, 10, 0.02), Some(23));
        assert_eq!(blocks_for(0.02, 10, 0.02), Some(10));
        assert_eq!(blocks_for(0.0, 10, 0.02), Some(1));
        assert_eq!(
            [blocks_for(0.04, 10, 0.0), blocks_for(0.04, 0, 0.02), blocks_for(f64::NAN, 9, 0.1)],
            [None; 3]
        );
    }
}
