//! Draws a heat map: a row for each name, a column for each title, and in each place a text on a colour that is the
//! stronger the larger its value is.

use super::palette::{GRID, OTHERS};
use super::svg::{LINE, Page, RIGHT, WIDTH, widest, width};

/// The height of a row, in pixels.
const ROW: f64 = 28.0;

/// The weakest and the strongest colour. Text is read on both, on a light page and on a dark one.
const OPACITY: (f64, f64) = (0.04, 0.5);

/// A heat map.
pub(crate) struct Heat {
    pub names: Vec<String>,
    /// A column's title, and a place for each row.
    pub columns: Vec<(String, Vec<Tile>)>,
}

/// A place of a heat map.
pub(crate) struct Tile {
    /// How strong its colour is, from 0 to 1.
    pub share: f64,
    pub text: String,
}

/// A title in one line or, where that is wider than its column, in two, divided at the space that leaves the shorter
/// longest one.
fn lines(title: &str, most: f64) -> Vec<&str> {
    let divided = title.match_indices(' ').map(|(at, _)| [&title[..at], &title[at + 1..]]);
    let longest = |two: &[&str; 2]| widest(two.iter().copied());
    match divided.min_by(|a, b| longest(a).total_cmp(&longest(b))) {
        Some(two) if width(title) > most => two.into(),
        _ => vec![title],
    }
}

impl Page {
    pub fn heat(&mut self, heat: &Heat) {
        let left = 16.0 + widest(heat.names.iter().map(String::as_str)).min(WIDTH / 3.0) + 12.0;
        let wide = (WIDTH - left - RIGHT) / heat.columns.len().max(1) as f64;
        let titles: Vec<Vec<&str>> = heat.columns.iter().map(|(title, _)| lines(title, wide - 8.0)).collect();
        let most_lines = titles.iter().map(Vec::len).max().unwrap_or(1) as f64;
        let top = self.y + LINE * most_lines + 4.0;
        for (row, name) in heat.names.iter().enumerate() {
            self.text((left - 10.0, top + ROW * (row as f64 + 0.5)), "end", "", name);
        }
        for (column, ((_, tiles), title)) in heat.columns.iter().zip(&titles).enumerate() {
            let x = left + wide * column as f64;
            for (line, text) in title.iter().enumerate() {
                self.text((x + wide / 2.0, self.y + LINE * (line as f64 + 0.5)), "middle", "", text);
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_that_is_wider_than_its_column_has_two_lines() {
        assert_eq!(lines("axum + typed JSON-RPC", 1_000.0), ["axum + typed JSON-RPC"]);
        assert_eq!(lines("actix-web + typed JSON-RPC", 100.0), ["actix-web +", "typed JSON-RPC"]);
        assert_eq!(lines("jsonrpsee", 10.0), ["jsonrpsee"], "nowhere to divide it");
    }
}
