//! Draws what has a row for each name: bars from zero, and ratios with their intervals.

use super::palette::{GRID, INK};
use super::scale::{Scale, range};
use super::svg::{LINE, Page, RIGHT, WIDTH, widest, width};
use super::{Axis, Bars, Forest, Kind, Mark, Ratio, Ratios};
use crate::format::spanned;

/// Ticks of a scale of ratios; how much of a logarithmic range's room a forest plot leaves out.
const RATIO_TICKS: [f64; 15] =
    [0.001, 0.01, 0.1, 0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0, 10.0, 30.0, 100.0, 300.0, 1000.0];
const FOREST_ROOM: f64 = 1.2;

/// The height of a bar and of the gap between two, in pixels.
const BAR: f64 = 16.0;
const GAP: f64 = 6.0;

/// The height of a forest plot's row.
const ROW: f64 = 26.0;

/// The width of a forest plot's values, which stand in panels of at least three times that.
const VALUES: f64 = 92.0;

/// The most room that the names of rows take.
const NAMES: f64 = WIDTH * 0.5;

impl Page {
    pub fn bars(&mut self, bars: &Bars) {
        let left = 16.0 + widest(bars.rows.iter().map(|(name, _)| name.as_str())).min(NAMES) + 10.0;
        let drawn = || bars.rows.iter().filter_map(|(_, bar)| bar.as_ref());
        let room = widest(drawn().map(|bar| bar.text.as_str())) + 20.0;
        let most = drawn().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max);
        let scale = Scale { kind: Kind::Linear, values: (0.0, most), pixels: (left, WIDTH - RIGHT - room) };
        self.text((left, self.y + LINE / 2.0), "start", "", &bars.title);
        self.y += LINE;
        let begin = self.y;
        for (name, bar) in &bars.rows {
            self.y += GAP;
            let middle = self.y + BAR / 2.0;
            self.text_within(NAMES, (left - 10.0, middle), "end", "", name);
            if let Some(bar) = bar {
                let end = scale.at(bar.value.max(0.0));
                self.rect((left, self.y), (end - left, BAR), bar.colour);
                self.text((end + 5.0, middle), "start", "", &bar.text);
            }
            self.y += BAR;
        }
        self.y += GAP;
        self.line((left, begin), (left, self.y), GRID, 1.0);
    }

    pub fn forest(&mut self, forest: &Forest) {
        let all = forest.columns.iter().flat_map(|column| column.ratios.iter().flatten());
        let ends = |mark: &Ratio| {
            let interval = mark.interval.into_iter().flat_map(|(low, high)| [low, high]);
            [1.0, mark.value].into_iter().chain(interval).chain(mark.dots.clone())
        };
        let axis = Axis { ticks: RATIO_TICKS.to_vec(), ..Axis::log("", super::short) };
        let Some((low, high)) = range(&axis, all.flat_map(ends)) else { return };
        let values = (low * FOREST_ROOM, high / FOREST_ROOM);
        let left = 16.0 + widest(forest.names.iter().map(String::as_str)).min(NAMES) + 14.0;
        let wide = (WIDTH - left - RIGHT) / forest.columns.len().max(1) as f64;
        let (begin, end) = (self.y + LINE, self.y + LINE + ROW * forest.names.len() as f64);
        for (row, name) in forest.names.iter().enumerate() {
            self.text_within(NAMES, (left - 14.0, begin + ROW * (row as f64 + 0.5)), "end", "", name);
        }
        for (place, Ratios { title, falls, ratios }) in forest.columns.iter().enumerate() {
            let left = left + place as f64 * wide;
            self.text((left, self.y + LINE / 2.0), "start", "", title);
            let has_values = wide >= 3.0 * VALUES;
            let end_of_scale = left + wide - 24.0 - if has_values { VALUES } else { 0.0 };
            let pixels = if *falls { (end_of_scale, left) } else { (left, end_of_scale) };
            let scale = Scale { kind: Kind::Log, values, pixels };
            for (x, text) in scale.ticks(&axis, |text| width(text) + 10.0) {
                self.line((x, begin), (x, end), GRID, 1.0);
                self.text((x, end + LINE / 2.0), "middle", "", &text);
            }
            self.line((scale.at(1.0), begin), (scale.at(1.0), end), INK, 1.5);
            for (row, ratio) in ratios.iter().enumerate() {
                let Some(ratio) = ratio else { continue };
                let y = begin + ROW * (row as f64 + 0.5);
                self.ratio(ratio, scale, y);
                if has_values {
                    self.text((end_of_scale + 10.0, y), "start", "", &ratio.words());
                }
            }
        }
        self.y = end + LINE + 8.0;
    }

    /// Dots stand below the mark.
    fn ratio(&mut self, ratio: &Ratio, scale: Scale, y: f64) {
        let colour = ratio.style.colour();
        for dot in &ratio.dots {
            let x = scale.at(*dot);
            self.circle((x, y + 8.0), 2.0, &format!(" fill=\"{colour}\" fill-opacity=\"0.35\""));
        }
        if let Some((low, high)) = ratio.interval {
            self.line((scale.at(low), y), (scale.at(high), y), colour, 3.0);
        }
        self.mark((scale.at(ratio.value), y), ratio.style, Mark::Small);
    }
}

impl Ratio {
    /// `0.77 to 0.84`: its interval, or itself where it has none.
    fn words(&self) -> String {
        let range = self.interval.unwrap_or((self.value, self.value));
        spanned(range, |ratio| format!("{ratio:.2}"))
    }
}
