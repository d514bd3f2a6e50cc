//! The charts of a campaign's run: figures against the load, latency against the rate, and CPU time for a request.

use super::super::format::{at, list, thousands, time_us};
use super::super::tables::unit;
use super::super::{Run, sections, views};
use super::series::{SeriesOf, by_workload, series, styles};
use super::{
    Axis, Bar, Chart, Mark, NOTHING, Panel, Picture, Point, Row, Series, Style, quantiles, resources, short,
    time_tick,
};
use bench_model::config::Server;
use bench_model::figure::Figure;

/// A chart of a figure against the load: its file, what it is called, its axis, the figure and the axis' unit of it.
type AgainstLoad = (&'static str, &'static str, &'static str, Figure, f64, fn(f64) -> String);

const MIB: f64 = 1024.0 * 1024.0;
const P99: AgainstLoad = ("p99.svg", "p99 latency", "latency", Figure::P99Us, 1.0, time_tick);
const CLOSED: [AgainstLoad; 2] = [
    (
        "throughput.svg",
        "successful requests a second",
        "requests/s",
        Figure::RequestsPerSecond,
        1.0,
        thousands,
    ),
    P99,
];
const OPEN: [AgainstLoad; 3] = [
    P99,
    ("cpu.svg", "server CPU", "cores", Figure::ServerCores, 1.0, short),
    ("memory.svg", "peak memory of the server", "MiB", Figure::PeakMemoryBytes, MIB, short),
];

/// The charts of a run's report, in its order.
pub(crate) fn pictures(run: &Run) -> Vec<Picture> {
    let mut pictures = against_load(run);
    pictures.extend(latency_against_rate(run));
    pictures.extend(cpu_bars(run));
    // Curves are of all rates; these charts are of one.
    if !views::show_rates(run) {
        pictures.extend(quantiles::picture(run));
    }
    pictures.extend(resources::pictures(run));
    pictures
}

/// Figures against connections or, in an open loop, against the rate. Arms are too many for lines of a chart.
fn against_load(run: &Run) -> Vec<Picture> {
    let is_open = run.plan.campaign.open.is_some();
    // Against one rate nothing has a course; the table has its figures.
    if !run.has_sweep() || sections::is_duet(run) || (is_open && run.plan.amounts().len() < 2) {
        return Vec::new();
    }
    // Curves show CPU and memory already.
    let open: &[AgainstLoad] = if views::show_rates(run) { &[P99] } else { &OPEN };
    let charts = if is_open { open } else { &CLOSED };
    let (against, x) = if is_open { ("the rate", "requested requests/s") } else { (unit(run), unit(run)) };
    let picture = |(place, chart): (usize, &AgainstLoad)| {
        let (file, title, axis, figure, one, write) = *chart;
        let amounts = run.plan.amounts().into_iter().map(f64::from);
        let panel = |workload: &str| {
            let series = series(run).into_iter().map(|series| of_load(run, &series, workload, figure, one));
            Panel::new(format!("{workload}: {title}"), series, NOTHING)
        };
        let alt = match figure {
            Figure::RequestsPerSecond => "Successful requests a second",
            Figure::P99Us => "99th percentile of latency",
            Figure::ServerCores => "Server CPU",
            _ => "Server memory",
        };
        let note = "Points are medians over blocks, vertical lines their 95 % intervals; servers stand side by side \
            at each load. Panels side by side have the same scale.";
        let note = if place + 1 == charts.len() { note } else { "" };
        let axes = [Axis::slots(x, amounts, thousands), Axis::log(axis, write)];
        Picture::new(file, format!("{alt} against {against}"), note, by_workload(run, axes, panel))
    };
    charts.iter().enumerate().map(picture).collect()
}

/// A server's figure at each load.
fn of_load(run: &Run, series: &SeriesOf<'_>, workload: &str, figure: Figure, unit: f64) -> Series {
    let is_open = run.plan.campaign.open.is_some();
    let point = |amount: u32| {
        let cell = series.cell(run, workload, amount)?;
        // Its latency is from the send, and the others' from when a request was due.
        if is_open && figure == Figure::P99Us && !cell.level.tool.can().tells_when_due {
            return None;
        }
        Some(Point::of(amount, cell.figure(figure)?.map(|value| value / unit)))
    };
    Series::through(series.style, rising(run).into_iter().filter_map(point))
}

/// The loads, the lowest first.
fn rising(run: &Run) -> Vec<u32> {
    let mut amounts = run.plan.amounts();
    amounts.sort_unstable();
    amounts
}

/// p99 against the rate that was achieved, a line for each server through the loads of a closed loop: where more
/// connections bring more latency and no more rate, the server is saturated. None with fewer than three loads.
fn latency_against_rate(run: &Run) -> Option<Picture> {
    if run.plan.campaign.open.is_some() || run.plan.amounts().len() < 3 || sections::is_duet(run) {
        return None;
    }
    let line = |series: SeriesOf<'_>, workload: &str| {
        let point = |amount: u32| {
            let cell = series.cell(run, workload, amount)?;
            let figure = |figure: Figure| Some(cell.figure(figure)?.value);
            Some(Point::at(figure(Figure::RequestsPerSecond)?, figure(Figure::P99Us)?, Mark::Full))
        };
        Series::through(series.style, rising(run).into_iter().filter_map(point))
    };
    let panel = |workload: &str| {
        let series = series(run).into_iter().map(|series| line(series, workload));
        Panel::new(format!("{workload}: p99 against the rate reached"), series, NOTHING)
    };
    let axes = [Axis::linear("successful requests/s", thousands), Axis::log("p99 latency", time_tick)];
    let loads = list(run.plan.amounts().into_iter().map(|amount| thousands(amount.into())));
    let unit = unit(run);
    let note = format!(
        "Each line goes through the loads ({loads} {unit}), lowest first. Where it rises and no longer goes right, \
         more {unit} bring only waiting."
    );
    let alt = "99th percentile of latency against the rate reached";
    Some(Picture::new("latency-rate.svg", alt, note, by_workload(run, axes, panel)))
}

/// CPU time for a request at the headline's load, as bars from zero.
fn cpu_bars(run: &Run) -> Option<Picture> {
    if !run.has_sweep() || run.plan.campaign.open.is_some() || sections::is_duet(run) {
        return None;
    }
    let servers = || run.plan.servers.iter().zip(styles(&run.plan.servers));
    let column = |workload: &str| {
        let level = run.plan.headline_level(workload);
        let bar = |(server, style): (&Server, Style)| {
            let cpu = run.summary.cell(&server.name, workload, level)?.figure(Figure::CpuUsPerRequest)?;
            Some(Bar::of(cpu.value, style.colour(), 1.0, time_us(cpu.value)))
        };
        let title = format!("{}: CPU time for a request", at(workload, level));
        (title, servers().map(|server| bar(server).unwrap_or_default()).collect())
    };
    let names = servers().map(|(server, _)| (server.label().to_owned(), false)).collect();
    let bars = Row::bars(names, run.measured_workloads().map(|workload| column(&workload.name)).collect());
    let note = "Bars begin at zero; each column has a scale of its own.";
    let chart = Chart { rows: vec![bars], ..Chart::default() };
    Some(Picture::new("cpu-per-request.svg", "Server CPU time for a request", note, chart))
}
