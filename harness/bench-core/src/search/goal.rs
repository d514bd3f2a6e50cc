//! When a rate counts as sustained: the classification of a load by all its trials, and its conditional throughput, as
//! RFC 9971 has them in its appendices A and B.
//!
//! Whether one trial met the service level is decided in `judge`, and which rate is tried next in `search`.

/// What rounding may add to a sum of durations, in milliseconds. A share such as 20 % is no binary fraction.
const ROUNDING_MS: f64 = 1e-6;

/// What must be seen of a rate, in the words of RFC 9971.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Goal Final Trial Duration: from this length on a trial has full length, in milliseconds.
    pub final_trial_ms: u64,
    /// Goal Duration Sum: how much time in trials of full length decides, in milliseconds.
    pub duration_sum_ms: u64,
    /// Goal Exceed Ratio: the share of that time that may lie in trials which missed the level; at least 0 and below 1.
    pub exceed_ratio: f64,
}

/// A trial and what it showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tried {
    /// Its window, in milliseconds.
    pub duration_ms: u64,
    /// Whether it met the service level.
    pub passed: bool,
    /// The share of its requests that missed the level, from 0 to 1. That of a trial that passed need not be 0.
    pub missed: f64,
}

/// What the trials of a rate say of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// It is sustained: no trial that could still come would change that.
    Lower,
    /// It is not.
    Upper,
    /// More trials are needed.
    Undecided,
}

impl Goal {
    /// Classifies a rate by all its trials. Short trials count as far as they failed: they may make a rate an upper
    /// bound, and those that passed balance others, but they never make it a lower bound.
    pub fn classify(&self, trials: &[Tried]) -> Class {
        let sum = |full: bool, passed: bool| -> f64 {
            let of_kind = |tried: &&Tried| self.is_full(tried) == full && tried.passed == passed;
            trials.iter().filter(of_kind).map(|tried| tried.duration_ms as f64).sum()
        };
        let balancing = sum(false, true) * self.exceed_ratio / (1.0 - self.exceed_ratio);
        let high = sum(true, false) + (sum(false, false) - balancing).max(0.0);
        let low = sum(true, true);
        let whole = (high + low).max(self.duration_sum_ms as f64);
        let tolerated = whole * self.exceed_ratio + ROUNDING_MS;
        match (whole - low <= tolerated, high <= tolerated) {
            (true, _) => Class::Lower,
            (false, false) => Class::Upper,
            (false, true) => Class::Undecided,
        }
    }

    /// The conditional throughput: the rate of those requests that met the level, in the trial of full length that
    /// stands where the tolerated share of the time begins when trials are ordered from the best. `None` where there is
    /// no trial.
    pub fn conditional_rate(&self, rate: u32, trials: &[Tried]) -> Option<f64> {
        trials.first()?;
        let mut full: Vec<&Tried> = trials.iter().filter(|tried| self.is_full(tried)).collect();
        full.sort_by(|a, b| b.passed.cmp(&a.passed).then(a.missed.total_cmp(&b.missed)));
        let full_ms: u64 = full.iter().map(|tried| tried.duration_ms).sum();
        let mut remaining = full_ms.max(self.duration_sum_ms) as f64 * (1.0 - self.exceed_ratio);
        let mut missed = 1.0;
        for tried in full {
            if remaining <= ROUNDING_MS {
                break;
            }
            missed = tried.missed;
            remaining -= tried.duration_ms as f64;
        }
        if remaining > ROUNDING_MS {
            missed = 1.0;
        }
        Some(f64::from(rate) * (1.0 - missed))
    }

    /// Whether a trial has full length.
    pub const fn is_full(&self, tried: &Tried) -> bool {
        tried.duration_ms >= self.final_trial_ms
    }
}
