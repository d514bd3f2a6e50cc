//! What the signed-rank and the Mann–Whitney analysis share: a rank statistic that counts points on one side of a
//! centre, and from it the estimate, the interval and the p-value. Where the points come from and their distribution is
//! in `paired` and `unpaired`.
//!
//! Source: Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed., 3.3 and 4.3.

use std::sync::Arc;

use super::{CONFIDENCE, Estimate};

/// Differences, paired or of every pair of two samples, with what their ranks say about their centre: points that
/// count, against any centre, to a rank statistic whose distribution under that centre is known. Takes memory for every
/// pair of values: meant for up to some hundreds of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// Values that it comes from.
    count: usize,
    /// The Walsh averages or the pairwise differences, rising.
    points: Vec<f64>,
    /// By count of points on the scarcer side: the two-sided chance of that count or fewer. As long as half of the
    /// points.
    two_sided: Arc<[f64]>,
}

impl Ranked {
    /// From at least one finite point and the two-sided chance for each count below half of the points.
    pub(super) fn new(count: usize, mut points: Vec<f64>, two_sided: Arc<[f64]>) -> Self {
        points.sort_unstable_by(f64::total_cmp);
        Self { count, points, two_sided }
    }

    /// How many differences there are; of two samples, as many values in each as would give an interval as wide: the
    /// harmonic mean.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How many counts are at most half of `points`: the length that the two-sided chances must have.
    pub(super) fn reach(points: usize) -> usize {
        points.div_ceil(2)
    }

    /// The Hodges–Lehmann estimate of the centre of the differences: the median of the points, in the unit of the
    /// values.
    pub fn estimate(&self) -> f64 {
        super::middle(&self.points).unwrap_or(f64::NAN)
    }

    /// The closed interval that holds the centre with a chance of at least `1 - level` (two-sided; 0.05 for 95 %): all
    /// centres that are not rejected. `None` where there are too few values for it (of paired differences, below
    /// [`least_count`](super::least_count)), and for a level outside of 0 to 1.
    pub fn interval(&self, level: f64) -> Option<(f64, f64)> {
        if !(level > 0.0 && level < 1.0) {
            return None;
        }
        let rank = self.two_sided.partition_point(|chance| *chance <= level).checked_sub(1)?;
        Some((self.points[rank], self.points[self.points.len() - 1 - rank]))
    }

    /// The estimate with its interval at [`CONFIDENCE`].
    pub fn at_confidence(&self) -> Estimate {
        Estimate { value: self.estimate(), interval: self.interval(1.0 - CONFIDENCE) }
    }

    /// The two-sided p-value of "the centre is `centre`". It is at most `level` exactly where `interval(level)` exists
    /// and leaves the centre out. A point at the centre counts on both sides: whichever way a tie were broken, the
    /// p-value would be no larger. A centre that is not a number is never rejected.
    pub fn p_value(&self, centre: f64) -> f64 {
        if centre.is_nan() {
            return 1.0;
        }
        let not_above = self.points.partition_point(|point| *point <= centre);
        let not_below = self.points.len() - self.points.partition_point(|point| *point < centre);
        self.two_sided.get(not_above.min(not_below)).copied().unwrap_or(1.0)
    }
}
