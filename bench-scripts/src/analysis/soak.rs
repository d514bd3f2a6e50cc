//! A soak: whether a server's memory or its latency grows over windows at one rate, with an interval.

use serde::{Deserialize, Serialize};

use crate::observation::{Observation, Sample};
use crate::stats::{Estimate, median, theil_sen};

/// A change over the whole soak that does not matter, as a share of the level, from 0 to 1.
pub const MARGIN: f64 = 0.05;

/// What a soak showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SoakSummary {
    /// The windows that were measured, in order.
    pub windows: Vec<SoakWindow>,
    /// How long it was from the first window's middle to the last one's, in hours.
    pub hours: f64,
    /// Memory that the server held, in bytes.
    pub memory: Option<Trend>,
    /// The 99th percentile of latency, in microseconds.
    pub p99: Option<Trend>,
    /// Requests that failed, in all windows.
    pub failed: u64,
    /// Windows without a figure: when, and why.
    pub lost: Vec<String>,
}

/// One window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SoakWindow {
    /// Its number, from 1.
    pub number: u32,
    /// Its middle, in hours since the first window began.
    pub at_hours: f64,
    /// Memory that the server held, the median of its readings, in bytes.
    pub memory_bytes: Option<f64>,
    /// The 99th percentile of latency, in microseconds.
    pub p99_us: f64,
    /// Requests that succeeded, a second.
    pub rate: f64,
    /// Server CPU time for a request, in microseconds.
    pub cpu_us_per_request: Option<f64>,
}

/// How a figure changed over a soak.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// Its median over the windows, in its unit.
    pub level: f64,
    /// By how much it grows in an hour, in its unit.
    pub per_hour: Estimate,
    /// The same over the whole soak, as a share of the level.
    pub change: Estimate,
    /// What that says.
    pub course: Course,
}

/// What a trend says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Course {
    /// The whole interval lies within the margin.
    Flat,
    /// The whole interval lies above zero, and not within the margin.
    Growing,
    /// The whole interval lies below zero, and not within the margin.
    Falling,
    /// Too few windows, or an interval too wide to say.
    Inconclusive,
}

impl Course {
    fn of(change: Estimate) -> Self {
        match change.interval {
            Some((low, high)) if low >= -MARGIN && high <= MARGIN => Self::Flat,
            Some((low, _)) if low > 0.0 => Self::Growing,
            Some((_, high)) if high < 0.0 => Self::Falling,
            _ => Self::Inconclusive,
        }
    }

    /// In a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Growing => "growing",
            Self::Falling => "falling",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// The trend of points of hours and values; `None` where there are fewer than two.
pub fn trend(points: &[(f64, f64)]) -> Option<Trend> {
    let level = median(&points.iter().map(|(_, value)| *value).collect::<Vec<_>>())?.value;
    let per_hour = theil_sen(points)?;
    let hours = hours(points.iter().map(|(at, _)| *at));
    let change = per_hour.map(|slope| slope * hours / level);
    Some(Trend { level, per_hour, change, course: Course::of(change) })
}

/// From the first moment to the last.
fn hours(at: impl Iterator<Item = f64> + Clone) -> f64 {
    at.clone().fold(f64::NEG_INFINITY, f64::max) - at.fold(f64::INFINITY, f64::min)
}

/// What the windows of a soak showed. Their times follow from how long each took.
pub fn soaked(observations: &[Observation]) -> SoakSummary {
    let (mut windows, mut lost, mut failed, mut began_s) = (Vec::new(), Vec::new(), 0, 0.0);
    for observation in observations {
        let number = observation.trial.number;
        let at_hours = (began_s + observation.took_s / 2.0) / 3_600.0;
        began_s += observation.took_s;
        match observation.outcome.sample() {
            Some(sample) => {
                failed += sample.load.failures();
                windows.push(window(number, at_hours, sample));
            }
            None => {
                lost.push(format!("window {number}: {}", observation.outcome.failure().unwrap_or_default()));
            }
        }
    }
    let of = |value: fn(&SoakWindow) -> Option<f64>| -> Vec<(f64, f64)> {
        windows.iter().filter_map(|window| Some((window.at_hours, value(window)?))).collect()
    };
    SoakSummary {
        hours: if windows.is_empty() { 0.0 } else { hours(windows.iter().map(|window| window.at_hours)) },
        memory: trend(&of(|window| window.memory_bytes)),
        p99: trend(&of(|window| Some(window.p99_us))),
        windows,
        failed,
        lost,
    }
}

fn window(number: u32, at_hours: f64, sample: &Sample) -> SoakWindow {
    let memory: Vec<f64> =
        sample.resources.iter().filter_map(|moment| Some(moment.memory_bytes? as f64)).collect();
    SoakWindow {
        number,
        at_hours,
        memory_bytes: median(&memory).map(|memory| memory.value),
        p99_us: sample.load.latency_us.p99,
        rate: sample.load.succeeded as f64 / sample.load.time_taken_s,
        cpu_us_per_request: sample.cpu_us_per_request(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half an hour of minutes: a level of 100 with an even change over all, and a saw tooth of this height.
    fn course(change: f64, tooth: f64) -> Course {
        let value = |minute: f64| 100.0 + change * minute / 29.0 + tooth * ((minute * 7.0) % 5.0 - 2.0) / 2.0;
        let points: Vec<(f64, f64)> =
            (0..30).map(|at| (f64::from(at) / 60.0, value(f64::from(at)))).collect();
        trend(&points).unwrap().course
    }

    #[test]
    fn growth_is_named_and_flatness_too() {
        assert_eq!(course(0.0, 1.0), Course::Flat);
        assert_eq!(course(2.0, 1.0), Course::Flat, "a change within the margin");
        assert_eq!(course(30.0, 2.0), Course::Growing);
        assert_eq!(course(-30.0, 2.0), Course::Falling);
        assert_eq!(course(4.0, 40.0), Course::Inconclusive);
    }

    #[test]
    fn a_short_soak_says_nothing_and_a_constant_is_flat() {
        let points: Vec<(f64, f64)> = (0..7).map(|at| (f64::from(at), f64::from(at))).collect();
        assert_eq!(trend(&points).unwrap().course, Course::Inconclusive);
        let constant: Vec<(f64, f64)> = (0..30).map(|at| (f64::from(at), 5.0)).collect();
        assert_eq!(trend(&constant).unwrap().course, Course::Flat);
    }
}
