//! Each server through the window at the headline's load of each workload: a row for each resource.

use super::super::Run;
use super::super::format::{at, thousands};
use super::series::{SeriesOf, legend, series};
use super::{Axis, Chart, Key, Panel, Picture, Plot, Row, Series, short};
use bench_core::workload::Workload;
use bench_core::{Cell, Moment};

/// About as many marks on a line; more would hide it.
const MARKS: usize = 4;

/// Milliseconds of the window, and values.
type Line = Vec<(f64, f64)>;

/// What is drawn of each cell: its name, its unit, the thick line and the thin one.
type Resource = (&'static str, &'static str, fn(&Cell) -> Line, Option<fn(&Cell) -> Line>);

const CPU: Resource = (
    "CPU (thin: of it in the kernel)",
    "cores",
    |cell| over_time(cell, |moment| moment.cores),
    Some(|cell| over_time(cell, |moment| moment.system_cores)),
);
const MEMORY: Resource = (
    "resident memory",
    "MiB",
    |cell| held(cell, |moment| moment.memory_bytes.map(|bytes| bytes / 1024.0 / 1024.0)),
    None,
);
const CONNECTIONS: Resource =
    ("open connections", "connections", |cell| held(cell, |moment| moment.connections), None);
const SWITCHES: Resource = (
    "context switches, voluntary (thin: involuntary)",
    "switches/s",
    |cell| over_time(cell, |moment| moment.voluntary_switches_per_s),
    Some(|cell| over_time(cell, |moment| moment.involuntary_switches_per_s)),
);
const RUN_DELAY: Resource = (
    "run delay: waiting for a core, all threads",
    "ms waited per s",
    |cell| over_time(cell, |moment| moment.run_delay_ms_per_s),
    None,
);
const LATENCY: Resource = (
    "p99 latency (thin: median)",
    "ms",
    |cell| cell.latency.iter().map(|moment| (moment.t_ms, moment.p99_us / 1e3)).collect(),
    Some(|cell| cell.latency.iter().map(|moment| (moment.t_ms, moment.p50_us / 1e3)).collect()),
);

/// What is held at moments.
fn held(cell: &Cell, value: fn(&Moment) -> Option<f64>) -> Line {
    cell.timeline.iter().filter_map(|moment| Some((moment.t_ms, value(moment)?))).collect()
}

/// What is counted over the time since the moment before, and so belongs to its middle. Moments are evenly spaced, and
/// the first one is a step from the start.
fn over_time(cell: &Cell, value: fn(&Moment) -> Option<f64>) -> Line {
    let back_ms = cell.timeline.first().map_or(0.0, |first| first.t_ms / 2.0);
    held(cell, value).into_iter().map(|(t_ms, value)| (t_ms - back_ms, value)).collect()
}

/// The chart of a run whose servers were watched.
pub(crate) fn picture(run: &Run) -> Option<Picture> {
    let is_watched = run.summary.cells.iter().any(|cell| !cell.timeline.is_empty());
    is_watched.then(|| at_headline(run))
}

/// Of a window as long as this, in milliseconds, memory and latency come first: whether they grow is the question.
const LONG_MS: u64 = 60_000;

fn at_headline(run: &Run) -> Picture {
    let note = "What a server used and held at one moment of the window, medians over blocks, at the headline's load. In a \
        closed loop a line that is not level says that the window was not steady.";
    let column = |Workload { name, .. }: &Workload| {
        let level = run.plan.headline_level(name);
        (at(name, level), name.clone(), level.amount())
    };
    let columns: Vec<Column> = run.measured_workloads().map(column).collect();
    let below = "Medians over blocks. A rate stands in the middle of the time that it is of.".to_owned();
    let resources: &[Resource] = if run.plan.campaign.open.is_some() && run.plan.campaign.window_ms >= LONG_MS
    {
        &[MEMORY, LATENCY, CPU, CONNECTIONS]
    } else if run.plan.campaign.stages.is_some() {
        &[CONNECTIONS, LATENCY, CPU, MEMORY]
    } else {
        &[CPU, MEMORY, CONNECTIONS, SWITCHES, RUN_DELAY]
    };
    let chart = chart(run, &columns, resources, below);
    Picture::new("resources.svg", "Each server's resources through the window", note, chart)
}

/// A column of a chart: its title, its workload and its load.
type Column = (String, String, u32);

/// A row for each resource, a panel for each column.
fn chart(run: &Run, columns: &[Column], resources: &[Resource], note: String) -> Chart {
    let window_ms = run.plan.campaign.window_ms as f64;
    let (unit_ms, time, write): (f64, &str, fn(f64) -> String) = match window_ms {
        60e3.. => (60e3, "time in the window, minutes", short),
        _ => (1.0, "time in the window, ms", thousands),
    };
    let row = |(place, resource): (usize, &Resource)| {
        let (title, unit, whole, part) = *resource;
        let panel = |(column, workload, amount): &Column| {
            let all = series(run);
            let line = |series: &SeriesOf<'_>, of: fn(&Cell) -> Line| -> Line {
                let line = series.cell(run, workload, *amount).map_or_else(Vec::new, of);
                line.into_iter().map(|(t_ms, value)| (t_ms / unit_ms, value)).collect()
            };
            let thin = |series: &SeriesOf<'_>| Some(Series::line(series.style, 1.0, &line(series, part?)));
            let thick = |(index, series): (usize, &SeriesOf<'_>)| {
                Series::marked(series.style, &line(series, whole), MARKS, (index, all.len()))
            };
            let series = all.iter().filter_map(thin).chain(all.iter().enumerate().map(thick));
            Panel::new(column.clone(), series, "not read, or unavailable here")
        };
        let name = if place + 1 == resources.len() { time } else { "" };
        let x = Axis { range: Some((0.0, window_ms / unit_ms)), ..Axis::linear(name, write) };
        let (axes, panels) = ([x, Axis::linear(unit, short)], columns.iter().map(panel).collect());
        Row::Plot(Plot { title: title.to_owned(), axes, panels, columns: 2, height: 110.0 })
    };
    let rows: Vec<Row> = resources.iter().enumerate().map(row).collect();
    let mut legend = legend(run, 2.0);
    // A ceiling may have been measured elsewhere and have no line here.
    legend.retain(|(key, _)| rows.iter().any(|row| has_line(row, key)));
    Chart { rows, legend, note, ..Chart::default() }
}

fn has_line(row: &Row, key: &Key) -> bool {
    let Row::Plot(plot) = row else { return false };
    plot.panels.iter().any(|panel| panel.shows(key.style))
}
