//! Times in which a service answered nothing: by when its answers came, or, where the load tool does not say that, by a
//! server that used no CPU time while requests waited.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::machine::ResourceSample;
use crate::observation::Sample;

/// A server that used less than this share of its usual CPU time did nothing.
const IDLE: f64 = 0.02;

/// A server whose usual CPU time is less, in processors, may well idle for a while.
const LEAST_USUAL_CORES: f64 = 0.05;

/// The shortest time without CPU time that counts, in milliseconds.
const LEAST_MS: f64 = 250.0;

/// A time in which a service answered nothing.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// When it began, in seconds of the window.
    pub from_s: f64,
    /// When it ended, or the window did.
    pub to_s: f64,
    /// Processors that the server used in it; `None` where its process can't be seen.
    pub cores: Option<f64>,
    /// Processors that it used in the rest of the window.
    pub usual_cores: Option<f64>,
}

impl Stall {
    /// How long it was, in seconds.
    pub fn length_s(&self) -> f64 {
        self.to_s - self.from_s
    }

    /// In words for readers.
    pub fn words(&self) -> String {
        let cpu = self.cores.zip(self.usual_cores).map_or_else(String::new, |(cores, usual)| {
            format!(", and used {cores:.2} cores then (otherwise {usual:.2})")
        });
        format!(
            "the service answered nothing from {:.1} to {:.1} s of the window{cpu}",
            self.from_s, self.to_s
        )
    }
}

/// The stalls of a trial's window. None are seen where the load tool was late by itself for as long, or where the
/// harness stopped the server on purpose.
pub fn stalls(sample: &Sample) -> Vec<Stall> {
    if sample.stalls.is_some_and(|planned| planned > 0) {
        return Vec::new();
    }
    let course = course(sample);
    let silences = &sample.load.details.silences;
    let times: Vec<(f64, f64)> = match silences.is_empty() {
        false => silences.iter().map(|silence| (silence.from_ms as f64, silence.to_ms as f64)).collect(),
        // Users come and go, and a service idles in between.
        true if sample.load.open.is_none() && sample.load.staged.is_none() => idle(&course),
        true => Vec::new(),
    };
    let own_lag_ms = sample.load.open.and_then(|open| open.own_lag_us).map_or(0.0, |lag| lag.max / 1e3);
    let longest_ms = sample.load.latency_us.max / 1e3;
    let is_the_servers = |(from, to): &(f64, f64)| {
        let length_ms = to - from;
        // Some request waited through it, or was given up. Where some waited much longer, they waited for something else.
        let gave_up = sample.load.failures() > 0 && !silences.is_empty();
        let through =
            longest_ms >= 0.8 * length_ms && (!silences.is_empty() || longest_ms <= 3.0 * length_ms);
        let waited = through || gave_up;
        waited && own_lag_ms < length_ms / 2.0
    };
    let stall = |(from, to): (f64, f64)| {
        let used = |from, to| Some(used_ms(&course, from, to)? / (to - from));
        let all_ms = course.last().map_or(0.0, |(t_ms, _)| *t_ms);
        let usual = used_ms(&course, 0.0, all_ms).zip(used_ms(&course, from, to));
        let usual_cores = usual.map(|(all, own)| (all - own) / (all_ms - (to - from)).max(1.0));
        Stall { from_s: from / 1e3, to_s: to / 1e3, cores: used(from, to), usual_cores }
    };
    times.into_iter().filter(is_the_servers).map(stall).collect()
}

/// CPU time of the server since the window's start, by time, both in milliseconds.
fn course(sample: &Sample) -> Vec<(f64, f64)> {
    let point = |reading: &ResourceSample| {
        Some((reading.t_ms as f64, (reading.user_us? + reading.system_us?) as f64 / 1e3))
    };
    let read: Vec<(f64, f64)> = sample.resources.iter().filter_map(point).collect();
    if read.is_empty() { read } else { std::iter::once((0.0, 0.0)).chain(read).collect() }
}

/// CPU time between two times, in milliseconds, by straight lines between the readings.
fn used_ms(course: &[(f64, f64)], from: f64, to: f64) -> Option<f64> {
    let at = |time: f64| {
        let after = course.iter().position(|(t_ms, _)| *t_ms >= time).unwrap_or(course.len().checked_sub(1)?);
        let (right, used) = *course.get(after)?;
        let Some((left, before)) = after.checked_sub(1).map(|before| course[before]) else {
            return Some(used);
        };
        let share = if right > left { ((time - left) / (right - left)).min(1.0) } else { 1.0 };
        Some(before + (used - before) * share)
    };
    Some(at(to)? - at(from)?)
}

/// Times inside of the window in which a server used no CPU time, in milliseconds.
fn idle(course: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let Some((all_ms, used)) = course.last().copied().filter(|(t_ms, _)| *t_ms > 0.0) else {
        return Vec::new();
    };
    let usual = used / all_ms;
    let mut times: Vec<(f64, f64)> = Vec::new();
    for two in course.windows(2) {
        let [(left, before), (right, after)] = [two[0], two[1]];
        if after - before > IDLE * usual * (right - left) {
            continue;
        }
        match times.last_mut() {
            Some((_, end)) if *end == left => *end = right,
            _ => times.push((left, right)),
        }
    }
    // At the begin connections are made, and at the end the load tool ends.
    times.retain(|(from, to)| to - from >= LEAST_MS && *from > 0.0 && *to < all_ms);
    if usual < LEAST_USUAL_CORES { Vec::new() } else { times }
}
