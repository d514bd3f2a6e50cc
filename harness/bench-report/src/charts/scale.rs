//! From values to pixels: an axis' range, its scale and its ticks.

use super::{Axis, Kind};

/// By how much a logarithmic axis goes beyond its points, and a linear one.
const LOG_ROOM: f64 = 1.3;
const ROOM: f64 = 1.1;

/// From values to pixels.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    pub kind: Kind,
    pub values: (f64, f64),
    pub pixels: (f64, f64),
}

impl Scale {
    /// The place of a value, in pixels.
    pub fn at(&self, value: f64) -> f64 {
        let of = |value: f64| if self.kind == Kind::Log { value.max(f64::MIN_POSITIVE).ln() } else { value };
        let (low, high) = (of(self.values.0), of(self.values.1));
        self.pixels.0 + (of(value) - low) / (high - low) * (self.pixels.1 - self.pixels.0)
    }

    /// Where ticks stand, at least that many pixels apart.
    pub fn ticks(&self, axis: &Axis, apart: impl Fn(&str) -> f64) -> Vec<(f64, String)> {
        let (low, high) = self.values;
        // Lines of text need less room than words do.
        let apart_on_average = if self.pixels.1 < self.pixels.0 { 26.0 } else { 50.0 };
        let most = (self.pixels.1 - self.pixels.0).abs() / apart_on_average;
        let values = match (self.kind, axis.ticks.is_empty()) {
            (Kind::Log, true) => log_ticks(low, high),
            (Kind::Linear, true) => linear_ticks(low, high, most),
            _ => axis.ticks.clone(),
        };
        let mut ticks: Vec<(f64, String)> = Vec::new();
        let mut free = f64::NEG_INFINITY;
        let direction = (self.pixels.1 - self.pixels.0).signum();
        for value in values.into_iter().filter(|value| (low..=high).contains(value)) {
            let text = (axis.write)(value);
            let (place, half) = (self.at(value) * direction, apart(&text) / 2.0);
            if place - half >= free {
                free = place + half;
                ticks.push((self.at(value), text));
            }
        }
        ticks
    }
}

/// Round values for a logarithmic axis, finer where the axis is short.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let of = |steps: &[f64]| {
        let decades = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
        let values = decades.flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)));
        values.filter(|value| (low..=high).contains(value)).collect::<Vec<f64>>()
    };
    let coarse = of(&[1.0, 2.0, 5.0]);
    if coarse.len() >= 4 { coarse } else { of(&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]) }
}

/// Round values for a linear axis, at most about `most`.
fn linear_ticks(low: f64, high: f64, most: f64) -> Vec<f64> {
    let least = (high - low) / most.max(2.0);
    let decade = 10_f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade).into_iter().find(|step| *step >= least);
    let step = step.unwrap_or(least);
    let first = (low / step).ceil() as i64;
    (first..=(high / step).floor() as i64).map(|index| index as f64 * step).collect()
}

/// From where to where an axis goes; `None` where there is nothing to draw.
pub(super) fn range(axis: &Axis, values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let values = values.filter(|value| value.is_finite() && (axis.kind != Kind::Log || *value > 0.0));
    let (low, high) = values.map(|value| (value, value)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    Some(match axis.range {
        Some(range) => range,
        None if axis.kind == Kind::Log => (low / LOG_ROOM, high * LOG_ROOM),
        None => (0.0, if high > 0.0 { high * ROOM } else { 1.0 }),
    })
}
