//! What a background load that ends within the window does to the measured requests: how slow they get while it runs,
//! and how long after it p99 is back where it was.

use super::Sample;
use crate::load::{Bin, width_ms};

/// How long p99 must stay at its old level to be back, in milliseconds.
const STAYS_MS: f64 = 1_000.0;

impl Sample {
    /// The highest p99 of any part of the window while the background load ran, in microseconds.
    pub(super) fn background_peak_us(&self) -> Option<f64> {
        let (width_ms, (began, ended)) = (width_ms(&self.load.series)?, self.background_ms?);
        let is_in = |bin: &&Bin| from(bin) >= began as f64 && from(bin) + width_ms <= ended as f64;
        self.load.series.iter().filter(is_in).map(|bin| bin.p99_us).max_by(f64::total_cmp)
    }

    /// How long after the background load's end p99 was no higher than at any time before it, and stayed so, in
    /// microseconds. Where it never was, the whole rest of the window: a lower bound. `None` where the window has no
    /// part before that load, or none after it.
    pub(super) fn back_after_us(&self) -> Option<f64> {
        let series = &self.load.series;
        let (width_ms, (began, ended)) = (width_ms(series)?, self.background_ms?);
        let (began, ended) = (began as f64, ended as f64);
        // The first part has the making of connections.
        let before = series.iter().skip(1).filter(|bin| from(bin) + width_ms <= began);
        let old_level = before.map(|bin| bin.p99_us).max_by(f64::total_cmp)?;
        let after: Vec<&Bin> = series.iter().filter(|bin| from(bin) >= ended).collect();
        let stays = (STAYS_MS / width_ms).ceil() as usize;
        let is_back = |bins: &&[&Bin]| {
            let lasts_ms = from(bins[bins.len() - 1]) - from(bins[0]) + width_ms;
            // Parts without an answer are missing, and such a time is none at the old level.
            lasts_ms < STAYS_MS + width_ms && bins.iter().all(|bin| bin.p99_us <= old_level)
        };
        let back = after.windows(stays.max(1)).find(is_back).map(|bins| from(bins[0]));
        let last = || after.last().map(|bin| from(bin) + width_ms);
        Some((back.or_else(last)? - ended) * 1e3)
    }
}

fn from(bin: &Bin) -> f64 {
    f64::from(bin.from_ms)
}
