//! A cell's quantile function of latency. Requests of several trials are never pooled: a trial that the machine disturbed would
//! make the tail by itself.

use crate::observation::Sample;
use crate::stats::median;

/// For each probability that all trials tell, from 0 to 1, the median over trials of the trial's own quantile, in microseconds.
/// Empty where a trial tells none.
pub(super) fn quantiles(samples: &[&Sample]) -> Vec<(f64, f64)> {
    let Some((first, _)) = samples.split_first() else { return Vec::new() };
    let of = |sample: &Sample, probability: f64| {
        let found = sample.load.quantiles.iter().find(|(of, _)| *of == probability);
        found.map(|(_, latency_us)| *latency_us)
    };
    let probabilities = first.load.quantiles.iter().map(|(probability, _)| *probability);
    probabilities
        .filter_map(|probability| {
            let values: Option<Vec<f64>> = samples.iter().map(|sample| of(sample, probability)).collect();
            Some((probability, median(&values?)?.value))
        })
        .collect()
}
