//! The chart of a calibration: how often a handicap of a given size is seen, our way and the common way.

use super::super::format::thousands;
use super::palette::OTHERS;
use super::{Axis, Chart, Key, Mark, Panel, Point, Row, Series, Style};
use bench_analysis::calibration::{CalibrationSummary, Share};
use bench_model::figure::Figure;
use bench_stats::Estimate;

/// The common way: means of N runs, the threshold of a claim, its name.
const COMMON: [(u32, f64, &str); 3] = [
    (1, 0.02, "one run each, claims from 2 % on"),
    (3, 0.02, "means of three runs, claims from 2 % on"),
    (1, 0.05, "one run each, claims from 5 % on"),
];

/// The chart; none where no comparison was finished.
pub(crate) fn power(summary: &CalibrationSummary) -> Option<Chart> {
    let panel = |(title, series): (&str, Vec<Series>)| Panel {
        level: Some(5.0),
        ..Panel::new(title.to_owned(), series, "")
    };
    // Rates of duets say little of rates as a campaign measures them: where these are calibrated they are shown.
    let by_rate = match &summary.rates {
        None => ("by successful requests/s", ways(summary, Figure::RequestsPerSecond)),
        Some(rates) => {
            let ours = shares(style(0), rates.ours.iter().map(|power| (power.handicap, power.claimed)));
            ("by successful requests/s, one server after the other", vec![ours])
        }
    };
    let both = [("by server CPU per request", ways(summary, Figure::CpuUsPerRequest)), by_rate];
    // A calibration of one of them shows nothing of the other.
    let panels: Vec<Panel> = both.map(panel).into_iter().filter(Panel::has_points).collect();
    if panels.is_empty() {
        return None;
    }
    let of_cpu = summary.ours.iter().filter(|power| power.figure == Figure::CpuUsPerRequest);
    let of_rates = summary.rates.iter().flat_map(|rates| &rates.ours);
    let mut handicaps: Vec<f64> = of_cpu.chain(of_rates).map(|power| power.handicap * 100.0).collect();
    handicaps.sort_by(f64::total_cmp);
    handicaps.dedup();
    let x = "handicap: extra CPU time for a request, % (0: the server against itself)";
    let names =
        ["this harness: blocks until it is answered"].into_iter().chain(COMMON.map(|(.., name)| name));
    let key = |(place, name): (usize, &str)| (Key::Line(style(place), 2.0, Mark::Full), name.to_owned());
    let is_drawn = |(place, _): &(usize, &str)| panels.iter().any(|panel| panel.shows(style(*place)));
    let legend = names.enumerate().filter(is_drawn).map(key).collect();
    let y = Axis::linear("comparisons that claim a difference, %", thousands);
    let axes = [Axis::slots(x, handicaps, thousands), Axis { range: Some((0.0, 103.0)), ..y }];
    let columns = panels.len();
    let note =
        "Horizontal line: the nominal error of 5 %. Vertical lines: 95 % intervals of the shares.".to_owned();
    let rows = vec![Row::plot(axes, panels, columns, 300.0)];
    Some(Chart { rows, legend, note, ..Chart::default() })
}

/// Ways to judge are no servers.
fn style(place: usize) -> Style {
    Style { colour: super::COLOURS.len() + place % OTHERS.len(), variant: 0 }
}

/// Shares of claims by handicap, both in percent.
fn shares(style: Style, shares: impl Iterator<Item = (f64, Share)>) -> Series {
    let point = |(handicap, share): (f64, Share)| {
        let claimed = Estimate { value: share.value(), interval: Some(share.interval) };
        Point::of(handicap * 100.0, claimed.map(|share| share * 100.0))
    };
    Series::through(style, shares.filter(|(_, share)| share.of > 0).map(point))
}

/// Of our way and then of the common ones.
fn ways(summary: &CalibrationSummary, figure: Figure) -> Vec<Series> {
    let ours = summary.ours.iter().filter(|power| power.figure == figure);
    let mut ways = vec![shares(style(0), ours.map(|power| (power.handicap, power.claimed)))];
    for (place, (runs, threshold, _)) in (1..).zip(COMMON) {
        let rows = summary.common.iter().filter(|row| {
            row.figure == figure && row.runs == runs && (row.threshold - threshold).abs() < 1e-9
        });
        ways.push(shares(style(place), rows.map(|row| (row.handicap, row.claimed))));
    }
    ways
}
