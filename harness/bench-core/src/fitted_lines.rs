//! Straight lines through measured points: a fixed cost, and one for each unit.
//!
//! A line for each block, so that what slows one block slows all of its points; then the medians over the blocks. Least
//! squares with weights of one over the square of the value, so that every point counts by its relative error.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::observed::median_of;
use crate::stats::{Estimate, Weighted};

/// A straight line through a server's points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedLine {
    /// Medians over blocks, by rising place.
    pub points: Vec<LinePoint>,
    /// The line's value at 0.
    pub intercept: Option<Estimate>,
    /// How much it rises for each unit.
    pub slope: Option<Estimate>,
    /// The largest relative distance of the line from a point.
    pub misfit: Option<f64>,
    /// Blocks that have a line.
    pub blocks: usize,
}

/// A point of a [`FittedLine`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinePoint {
    /// Where it is.
    pub x: f64,
    /// Its median over blocks.
    pub y: Estimate,
}

impl FittedLine {
    /// Through the points of each block, place and value.
    pub(super) fn new(blocks: &BTreeMap<u32, Vec<(f64, f64)>>) -> Self {
        let weighted = |(x, y): &(f64, f64)| Weighted { x: *x, y: *y, weight: 1.0 / (y * y) };
        let fit =
            |points: &Vec<(f64, f64)>| crate::stats::line(&points.iter().map(weighted).collect::<Vec<_>>());
        let fits: Vec<crate::stats::Line> = blocks.values().filter_map(fit).collect();
        let intercept = median_of(fits.iter().map(|fit| fit.intercept));
        let slope = median_of(fits.iter().map(|fit| fit.slope));
        let points = points(blocks);
        let misfit = intercept.zip(slope).and_then(|(intercept, slope)| {
            let distance =
                |point: &LinePoint| ((intercept.value + slope.value * point.x) / point.y.value - 1.0).abs();
            points.iter().map(distance).max_by(f64::total_cmp)
        });
        Self { points, intercept, slope, misfit, blocks: fits.len() }
    }
}

fn points(blocks: &BTreeMap<u32, Vec<(f64, f64)>>) -> Vec<LinePoint> {
    let mut all: Vec<(f64, f64)> = blocks.values().flatten().copied().collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let of_place = all.chunk_by(|a, b| a.0 == b.0);
    let point = |measured: &[(f64, f64)]| {
        let y = median_of(measured.iter().map(|(_, y)| *y))?;
        Some(LinePoint { x: measured.first()?.0, y })
    };
    of_place.filter_map(point).collect()
}
