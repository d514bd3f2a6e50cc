//! The runs of one model of processor, as one.

use serde::{Deserialize, Serialize};

use super::RunRatio;
use bench_stats::{Estimate, RandomEffects, RunEstimate, random_effects};

/// What several runs of one model of processor show together. Spreads are relative: 0.05 is 5 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pooled {
    /// Runs that were pooled.
    pub runs: usize,
    /// The mean ratio over runs, with its interval.
    pub ratio: Estimate,
    /// The standard error of the mean's logarithm.
    pub log_standard_error: f64,
    /// The interval for the true ratio of a new run on this model; none below three runs.
    pub prediction: Option<(f64, f64)>,
    /// The typical standard error within a run.
    pub within: f64,
    /// The standard deviation between runs.
    pub between: f64,
    /// The share of the variance that lies between runs, from 0 to 1.
    pub i_squared: f64,
}

impl Pooled {
    pub(super) fn new(runs: usize, logs: RandomEffects) -> Self {
        Self {
            runs,
            ratio: logs.mean.map(f64::exp),
            log_standard_error: logs.standard_error,
            prediction: logs.prediction.map(|(low, high)| (low.exp(), high.exp())),
            within: logs.within.exp_m1(),
            between: logs.between.exp_m1(),
            i_squared: logs.i_squared,
        }
    }
}

/// A ratio of one setting from every run on one model of processor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The processor, as readers know it.
    pub processor: String,
    /// Each run's ratio, in the order of the runs.
    pub runs: Vec<RunRatio>,
    /// All of them as one; none where fewer than two runs have an interval.
    pub pooled: Option<Pooled>,
}

impl Model {
    pub(super) fn new(processor: String, runs: Vec<RunRatio>) -> Self {
        let estimates: Vec<RunEstimate> = runs.iter().filter_map(RunRatio::log_estimate).collect();
        let pooled = random_effects(&estimates).map(|logs| Pooled::new(estimates.len(), logs));
        Self { processor, runs, pooled }
    }

    /// The mean of its runs with its interval; of a single run, that run's.
    pub fn ratio(&self) -> Estimate {
        let known = self.runs.iter().find(|run| run.log_standard_error.is_some()).or(self.runs.first());
        let single = || known.map_or(Estimate { value: f64::NAN, interval: None }, |run| run.ratio);
        self.pooled.map_or_else(single, |pooled| pooled.ratio)
    }

    /// What one more run on it may give: the prediction interval where there is one, else the interval of a single run.
    pub fn next_run(&self) -> Estimate {
        let mean = self.ratio();
        let prediction = self.pooled.and_then(|pooled| pooled.prediction);
        Estimate { interval: prediction.or(mean.interval), ..mean }
    }

    pub(super) fn log_estimate(&self) -> Option<RunEstimate> {
        match self.pooled {
            Some(Pooled { ratio, log_standard_error: standard_error, .. }) => {
                Some(RunEstimate { value: ratio.value.ln(), standard_error })
            }
            None => self.runs.iter().find_map(RunRatio::log_estimate),
        }
    }
}
