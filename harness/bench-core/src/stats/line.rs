//! A straight line by weighted least squares.

use super::{Estimate, student};

/// The fewest points that give a line: two would always lie on it.
const LEAST_POINTS: usize = 3;

/// A straight line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Its value at 0.
    pub intercept: f64,
    /// How much it rises for each unit.
    pub slope: f64,
}

/// A point of a line, and how much it counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weighted {
    /// Where it is.
    pub x: f64,
    /// Its value.
    pub y: f64,
    /// Its weight; only the ratios of weights matter.
    pub weight: f64,
}

/// The line through points. `None` where there are fewer than three, or all are at the same place.
pub fn line(points: &[Weighted]) -> Option<Line> {
    if points.len() < LEAST_POINTS {
        return None;
    }
    let sum = |term: &dyn Fn(&Weighted) -> f64| points.iter().map(term).sum::<f64>();
    let weight = sum(&|point| point.weight);
    let (x, y) =
        (sum(&|point| point.weight * point.x) / weight, sum(&|point| point.weight * point.y) / weight);
    let spread = sum(&|point| point.weight * (point.x - x) * (point.x - x));
    let common = sum(&|point| point.weight * (point.x - x) * (point.y - y));
    let slope = common / spread;
    slope.is_finite().then_some(Line { intercept: y - slope * x, slope })
}

/// The slope of a line through points that count alike, and the interval that holds the true one with a chance of `1 -
/// level`, where the points' distances from it are independent and normal: by Student's t with two degrees of freedom
/// fewer than points (Draper and Smith, Applied Regression Analysis, 3rd ed., 1.4). `None` as of [`line`].
pub fn slope(points: &[(f64, f64)], level: f64) -> Option<Estimate> {
    let Line { slope, .. } = line(&alike(points))?;
    let count = points.len() as f64;
    let mean = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|(x, _)| (x - mean).powi(2)).sum();
    let rest = line_residual(points)?;
    let degrees = points.len() - 2;
    let half = student::two_sided_point(level, degrees) * (rest / degrees as f64 / spread).sqrt();
    Some(Estimate { value: slope, interval: Some((slope - half, slope + half)) })
}

/// The sum of the squares of points' distances from the line through them, in the square of y's unit. `None` as of
/// [`line`].
pub fn line_residual(points: &[(f64, f64)]) -> Option<f64> {
    let Line { intercept, slope } = line(&alike(points))?;
    Some(points.iter().map(|(x, y)| (y - intercept - slope * x).powi(2)).sum())
}

/// Points that count alike.
fn alike(points: &[(f64, f64)]) -> Vec<Weighted> {
    points.iter().map(|(x, y)| Weighted { x: *x, y: *y, weight: 1.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the formula's terms, worked out apart, with `scipy.stats.t.ppf(0.975, 3)`.
    #[test]
    fn the_slope_s_interval_is_students() {
        let points = [(1.0, 2.1), (2.0, 3.9), (3.0, 6.2), (4.0, 7.8), (5.0, 10.1)];
        let Estimate { value, interval } = slope(&points, 0.05).unwrap();
        let (low, high) = interval.unwrap();
        assert!(
            (value - 1.99).abs() < 1e-9
                && (low - 1.79993929).abs() < 1e-6
                && (high - 2.18006071).abs() < 1e-6,
            "{low} {high}"
        );
        assert_eq!(slope(&points[..2], 0.05), None);
    }

    fn at(x: f64, y: f64, weight: f64) -> Weighted {
        Weighted { x, y, weight }
    }

    #[test]
    fn points_on_a_line_give_it_whatever_their_weights() {
        let points = [(0.0, 1.0), (10.0, 0.5), (40.0, 7.0)].map(|(x, weight)| at(x, 3.0 + 2.0 * x, weight));
        let line = line(&points).unwrap();
        assert!((line.intercept - 3.0).abs() < 1e-9 && (line.slope - 2.0).abs() < 1e-9, "{line:?}");
    }

    #[test]
    fn a_heavy_point_draws_the_line() {
        let slope =
            |weight| line(&[at(0.0, 0.0, 1.0), at(1.0, 1.0, 1.0), at(2.0, 6.0, weight)]).unwrap().slope;
        assert!((slope(1.0) - 3.0).abs() < 1e-9, "ordinary least squares");
        assert!(slope(100.0) > slope(1.0) && slope(0.01) < slope(1.0));
    }

    #[test]
    fn too_few_points_and_points_at_one_place_give_none() {
        assert_eq!(line(&[at(0.0, 1.0, 1.0), at(1.0, 2.0, 1.0)]), None);
        assert_eq!(line(&[at(1.0, 1.0, 1.0), at(1.0, 2.0, 1.0), at(1.0, 3.0, 1.0)]), None);
    }
}
