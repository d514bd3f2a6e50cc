//! Draws a heat map: a row for each name, a column for each title, and in each place a text on a colour that is the stronger the larger its
//! value is.

use super::palette::{GRID, OTHERS};
use super::svg::{LINE, Page, RIGHT, WIDTH, width};

/// The height of a row, in pixels.
const ROW: f64 = 28.0;

/// The weakest and the strongest colour. Text is read on both, on a light page and on a dark one.
const OPACITY: (f64, f64) = (0.04, 0.5);

/// A heat map.
pub(in crate::report) struct Heat {
    pub names: Vec<String>,
    /// A column's title, and a place for each row.
    pub columns: Vec<(String, Vec<Tile>)>,
}

/// A place of a heat map.
pub(in crate::report) struct Tile {
    /// How strong its colour is, from 0 to 1.
    pub share: f64,
    pub text: String,
}

impl Page {
    pub fn heat(&mut self, heat: &Heat) {
        let names = heat.names.iter().map(|name| width(name)).fold(0.0, f64::max);
        let left = 16.0 + names.min(WIDTH / 3.0) + 12.0;
        let wide = (WIDTH - left - RIGHT) / heat.columns.len().max(1) as f64;
        let top = self.y + LINE + 4.0;
        for (row, name) in heat.names.iter().enumerate() {
            self.text((left - 10.0, top + ROW * (row as f64 + 0.5)), "end", "", name);
        }
        for (column, (title, tiles)) in heat.columns.iter().enumerate() {
            let x = left + wide * column as f64;
            self.text((x + wide / 2.0, self.y + LINE / 2.0), "middle", "", title);
            for (row, tile) in tiles.iter().enumerate() {
                let y = top + ROW * row as f64;
                let opacity = OPACITY.0 + (OPACITY.1 - OPACITY.0) * tile.share.clamp(0.0, 1.0);
                self.rect((x + 1.0, y + 1.0), (wide - 2.0, ROW - 2.0), OTHERS[0], opacity);
                self.text((x + wide / 2.0, y + ROW / 2.0), "middle", "", &tile.text);
            }
        }
        let end = top + ROW * heat.names.len() as f64;
        self.line((left, end), (WIDTH - RIGHT, end), GRID, 1.0);
        self.y = end + 8.0;
    }
}
