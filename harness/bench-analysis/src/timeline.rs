//! A cell's resources through the window: the median trial at moments that all trials share. Sums over a window are
//! figures.
//!
//! Trials are read at times of their own: a reading is late where the machine is busy, and left out where it would cost
//! too much. So each trial is brought to the grid by straight lines between its readings. Counts are interpolated
//! before their differences are taken, so that what was counted between two readings is neither lost nor counted twice.
//! The grid ends with the campaign's window: the load tool's own end, in which the server idles, is not in it.

use serde::{Deserialize, Serialize};

use super::observed::median_of;
use bench_model::observation::Sample;
use bench_system::probe::resources::ResourceSample;

/// The most moments of a course.
const MOST_MOMENTS: f64 = 50.0;

/// One moment of a server: medians over trials. A rate is over the time since the moment before, or since the window's
/// start for the first. What the machine does not report is left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// When, in milliseconds since the window's start.
    pub t_ms: f64,
    /// Processors used. The median of a sum: not the sum of the two medians below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<f64>,
    /// Processors used by the program itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_cores: Option<f64>,
    /// Processors used by the kernel on its behalf. The kernel divides time between the two by ticks of some
    /// milliseconds, so this is coarse where `cores` is exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_cores: Option<f64>,
    /// Memory held (resident), in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<f64>,
    /// Threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<f64>,
    /// How often threads gave a processor up to wait, a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voluntary_switches_per_s: Option<f64>,
    /// How often threads were taken off a processor, a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub involuntary_switches_per_s: Option<f64>,
    /// Time that threads could have run but waited for a processor, summed over threads, in milliseconds a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_delay_ms_per_s: Option<f64>,
    /// Connections open: files open beyond those when the server was ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<f64>,
}

/// A field of a moment.
type Field = fn(&mut Moment) -> &mut Option<f64>;

const FIELDS: [Field; 9] = [
    |moment| &mut moment.cores,
    |moment| &mut moment.user_cores,
    |moment| &mut moment.system_cores,
    |moment| &mut moment.memory_bytes,
    |moment| &mut moment.threads,
    |moment| &mut moment.voluntary_switches_per_s,
    |moment| &mut moment.involuntary_switches_per_s,
    |moment| &mut moment.run_delay_ms_per_s,
    |moment| &mut moment.connections,
];

/// The course of the median trial through a window of `window_ms`. Empty where no trial was read.
pub(super) fn timeline<'a>(samples: impl Iterator<Item = &'a Sample>, window_ms: u64) -> Vec<Moment> {
    let trials: Vec<&[ResourceSample]> =
        samples.map(|sample| sample.resources.as_slice()).filter(|readings| !readings.is_empty()).collect();
    let times = grid(&trials, window_ms as f64);
    let mut courses: Vec<Vec<Moment>> = trials.iter().map(|readings| course(readings, &times)).collect();
    let middle = |(index, t_ms): (usize, &f64)| {
        let mut moment = Moment { t_ms: *t_ms, ..Moment::default() };
        for field in FIELDS {
            let values = courses.iter_mut().filter_map(|course| *field(&mut course[index]));
            *field(&mut moment) = median_of(values).map(|estimate| estimate.value);
        }
        moment
    };
    times.iter().enumerate().map(middle).collect()
}

/// Moments that divide the window evenly, about as far apart as the readings are.
fn grid(trials: &[&[ResourceSample]], window_ms: f64) -> Vec<f64> {
    let gaps = trials.iter().flat_map(|readings| {
        let times = std::iter::once(0).chain(readings.iter().map(|reading| reading.t_ms));
        times.zip(readings.iter()).map(|(before, reading)| reading.t_ms.saturating_sub(before) as f64)
    });
    let Some(gap) = median_of(gaps) else { return Vec::new() };
    let moments = (window_ms / gap.value).round().clamp(1.0, MOST_MOMENTS);
    (1..=moments as u32).map(|index| window_ms * f64::from(index) / moments).collect()
}

/// One trial at the moments of the grid.
fn course(readings: &[ResourceSample], times: &[f64]) -> Vec<Moment> {
    let points = |value: fn(&ResourceSample) -> Option<u64>| -> Vec<(f64, f64)> {
        let point = |reading: &ResourceSample| Some((reading.t_ms as f64, value(reading)? as f64));
        readings.iter().filter_map(point).collect()
    };
    // What is held stays as it was first seen before the first reading.
    let held = |value| {
        let points = points(value);
        times.iter().map(|t_ms| at(&points, *t_ms)).collect::<Vec<_>>()
    };
    // What is counted was 0 at the window's start. By thousands a second: microseconds a millisecond.
    let counted = |value| {
        let mut points = points(value);
        points.insert(0, (0.0, 0.0));
        let since = |(index, t_ms): (usize, &f64)| {
            let before_ms = index.checked_sub(1).map_or(0.0, |before| times[before]);
            Some((at(&points, *t_ms)? - at(&points, before_ms)?) / (t_ms - before_ms))
        };
        times.iter().enumerate().map(since).collect::<Vec<_>>()
    };
    let cpu = counted(|reading| Some(reading.user_us? + reading.system_us?));
    let (user, system) = (counted(|reading| reading.user_us), counted(|reading| reading.system_us));
    let (memory, threads) = (held(|reading| reading.memory_bytes), held(|reading| reading.threads));
    let voluntary = counted(|reading| reading.voluntary_switches);
    let involuntary = counted(|reading| reading.involuntary_switches);
    let run_delay = counted(|reading| reading.run_delay_us);
    let connections = held(|reading| reading.open_files);
    let moment = |(index, t_ms): (usize, &f64)| {
        let times = |value: Option<f64>, factor: f64| value.map(|value| value * factor);
        Moment {
            t_ms: *t_ms,
            cores: times(cpu[index], 1e-3),
            user_cores: times(user[index], 1e-3),
            system_cores: times(system[index], 1e-3),
            memory_bytes: memory[index],
            threads: threads[index],
            voluntary_switches_per_s: times(voluntary[index], 1e3),
            involuntary_switches_per_s: times(involuntary[index], 1e3),
            run_delay_ms_per_s: run_delay[index],
            connections: connections[index],
        }
    };
    times.iter().enumerate().map(moment).collect()
}

/// The value at a time on the line through rising points: the first one before it, none after the last.
fn at(points: &[(f64, f64)], t_ms: f64) -> Option<f64> {
    let after = points.partition_point(|(time, _)| *time < t_ms);
    let (right_ms, right) = *points.get(after)?;
    let Some((left_ms, left)) = after.checked_sub(1).and_then(|before| points.get(before)) else {
        return Some(right);
    };
    Some(left + (right - left) * (t_ms - left_ms) / (right_ms - left_ms))
}
