//! The chart of a calibration: how often a handicap of a given size is seen, our way and the common way.

use anyhow::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::chart::{Area, COLOURS, FONT, Frame, INK, broken, draw_marker};
use crate::analysis::calibration::{CalibrationSummary, Share};
use crate::figure::Figure;

const SIZE: (u32, u32) = (1_120, 470);
const LEGEND_HEIGHT: u32 = 76;

/// A way to judge: its name and the share of claims by handicap, both in percent.
struct Way {
    name: String,
    shares: Vec<(f64, Share)>,
}

/// Draws the chart.
pub(super) fn svg(summary: &CalibrationSummary) -> Result<String> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&WHITE).map_err(broken)?;
        let (above, below) = root.split_vertically(SIZE.1 - LEGEND_HEIGHT);
        let figures = [
            (Figure::CpuUsPerRequest, "by server CPU per request"),
            (Figure::RequestsPerSecond, "by successful requests/s"),
        ];
        for ((figure, title), area) in figures.into_iter().zip(above.split_evenly((1, 2))) {
            panel(&ways(summary, figure), title, &area)?;
        }
        legend(&ways(summary, Figure::CpuUsPerRequest), &below)?;
        root.present().map_err(broken)?;
    }
    Ok(text)
}

fn ways(summary: &CalibrationSummary, figure: Figure) -> Vec<Way> {
    let ours = summary.ours.iter().filter(|power| power.figure == figure);
    let mut ways = vec![Way {
        name: "this harness: blocks until it is answered".to_owned(),
        shares: ours.map(|power| (power.handicap * 100.0, power.claimed)).collect(),
    }];
    for (runs, threshold, name) in [
        (1, 0.02, "one run each, claims from 2 % on"),
        (3, 0.02, "means of three runs, claims from 2 % on"),
        (1, 0.05, "one run each, claims from 5 % on"),
    ] {
        let rows = summary.common.iter().filter(|row| row.figure == figure && row.runs == runs);
        let rows = rows.filter(|row| (row.threshold - threshold).abs() < 1e-9);
        let shares = rows.map(|row| (row.handicap * 100.0, row.claimed)).collect();
        ways.push(Way { name: name.to_owned(), shares });
    }
    ways
}

/// A percentage as a tick has it.
fn whole(value: f64) -> String {
    format!("{value:.0}")
}

fn panel(ways: &[Way], title: &str, area: &Area<'_>) -> Result<()> {
    let most = ways.iter().flat_map(|way| &way.shares).map(|(x, _)| *x).fold(1.0, f64::max);
    let frame = Frame {
        caption: title.to_owned(),
        names: [
            "handicap: extra CPU time for a request, % (0: the server against itself)",
            "comparisons that claim a difference, %",
        ],
        ticks: [&whole, &whole],
        labels: [12, 11],
        is_small: false,
    };
    let mut chart = frame.draw(area, -0.4..most + 0.4, 0.0..103.0)?;
    let nominal = PathElement::new(vec![(-0.4, 5.0), (most + 0.4, 5.0)], INK.mix(0.5).stroke_width(1));
    chart.plotting_area().draw(&nominal).map_err(broken)?;
    for (index, way) in ways.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let aside = (index as f64 - 1.5) * 0.06;
        let shares: Vec<(f64, Share)> =
            way.shares.iter().filter(|(_, share)| share.of > 0).copied().collect();
        let points = shares.iter().map(|(x, share)| (x + aside, share.value() * 100.0));
        chart.draw_series(LineSeries::new(points, colour.stroke_width(2))).map_err(broken)?;
        for (x, share) in &shares {
            let (low, high) = share.interval;
            let x = x + aside;
            let bar = PathElement::new(vec![(x, low * 100.0), (x, high * 100.0)], colour.stroke_width(2));
            chart.plotting_area().draw(&bar).map_err(broken)?;
            let (left, top) = area.get_base_pixel();
            let (pixel_x, pixel_y) = chart.backend_coord(&(x, share.value() * 100.0));
            draw_marker(area, index, (pixel_x - left, pixel_y - top), colour)?;
        }
    }
    Ok(())
}

fn legend(ways: &[Way], area: &Area<'_>) -> Result<()> {
    let style = (FONT, 14).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
    for (index, way) in ways.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let (x, y) = (40 + 360 * (index as i32 % 3), 14 + 26 * (index as i32 / 3));
        area.draw(&PathElement::new(vec![(x, y), (x + 28, y)], colour.stroke_width(2))).map_err(broken)?;
        draw_marker(area, index, (x + 14, y), colour)?;
        area.draw(&Text::new(way.name.clone(), (x + 36, y), style.clone())).map_err(broken)?;
    }
    let note = "thin line: the nominal error of 5 %; bars: 95 % intervals of the shares";
    area.draw(&Text::new(note, (400, 40), style)).map_err(broken)
}
