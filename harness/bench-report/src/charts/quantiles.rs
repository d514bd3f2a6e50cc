//! The quantile function of latency, to 99.999 % where the trials have requests enough for it.

use super::super::Run;
use super::super::format::load;
use super::series::{legend, series};
use super::{Axis, Chart, Mark, Panel, Picture, Point, Row, Series, Style, time_tick, trimmed};
use bench_core::Cell;
use bench_core::workload::Workload;

/// The probabilities that the axis names, and between which lines are drawn. Faster requests than the median spread so
/// widely that they would take most of the height.
const NAMED: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.999_99];

/// A percentile is well supported where at least this many requests of every trial took longer. Below it one slow
/// request more or less moves the percentile a lot.
const ENOUGH: u64 = 10;

/// The place of a probability on the logarithmic axis: of how many requests one took longer.
fn place(probability: f64) -> f64 {
    1.0 / (1.0 - probability)
}

/// The percentile at a place: 99.9.
fn percentile(place: f64) -> String {
    trimmed(&format!("{:.4}", (1.0 - 1.0 / place) * 100.0)).to_owned()
}

/// How many of a trial's requests lie beyond a probability.
fn beyond(requests: u64, probability: f64) -> u64 {
    // 100,000 requests have ten beyond 0.9999, and not the 9.99999 of binary fractions.
    (requests as f64 * (1.0 - probability) + 1e-6).floor() as u64
}

/// A cell's quantile function as far as it is well supported, with a mark at each named percentile.
fn line(cell: &Cell, style: Style) -> Series {
    let requests = cell.requests_of_a_trial.unwrap_or(0);
    let [first, .., last] = NAMED;
    let is_drawn = |of: f64| (first..=last).contains(&of) && beyond(requests, of) >= ENOUGH;
    let drawn = cell.quantiles.iter().filter(|(of, us)| is_drawn(*of) && *us > 0.0);
    let points = drawn.map(|(of, us)| {
        let mark = if NAMED.contains(of) { Mark::Full } else { Mark::None };
        Point::at(place(*of), *us, mark)
    });
    Series::through(style, points)
}

/// The quantile function of latency at the headline's load; the tail is stretched so that from 90 on each step to the
/// right leaves a tenth of the requests.
pub(crate) fn picture(run: &Run) -> Option<Picture> {
    run.summary.cells.iter().find(|cell| !cell.quantiles.is_empty())?;
    let panel = |Workload { name, .. }: &Workload| {
        let level = run.plan.headline_level(name);
        let cells = series(run).into_iter();
        let lines =
            cells.filter_map(|series| Some(line(series.cell(run, name, level.amount())?, series.style)));
        let title = format!("{name} at {}: latency", load(level));
        Panel::new(title, lines, "latency was not measured")
    };
    let panels: Vec<Panel> = run.measured_workloads().map(panel).collect();
    let points = panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.points);
    let last = points.map(|point| point.x).fold(place(0.99), f64::max);
    let x = Axis {
        name: "percentile of requests, % (the tail is stretched)".to_owned(),
        range: Some((place(0.5) / 1.25, last * 1.25)),
        ticks: NAMED.map(place).to_vec(),
        ..Axis::log("", percentile)
    };
    let (alt, counted, medians) = match run.plan.campaign.open {
        None => (
            "Quantile function of latency",
            "",
            "Points are medians over blocks of that percentile, at the headline's load",
        ),
        Some(_) => (
            "Latency by percentile",
            ", counted from the moment at which it was to be sent (by bombardier from the send)",
            "Medians over blocks, at the headline's rate",
        ),
    };
    let note = format!(
        "At 99, one request in a hundred took longer than the line's height{counted}; from 90 on each \
         step to the right leaves a tenth of the requests. {medians}. Lines end where fewer than 10 requests of a trial took \
         longer: there chance moves them a lot."
    );
    let rows = vec![Row::plot([x, Axis::log("latency", time_tick)], panels, 2, 260.0)];
    let chart = Chart { rows, legend: legend(run, 2.0), ..Chart::default() };
    Some(Picture::new("quantiles.svg", alt, note, chart))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_beyond_a_percentile_are_counted_whole() {
        assert_eq!(beyond(100_000, 0.9999), 10);
        assert_eq!(beyond(99_999, 0.9999), 9);
        assert_eq!(beyond(100_000, 0.999_99), 1);
        assert_eq!(beyond(99_999, 0.999_99), 0);
    }
}
