//! The lines of a chart as data, for the page's script to draw them with a zoom.

use serde::Serialize;

use crate::format::joined;

use super::super::charts::{Axis, Chart, Key, Kind, Plot, Row, Series, Style};

/// A chart's panels.
#[derive(Debug, Serialize)]
pub(super) struct Zoom {
    panels: Vec<Panel>,
}

#[derive(Debug, Serialize)]
struct Panel {
    title: String,
    x: Scale,
    y: Scale,
    lines: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Scale {
    name: String,
    log: bool,
    /// How the script writes a value: `time` of microseconds, `percentile` of how many requests one was slower, or
    /// `number`.
    write: &'static str,
}

#[derive(Debug, Serialize)]
struct Line {
    name: String,
    /// The page's variable with its colour.
    colour: String,
    width: f64,
    is_dashed: bool,
    x: Vec<f64>,
    y: Vec<f64>,
}

/// The panels with lines; none where the chart has others alone.
pub(super) fn zoom(chart: &Chart) -> Option<Zoom> {
    let plots = chart.rows.iter().filter_map(|row| match row {
        Row::Plot(plot) => Some(plot),
        _ => None,
    });
    let plots: Vec<&Plot> = plots.collect();
    // Of rows below each other the last one alone names their axis.
    let x_name = plots.last().map_or("", |plot| &plot.axes[0].name);
    let panels: Vec<Panel> = plots.iter().flat_map(|plot| panels(plot, x_name, &chart.legend)).collect();
    (!panels.is_empty()).then_some(Zoom { panels })
}

fn panels(plot: &Plot, x_name: &str, legend: &[(Key, String)]) -> Vec<Panel> {
    let all = plot.panels.iter().filter_map(|panel| {
        let lines: Vec<Line> = panel.series.iter().filter_map(|series| line(series, legend)).collect();
        let title = joined([&plot.title, &panel.title].into_iter().filter(|part| !part.is_empty()), ": ");
        let [x, y] = &plot.axes;
        let mut panel = Panel { title, x: scale(x), y: scale(y), lines };
        if panel.x.name.is_empty() {
            panel.x.name = x_name.to_owned();
        }
        (!panel.lines.is_empty()).then_some(panel)
    });
    all.collect()
}

fn scale(axis: &Axis) -> Scale {
    // An axis has a function that writes its ticks, which a script can't call; what it writes of one value says which
    // it is.
    let write = match ((axis.write)(1_000.0).as_str(), (axis.write)(10.0).as_str()) {
        ("1 ms", _) => "time",
        (_, "90") => "percentile",
        _ => "number",
    };
    Scale { name: axis.name.clone(), log: axis.kind == Kind::Log, write }
}

fn line(series: &Series, legend: &[(Key, String)]) -> Option<Line> {
    let Style { colour, variant } = series.style;
    if series.width == 0.0 || series.points.len() < 2 {
        return None;
    }
    let is_own = |key: &Key| matches!(key, Key::Line(style, ..) if *style == series.style);
    let name = legend.iter().find(|(key, _)| is_own(key)).map_or("", |(_, name)| name);
    let thin = if series.width < 2.0 { " (thin)" } else { "" };
    // No more digits than a screen shows.
    let digits = |value: f64| format!("{value:.5e}").parse().unwrap_or(value);
    Some(Line {
        name: format!("{name}{thin}"),
        colour: super::super::charts::palette::variable(colour),
        width: series.width,
        is_dashed: variant > 0,
        x: series.points.iter().map(|point| digits(point.x)).collect(),
        y: series.points.iter().map(|point| digits(point.y)).collect(),
    })
}
