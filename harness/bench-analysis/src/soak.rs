//! A soak: whether a server's memory and latency stay where they are through one long window.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::observed::valid;
use bench_model::config::Campaign;
use bench_model::load::Bin;
use bench_model::observation::Observation;
use bench_stats::{CONFIDENCE, Estimate, line_residual, slope};
use bench_system::probe::resources::ResourceSample;

/// What is left out at the beginning, as a share of the window: connections, caches and allocators settle there.
const SETTLING: f64 = 0.1;

/// Parts of the rest whose means a line is fitted to. Neighbouring samples depend on each other; the means of long
/// parts hardly do.
const PARTS: usize = 12;

/// A change through the window of less than this share of the level is flat: memory that a leak would pass in any case,
/// and a percentile that chance moves more.
const FLAT_MEMORY: f64 = 0.02;
/// See [`FLAT_MEMORY`].
const FLAT_LATENCY: f64 = 0.2;

/// A server in a long window.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Soak {
    /// The server.
    pub server: String,
    /// The workload.
    pub workload: String,
    /// Requests a second.
    pub rate: u32,
    /// The window, in minutes.
    pub minutes: f64,
    /// Requests that failed.
    pub failed: u64,
    /// Memory, in bytes; `None` where it is not known.
    pub memory: Option<Drift>,
    /// The 99th percentile of latency in each part, in microseconds.
    pub p99: Option<Drift>,
}

/// How a figure changed through a window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Its mean.
    pub level: f64,
    /// Its change in an hour, by a line through the means of the window's parts, with the 95 % interval of Student's t.
    pub per_hour: Estimate,
    /// What that says.
    pub course: Course,
}

/// What a change says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Course {
    /// The whole interval is too small to matter.
    Flat,
    /// The whole interval is a growth by more than that.
    Growing,
    /// The whole interval is a fall by more than that.
    Falling,
    /// A single step fits the window's parts better than a line does: nothing says that it goes on.
    Step,
    /// None of these can be said.
    Inconclusive,
}

/// The soaks of a run, without those that the machine or other processes disturbed; none of any other campaign.
pub fn soaks(campaign: &Campaign, observations: &[Observation]) -> Vec<Soak> {
    if !campaign.soak {
        return Vec::new();
    }
    let of = |observation: &Observation| {
        let sample = valid(observation)?;
        let trial = &observation.trial;
        let window_s = campaign.window_ms as f64 / 1e3;
        // Seconds with bytes, and with microseconds.
        let memory = |at: &ResourceSample| Some((at.t_ms as f64 / 1e3, at.memory_bytes? as f64));
        let memory: Vec<(f64, f64)> = sample.resources.iter().filter_map(memory).collect();
        let p99 = |bin: &Bin| (f64::from(bin.from_ms) / 1e3, bin.p99_us);
        let p99: Vec<(f64, f64)> = sample.load.series.iter().map(p99).collect();
        Some(Soak {
            server: trial.server.clone(),
            workload: trial.workload.clone(),
            rate: trial.rate?,
            minutes: window_s / 60.0,
            failed: sample.load.failures(),
            memory: drift(&memory, window_s, FLAT_MEMORY),
            p99: drift(&p99, window_s, FLAT_LATENCY),
        })
    };
    observations.iter().filter_map(of).collect()
}

/// The change of a figure through a window. `None` where a part of it has no point.
fn drift(points: &[(f64, f64)], window_s: f64, flat: f64) -> Option<Drift> {
    let (begin, length) = (window_s * SETTLING, window_s * (1.0 - SETTLING));
    let part = |i: usize| {
        let from = begin + length * i as f64 / PARTS as f64;
        let to = from + length / PARTS as f64;
        let inside: Vec<_> = points.iter().filter(|(t, _)| (from..to).contains(t)).collect();
        let mean = |of: fn(&(f64, f64)) -> f64| {
            inside.iter().map(|point| of(point)).sum::<f64>() / inside.len() as f64
        };
        (!inside.is_empty()).then(|| (mean(|point| point.0), mean(|point| point.1)))
    };
    let parts: Vec<(f64, f64)> = (0..PARTS).map(part).collect::<Option<_>>()?;
    let level = parts.iter().map(|(_, value)| value).sum::<f64>() / PARTS as f64;
    let per_s = slope(&parts, 1.0 - CONFIDENCE)?;
    let (low, high) = per_s.interval?;
    // Through the whole window, as a share of the level.
    let [low, high] = [low, high].map(|per_s| per_s * window_s / level);
    let course = if -flat < low && high < flat {
        Course::Flat
    } else if (low > flat || high < -flat) && is_step(&parts) {
        Course::Step
    } else if low > flat {
        Course::Growing
    } else if high < -flat {
        Course::Falling
    } else {
        Course::Inconclusive
    };
    Some(Drift { level, per_hour: per_s.map(|per_s| per_s * 3_600.0), course })
}

/// Whether two levels, one after the other, fit better than a line: their points are nearer to them, by the sum of
/// squares.
fn is_step(parts: &[(f64, f64)]) -> bool {
    let about_mean = |part: &[(f64, f64)]| {
        let mean = part.iter().map(|(_, y)| y).sum::<f64>() / part.len() as f64;
        part.iter().map(|(_, y)| (y - mean).powi(2)).sum::<f64>()
    };
    // Two points on each side at least: a last point that is off is no level.
    let of_step = (2..=parts.len().saturating_sub(2))
        .map(|at| about_mean(&parts[..at]) + about_mean(&parts[at..]))
        .reduce(f64::min);
    of_step.zip(line_residual(parts)).is_some_and(|(step, line)| step < line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW_S: f64 = 1_800.0;

    /// A reading a second, with noise that is the same each time.
    fn course(value: impl Fn(f64) -> f64, noise: f64) -> Course {
        let points: Vec<(f64, f64)> = (0..1_800)
            .map(|t| (f64::from(t), value(f64::from(t)) + noise * (f64::from(t * 7_919 % 997) / 997.0 - 0.5)))
            .collect();
        drift(&points, WINDOW_S, FLAT_MEMORY).unwrap().course
    }

    #[test]
    fn a_level_is_flat_a_leak_grows_and_noise_is_neither() {
        assert_eq!(course(|_| 100.0, 1.0), Course::Flat);
        assert_eq!(course(|t| 100.0 + t / 100.0, 1.0), Course::Growing);
        assert_eq!(course(|t| 100.0 - t / 100.0, 1.0), Course::Falling);
        assert_eq!(course(|t| 100.0 + 40.0 * (t / 130.0).sin(), 1.0), Course::Inconclusive);
    }

    #[test]
    fn a_single_step_does_not_grow() {
        for at in [400.0, 900.0, 1_500.0] {
            assert_eq!(course(|t| if t < at { 100.0 } else { 140.0 }, 1.0), Course::Step, "{at}");
        }
        assert_eq!(course(|t| 100.0 + 10.0 * (t / 300.0).floor(), 1.0), Course::Growing, "six steps");
    }

    #[test]
    fn what_settles_in_the_beginning_is_no_leak() {
        assert_eq!(course(|t| if t < 150.0 { 20.0 + t / 2.0 } else { 95.0 }, 0.5), Course::Flat);
    }

    #[test]
    fn the_change_is_given_for_an_hour() {
        let points: Vec<(f64, f64)> =
            (0..1_800).map(|t| (f64::from(t), 50.0 + f64::from(t) / 60.0)).collect();
        let found = drift(&points, WINDOW_S, FLAT_MEMORY).unwrap();
        assert!((found.per_hour.value - 60.0).abs() < 1e-6, "{found:?}");
        assert_eq!(drift(&points[..200], WINDOW_S, FLAT_MEMORY), None, "a part without a point");
    }
}
