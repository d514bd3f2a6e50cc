//! The loads that a search may try.

/// From the lowest to the highest, evenly (by ratio) and so close that two neighbours are an answer: `width` is how far
/// a load may lie below the next one, as a share of that one.
pub fn grid(from: u32, most: u32, width: f64) -> Vec<u32> {
    let from = from.min(most);
    let ratio = f64::from(most) / f64::from(from);
    // A hair less, because a whole number of widths may come out as a little more.
    let steps = (ratio.ln() / -(1.0 - width).ln() - 1e-9).ceil().max(0.0);
    let load = |step: u32| (f64::from(from) * ratio.powf(f64::from(step) / steps)).round() as u32;
    let mut grid: Vec<u32> = (0..steps as u32).map(load).collect();
    grid.push(most);
    grid.dedup();
    grid
}

/// Steps of a grid from a load to its double.
pub(super) fn doubling(width: f64) -> usize {
    (-std::f64::consts::LN_2 / (1.0 - width).ln()).round().max(1.0) as usize
}

/// The place of a load, or of the highest below it.
pub(super) fn place_of(load: u32, grid: &[u32]) -> usize {
    grid.partition_point(|other| *other <= load).saturating_sub(1)
}
