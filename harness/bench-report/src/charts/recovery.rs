//! A server through an overload: p99, and below it the share of the measured requests that were answered in time.

use super::super::Run;
use super::super::format::{at, known, percent, thousands};
use super::series::{legend, styles};
use super::{Axis, Chart, Panel, Row, Series, time_tick};
use bench_analysis::LatencyMoment;
use bench_model::config::{Background, Server};
use bench_model::load::Level;

/// About as many marks on a line; more would hide it.
const MARKS: usize = 10;

/// The chart; `None` where no recovery was measured.
pub(crate) fn chart(run: &Run) -> Option<Chart> {
    run.summary.recovery.first()?;
    let p99 = |_: Level, moment: &LatencyMoment| Some(moment.p99_us).filter(|us| *us > 0.0);
    let share = |level: Level, moment: &LatencyMoment| {
        // Where answers to requests of the part before are counted in it, there may be a few more than were due.
        Some((moment.answered_per_s? / f64::from(level.rate?)).min(1.0))
    };
    let x = |name: &str| {
        let range = Some((0.0, run.plan.campaign.window_ms as f64));
        Axis { range, ..Axis::linear(name, thousands) }
    };
    let time = "time in the window, ms";
    let share_axis = Axis { range: Some((0.0, 1.05)), ..Axis::linear("share", percent) };
    let mut moments = run.summary.cells.iter().flat_map(|cell| &cell.latency);
    let has_share = moments.any(|moment| moment.answered_per_s.is_some());
    let axes = [x(if has_share { "" } else { time }), Axis::log("latency", time_tick)];
    let mut rows = vec![plot(run, "p99 from the intended send", axes, 260.0, p99)];
    if has_share {
        rows.push(plot(run, "answered in time, of all that were due", [x(time), share_axis], 160.0, share));
    }
    Some(Chart { rows, legend: legend(run, 2.0), ..Chart::default() })
}

/// What is drawn of a moment at a load.
type Value = fn(Level, &LatencyMoment) -> Option<f64>;

fn plot(run: &Run, what: &str, axes: [Axis; 2], height: f64, value: Value) -> Row {
    let background = run.plan.campaign.open.as_ref().and_then(|open| open.background.as_ref());
    let band = |other: &Background| Some((other.from_ms as f64, (other.from_ms + other.for_ms?) as f64));
    let panel = |workload: &str| {
        let found = |server: &str| {
            run.summary.recovery.iter().find(|found| found.workload == workload && found.server == server)
        };
        let servers = run.plan.servers.iter().zip(styles(&run.plan.servers)).enumerate();
        let line = |(index, (server, style)): (usize, (&Server, _))| {
            let level = found(&server.name).map(|found| found.level);
            let cell = level.and_then(|level| run.summary.cell(&server.name, workload, level));
            let course = cell.into_iter().flat_map(|cell| &cell.latency);
            let points: Vec<(f64, f64)> =
                course.filter_map(|moment| Some((moment.t_ms, value(level?, moment)?))).collect();
            Series::marked(style, &points, MARKS, (index, run.plan.servers.len()))
        };
        let first = run.plan.servers.iter().find_map(|server| found(&server.name));
        let title = known(first, workload, |found| format!("{}: {what}", at(workload, found.level)));
        Panel { band: background.and_then(band), ..Panel::new(title, servers.map(line), "not measured") }
    };
    let panels = run.measured_workloads().map(|workload| panel(&workload.name)).collect();
    Row::plot(axes, panels, 1, height)
}
