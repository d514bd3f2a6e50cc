//! Users in stages over time: how many there were, their requests, and their latencies, HTTP and WebSocket side by side
//! on the same scales.

use super::super::Run;
use super::super::format::thousands;
use super::series::styles;
use super::{Axis, Chart, Key, Mark, Panel, Plot, Row, Series, Style, time_tick};
use bench_analysis::stages::StagedSecond;
use bench_model::config::{Server, Stages};
use bench_model::transport::Transport;

/// About as many marks on a line; more would hide it.
const MARKS: usize = 8;

/// What is drawn of a second.
type Value = fn(&StagedSecond) -> Option<f64>;

/// The chart of a request; `None` where no trial of it was valid. `run` is the campaign's, and `users` that of its
/// trials.
pub(crate) fn chart(run: &Run, users: &Run, workload: &str) -> Option<Chart> {
    let stages = run.plan.campaign.stages.as_ref()?;
    users.summary.stages.iter().find(|cell| cell.workload == workload)?;
    let seconds = |name: &str| {
        let range = Some((0.0, stages.duration_ms().div_ceil(1_000) as f64));
        Axis { range, ..Axis::linear(name, thousands) }
    };
    let plot = |what: &str, axes: [Axis; 2], height: f64, value: Value| {
        let panel = |transport: &Transport| panel(run, users, workload, *transport, what, value);
        Row::Plot(Plot {
            title: String::new(),
            axes,
            panels: stages.transports.iter().map(panel).collect(),
            columns: 2,
            height,
        })
    };
    let linear = |name: &str| Axis::linear(name, thousands);
    let rows = vec![
        plot("users", [seconds(""), linear("users")], 110.0, |second| second.users),
        plot("requests/s", [seconds(""), linear("requests/s")], 130.0, |second| Some(second.requests)),
        plot("p50", [seconds(""), Axis::log("latency", time_tick)], 160.0, |second| second.p50_us),
        plot("p99", [seconds("time, s"), Axis::log("latency", time_tick)], 200.0, |second| second.p99_us),
    ];
    let legend =
        styled(run).map(|(server, style)| (Key::Line(style, 2.0, Mark::Full), server.label().to_owned()));
    Some(Chart { rows, legend: legend.collect(), ..Chart::default() })
}

fn styled(run: &Run) -> impl Iterator<Item = (&Server, Style)> {
    run.plan.servers.iter().zip(styles(&run.plan.servers))
}

fn panel(run: &Run, users: &Run, workload: &str, transport: Transport, what: &str, value: Value) -> Panel {
    let count = run.plan.servers.len();
    let line = |(index, (server, style)): (usize, (&Server, Style))| {
        let arm = Stages::arm(&server.name, transport);
        let found = users.summary.stages.iter().find(|cell| cell.server == arm && cell.workload == workload);
        let seconds = found.map_or(&[] as &[StagedSecond], |cell| cell.seconds.as_slice());
        // A second is drawn at its middle.
        let points =
            seconds.iter().enumerate().filter_map(|(at, second)| Some((at as f64 + 0.5, value(second)?)));
        Series::marked(style, &points.collect::<Vec<_>>(), MARKS, (index, count))
    };
    Panel {
        title: format!("{}: {what}", transport.name()),
        series: styled(run).enumerate().map(line).collect(),
        empty: "not measured",
        ..Panel::default()
    }
}
