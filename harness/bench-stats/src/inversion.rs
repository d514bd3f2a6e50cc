//! What the signed-rank and the Mann–Whitney analysis share: a rank statistic that counts points on one side of a
//! centre, and from it the estimate, the interval and the p-value. Knows neither where the points come from nor their
//! distribution.
//!
//! Source: Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed., 3.3 and 4.3.

use std::sync::Arc;

/// Points that count, against any centre, to a rank statistic whose distribution under that centre is known.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Inversion {
    /// The Walsh averages or the pairwise differences, rising.
    points: Vec<f64>,
    /// By count of points on the scarcer side: the two-sided chance of that count or fewer. As long as half of the
    /// points.
    two_sided: Arc<[f64]>,
}

impl Inversion {
    /// From at least one finite point and the two-sided chance for each count below half of the points.
    pub(super) fn new(mut points: Vec<f64>, two_sided: Arc<[f64]>) -> Self {
        points.sort_unstable_by(f64::total_cmp);
        Self { points, two_sided }
    }

    /// How many counts are at most half of `points`: the length that the two-sided chances must have.
    pub(super) fn reach(points: usize) -> usize {
        points.div_ceil(2)
    }

    /// The median of the points.
    pub(super) fn estimate(&self) -> f64 {
        super::middle(&self.points).unwrap_or(f64::NAN)
    }

    /// All centres that are not rejected at `level`.
    pub(super) fn interval(&self, level: f64) -> Option<(f64, f64)> {
        if !(level > 0.0 && level < 1.0) {
            return None;
        }
        let rank = self.two_sided.partition_point(|chance| *chance <= level).checked_sub(1)?;
        Some((self.points[rank], self.points[self.points.len() - 1 - rank]))
    }

    /// The two-sided p-value of a centre. A point at the centre counts on both sides: whichever way a tie were broken,
    /// the p-value would be no larger.
    pub(super) fn p_value(&self, centre: f64) -> f64 {
        if centre.is_nan() {
            return 1.0;
        }
        let not_above = self.points.partition_point(|point| *point <= centre);
        let not_below = self.points.len() - self.points.partition_point(|point| *point < centre);
        self.two_sided.get(not_above.min(not_below)).copied().unwrap_or(1.0)
    }
}
