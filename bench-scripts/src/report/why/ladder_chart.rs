//! The ladder as a chart: a bar for each server, its parts side by side, and a mark at what was measured.

use anyhow::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::name;
use crate::analysis::why::{Ladder, Part, Row, WhySummary};
use crate::report::chart::{Area, COLOURS, FONT, GRID, INK, broken, ticks};
use crate::report::format::significant;

const SIZE: (u32, u32) = (1_120, 340);
/// Where bars begin and end, in pixels.
const LEFT: i32 = 290;
const RIGHT: i32 = 1_060;
const TOP: i32 = 62;
const BAR: i32 = 62;
const GAP: i32 = 36;
/// A part narrower than this holds no figure, in pixels.
const NARROW: i32 = 40;
const UNEXPLAINED: RGBColor = RGBColor(200, 200, 200);

/// One part as it is drawn.
struct Piece {
    name: &'static str,
    colour: RGBColor,
    text: RGBColor,
    /// In microseconds, of both servers.
    us: [f64; 2],
}

/// Draws the chart.
pub(super) fn svg(summary: &WhySummary, ladder: &Ladder) -> Result<String> {
    let pieces = pieces(ladder);
    let measured = sides(&ladder.measured);
    let total = |side: usize| pieces.iter().map(|piece| piece.us[side].max(0.0)).sum::<f64>();
    let most = [total(0), total(1), measured[0], measured[1]].into_iter().fold(f64::MIN_POSITIVE, f64::max);
    let scale = f64::from(RIGHT - LEFT) / (most * 1.04);
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&WHITE).map_err(broken)?;
        let title = format!("{}: server CPU time for a request, us", summary.workload);
        write(&root, &title, (LEFT, 22), 17, &INK, HPos::Left)?;
        axis(&root, most, scale)?;
        for (side, server) in [&summary.server, &summary.over].into_iter().enumerate() {
            let top = TOP + side as i32 * (BAR + GAP);
            write(&root, server, (LEFT - 12, top + BAR / 2), 15, &INK, HPos::Right)?;
            bar(&root, &pieces, side, top, scale)?;
            let x = LEFT + (measured[side] * scale) as i32;
            let mark = PathElement::new(vec![(x, top - 6), (x, top + BAR + 6)], INK.stroke_width(3));
            root.draw(&mark).map_err(broken)?;
            let said = format!(
                "measured {}, unexplained {}",
                significant(measured[side]),
                significant(sides(&ladder.unexplained)[side])
            );
            write(&root, &said, (x, top - 14), 13, &INK, HPos::Right)?;
        }
        legend(&root, &pieces)?;
        root.present().map_err(broken)?;
    }
    Ok(text)
}

/// The parts and what they leave unexplained, each as the table has it: medians over blocks. Medians don't add up, so the bar may
/// end beside the mark. Where the parts predict too much there is nothing to draw, and the figure at the mark says so.
fn pieces(ladder: &Ladder) -> Vec<Piece> {
    let white = RGBColor(255, 255, 255);
    let colours = [(COLOURS[2], white), (COLOURS[0], white), (COLOURS[5], INK), (COLOURS[4], INK)];
    let mut pieces: Vec<Piece> = Part::ALL
        .into_iter()
        .zip(colours)
        .filter_map(|(part, (colour, text))| {
            Some(Piece { name: name(part), colour, text, us: sides(ladder.part(part)?) })
        })
        .collect();
    let us = sides(&ladder.unexplained);
    pieces.push(Piece { name: "unexplained", colour: UNEXPLAINED, text: INK, us });
    pieces
}

fn sides(row: &Row) -> [f64; 2] {
    [row.a.value, row.b.value]
}

fn bar(area: &Area<'_>, pieces: &[Piece], side: usize, top: i32, scale: f64) -> Result<()> {
    let mut from = 0.0;
    for piece in pieces {
        let to = from + piece.us[side].max(0.0);
        let (x, end) = (LEFT + (from * scale) as i32, LEFT + (to * scale) as i32);
        area.draw(&Rectangle::new([(x, top), (end, top + BAR)], piece.colour.filled())).map_err(broken)?;
        if end - x >= NARROW {
            let middle = ((x + end) / 2, top + BAR / 2);
            write(area, &significant(piece.us[side]), middle, 14, &piece.text, HPos::Center)?;
        }
        from = to;
    }
    Ok(())
}

fn axis(area: &Area<'_>, most: f64, scale: f64) -> Result<()> {
    let bottom = TOP + 2 * BAR + GAP + 12;
    let step = ticks(most / 12.0, most / 3.0).into_iter().next().unwrap_or(most);
    let mut value = 0.0;
    while value <= most * 1.04 {
        let x = LEFT + (value * scale) as i32;
        area.draw(&PathElement::new(vec![(x, TOP - 8), (x, bottom)], GRID.stroke_width(1)))
            .map_err(broken)?;
        let said = if step < 1.0 { format!("{value:.1}") } else { format!("{value:.0}") };
        write(area, &said, (x, bottom + 12), 13, &INK, HPos::Center)?;
        value += step;
    }
    Ok(())
}

fn legend(area: &Area<'_>, pieces: &[Piece]) -> Result<()> {
    let (mut x, y) = (30, SIZE.1 as i32 - 30);
    for piece in pieces {
        area.draw(&Rectangle::new([(x, y - 8), (x + 18, y + 8)], piece.colour.filled())).map_err(broken)?;
        write(area, piece.name, (x + 25, y), 13, &INK, HPos::Left)?;
        x += 25 + 7 * piece.name.len() as i32 + 26;
    }
    Ok(())
}

fn write(area: &Area<'_>, text: &str, at: (i32, i32), size: u32, colour: &RGBColor, to: HPos) -> Result<()> {
    let style = (FONT, size).into_font().color(colour).pos(Pos::new(to, VPos::Center));
    area.draw(&Text::new(text.to_owned(), at, style)).map_err(broken)
}
