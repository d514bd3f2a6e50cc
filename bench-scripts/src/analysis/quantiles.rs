//! A cell's quantile function of latency. Requests of several trials are never pooled: a trial that the machine disturbed would
//! make the tail by itself.

use super::observed::{median_of, quantile_us};
use crate::observation::Sample;

/// For each probability that all trials report, from 0 to 1, the median over trials of the trial's own quantile, in microseconds.
pub(super) fn quantiles(samples: &[&Sample]) -> Vec<(f64, f64)> {
    let probabilities = samples.iter().take(1).flat_map(|first| &first.load.quantiles).map(|(of, _)| *of);
    probabilities
        .filter_map(|probability| {
            let values = samples.iter().map(|sample| quantile_us(sample, probability));
            Some((probability, median_of(values.collect::<Option<Vec<f64>>>()?)?.value))
        })
        .collect()
}
