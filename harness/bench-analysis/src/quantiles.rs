//! A cell's quantile function of latency. Requests of several trials are never pooled: a trial that the machine
//! disturbed would make the tail by itself.

use super::observed::{median_of, quantile_us};
use bench_model::observation::Sample;

/// For each probability that all trials report, from 0 to 1, the median over trials of the trial's own quantile, in
/// microseconds.
pub(super) fn quantiles(samples: &[&Sample]) -> Vec<(f64, f64)> {
    let probabilities = samples.iter().take(1).flat_map(|first| &first.load.quantiles).map(|(of, _)| *of);
    probabilities
        .filter_map(|probability| {
            let values = samples.iter().map(|sample| quantile_us(sample, probability));
            Some((probability, median_of(values.collect::<Option<Vec<f64>>>()?)?.value))
        })
        .collect()
}

/// The requests of the trial that has the fewest with a latency: how far into the tail the quantiles of all trials
/// reach. Where requests are due at a rate, failed ones are left out, because some of them have no latency.
pub(super) fn fewest_requests(samples: &[&Sample]) -> Option<u64> {
    let requests = |sample: &&Sample| match sample.load.open {
        None => sample.load.succeeded + sample.load.failures(),
        Some(_) => sample.load.succeeded,
    };
    samples.iter().map(requests).min()
}
