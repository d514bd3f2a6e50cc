//! Draws what has a row for each name: bars from zero, and ratios with their intervals.

use super::palette::{GRID, INK, PAPER};
use super::scale::{Scale, range};
use super::svg::{LINE, Page, RIGHT, WIDTH, widest, width};
use super::{Axis, Bar, Bars, Forest, Kind, Mark, Ratio, Ratios};
use crate::format::spanned;

/// Ticks of a scale of ratios; how much of a logarithmic range's room a forest plot leaves out.
const RATIO_TICKS: [f64; 15] =
    [0.001, 0.01, 0.1, 0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0, 10.0, 30.0, 100.0, 300.0, 1000.0];
const FOREST_ROOM: f64 = 1.2;

/// The height of a forest plot's row.
const ROW: f64 = 26.0;

/// The width of a forest plot's values, which stand in panels of at least three times that.
const VALUES: f64 = 92.0;

/// The most room that the names of rows take.
const NAMES: f64 = WIDTH * 0.5;

impl Page {
    pub fn bars(&mut self, bars: &Bars) {
        let (thick, gap) = bars.sizes;
        let left = 16.0 + widest(bars.names.iter().map(|(name, _)| name.as_str())).min(NAMES) + 10.0;
        let wide = (WIDTH - left - RIGHT) / bars.columns.len().max(1) as f64;
        if bars.columns.iter().any(|(title, _)| !title.is_empty()) {
            for (index, (title, _)) in bars.columns.iter().enumerate() {
                self.text((left + index as f64 * wide, self.y + LINE / 2.0), "start", "", title);
            }
            self.y += LINE;
        }
        let begin = self.y;
        let mut tops = Vec::new();
        for (name, is_apart) in &bars.names {
            self.y += gap * if *is_apart { 2.5 } else { 1.0 };
            self.text_within(NAMES, (left - 10.0, self.y + thick / 2.0), "end", "", name);
            tops.push(self.y);
            self.y += thick;
        }
        let end = self.y + gap;
        for (index, (_, column)) in bars.columns.iter().enumerate() {
            let left = left + index as f64 * wide;
            let room = widest(column.iter().map(|bar| bar.text.as_str())) + 20.0;
            let ends =
                column.iter().flat_map(|bar| [bar.length(), bar.mark.as_ref().map_or(0.0, |mark| mark.0)]);
            let values = (0.0, ends.fold(f64::MIN_POSITIVE, f64::max));
            let scale = Scale { kind: Kind::Linear, values, pixels: (left, left + wide - room) };
            self.line((left, begin), (left, end), GRID, 1.0);
            if bars.has_axis {
                let axis = Axis::linear("", super::short);
                for (x, text) in scale.ticks(&axis, |text| width(text) + 20.0) {
                    self.line((x, begin), (x, end), GRID, 1.0);
                    self.text((x, end + LINE / 2.0), "middle", "", &text);
                }
            }
            for (bar, top) in column.iter().zip(&tops) {
                self.bar(bar, scale, (*top, thick));
            }
        }
        self.y = end + if bars.has_axis { LINE + 6.0 } else { 0.0 };
    }

    fn bar(&mut self, bar: &Bar, scale: Scale, (top, thick): (f64, f64)) {
        let (mut from, middle) = (0.0, top + thick / 2.0);
        for piece in &bar.pieces {
            let to = from + piece.value.max(0.0);
            let (x, end) = (scale.at(from), scale.at(to));
            self.rect((x, top), (end - x, thick), piece.colour, piece.opacity);
            if !piece.text.is_empty() && width(&piece.text) + 6.0 < end - x {
                // Over a box of its own, so that it is read on every colour.
                let half = width(&piece.text) / 2.0 + 3.0;
                let centre = (x + end) / 2.0;
                self.rect((centre - half, middle - 9.0), (2.0 * half, 18.0), PAPER, 0.85);
                self.text((centre, middle), "middle", "", &piece.text);
            }
            from = to;
        }
        self.text((scale.at(from) + 5.0, middle), "start", "", &bar.text);
        if let Some((value, text)) = &bar.mark {
            let x = scale.at(*value);
            self.line((x, top - 6.0), (x, top + thick + 6.0), INK, 3.0);
            self.text((x, top - 14.0), "end", "", text);
        }
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
            self.circle((x, y + 8.0), 2.0, format!(" fill=\"{colour}\" fill-opacity=\"0.35\""));
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

impl Bar {
    fn length(&self) -> f64 {
        self.pieces.iter().map(|piece| piece.value.max(0.0)).sum()
    }
}
