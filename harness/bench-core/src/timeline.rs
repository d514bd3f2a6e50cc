//! A cell's resources through the window: the median trial at moments that all trials share. Sums over a window are
//! figures.
//!
//! Trials are read at times of their own: a reading is late where the machine is busy, and left out where it would cost
//! too much. So each trial is brought to the grid by straight lines between its readings. Counts are interpolated
//! before their differences are taken, so that what was counted between two readings is neither lost nor counted twice.
//! The grid ends with the campaign's window: the load tool's own end, in which the server idles, is not in it.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::observed::{median_of, middle_of};
use crate::machine::ResourceSample;
use crate::observation::Sample;

/// The most moments of a course.
const MOST_MOMENTS: f64 = 50.0;

/// One moment of a server: medians over trials. A rate is over the time since the moment before, or since the window's
/// start for the first. What the machine does not report is left out.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// When, in milliseconds since the window's start.
    pub t_ms: f64,
    /// Processors used. The median of a sum: not the sum of the two medians below.
    pub cores: Option<f64>,
    /// Processors used by the program itself.
    pub user_cores: Option<f64>,
    /// Processors used by the kernel on its behalf. The kernel divides time between the two by ticks of some
    /// milliseconds, so this is coarse where `cores` is exact.
    pub system_cores: Option<f64>,
    /// Memory held (resident), in bytes.
    pub memory_bytes: Option<f64>,
    /// Threads.
    pub threads: Option<f64>,
    /// How often threads gave a processor up to wait, a second.
    pub voluntary_switches_per_s: Option<f64>,
    /// How often threads were taken off a processor, a second.
    pub involuntary_switches_per_s: Option<f64>,
    /// Time that threads could have run but waited for a processor, summed over threads, in milliseconds a second.
    pub run_delay_ms_per_s: Option<f64>,
    /// Connections open: files open beyond those when the server was ready.
    pub connections: Option<f64>,
}

/// What a reading has for a field of a moment.
type Read = fn(&ResourceSample) -> Option<u64>;

/// A field of a moment, and what readings have for it. Of what is counted since the window's start, and so becomes a
/// rate: what a count in a millisecond is multiplied by. What is held has no such factor.
type Field = (fn(&mut Moment) -> &mut Option<f64>, Read, Option<f64>);

const FIELDS: [Field; 9] = [
    (|moment| &mut moment.cores, |reading| Some(reading.user_us? + reading.system_us?), Some(1e-3)),
    (|moment| &mut moment.user_cores, |reading| reading.user_us, Some(1e-3)),
    (|moment| &mut moment.system_cores, |reading| reading.system_us, Some(1e-3)),
    (|moment| &mut moment.memory_bytes, |reading| reading.memory_bytes, None),
    (|moment| &mut moment.threads, |reading| reading.threads, None),
    (|moment| &mut moment.voluntary_switches_per_s, |reading| reading.voluntary_switches, Some(1e3)),
    (|moment| &mut moment.involuntary_switches_per_s, |reading| reading.involuntary_switches, Some(1e3)),
    (|moment| &mut moment.run_delay_ms_per_s, |reading| reading.run_delay_us, Some(1.0)),
    (|moment| &mut moment.connections, |reading| reading.open_files, None),
];

/// The course of the median trial through a window of `window_ms`. Empty where no trial was read.
pub(super) fn timeline<'a>(samples: impl Iterator<Item = &'a Sample>, window_ms: u64) -> Vec<Moment> {
    let trials: Vec<&[ResourceSample]> =
        samples.map(|sample| sample.resources.as_slice()).filter(|readings| !readings.is_empty()).collect();
    let times = grid(&trials, window_ms as f64);
    let mut moments: Vec<Moment> =
        times.iter().map(|t_ms| Moment { t_ms: *t_ms, ..Moment::default() }).collect();
    for (field, read, factor) in FIELDS {
        let courses: Vec<Vec<Option<f64>>> =
            trials.iter().map(|readings| course(readings, read, factor, &times)).collect();
        for (index, moment) in moments.iter_mut().enumerate() {
            *field(moment) = middle_of(courses.iter().filter_map(|course| course[index]));
        }
    }
    moments
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

/// A field of one trial at the moments of the grid.
fn course(readings: &[ResourceSample], read: Read, factor: Option<f64>, times: &[f64]) -> Vec<Option<f64>> {
    let point = |reading: &ResourceSample| Some((reading.t_ms as f64, read(reading)? as f64));
    let mut points: Vec<(f64, f64)> = readings.iter().filter_map(point).collect();
    let Some(factor) = factor else {
        // What is held stays as it was first seen before the first reading.
        return times.iter().map(|t_ms| at(&points, *t_ms)).collect();
    };
    // What is counted was 0 at the window's start.
    points.insert(0, (0.0, 0.0));
    let since = |(index, t_ms): (usize, &f64)| {
        let before_ms = index.checked_sub(1).map_or(0.0, |before| times[before]);
        Some((at(&points, *t_ms)? - at(&points, before_ms)?) / (t_ms - before_ms) * factor)
    };
    times.iter().enumerate().map(since).collect()
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
