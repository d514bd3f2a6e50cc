//! The report of connections that are held and carry nothing: what each takes, and how long connecting all at once
//! takes.

use super::Run;
use super::arms::{name, transport};
use super::charts::{self, Curve, Picture};
use super::format::{Table, bytes, count, dash, estimate, list, percent, significant, time_us};
use bench_analysis::fitted_lines::FittedLine;
use bench_analysis::idle_connections::{Held, Storm};

/// The chart's file.
const FILE: &str = "held-connections.svg";

/// The whole section; empty where a campaign sends requests.
pub(super) fn section(run: &Run) -> String {
    if !run.plan.campaign.hold {
        return String::new();
    }
    let held = &run.summary.held;
    let lines = held.iter().map(|of| line(run, of));
    let headers = "server | transport | memory for a connection | memory without any, by the line | largest distance \
        from the line | blocks";
    let memory = Table::of(headers, 2, lines);
    let storms = held.iter().flat_map(|of| of.storms.iter().map(|storm| self::storm(run, of, storm)));
    let headers = "server | transport | connections | connect p50 | connect p99 | all within | server CPU for a \
        connection | memory | failed | trials";
    let storms = Table::of(headers, 2, storms);
    let counts = list(run.plan.connections().into_iter().map(|connections| count(connections.into())));
    let picture = chart(run).map_or_else(String::new, |picture| picture.markdown() + "\n");
    format!(
        "## Connections that carry nothing\n\nConnections: {counts}, each number on a server of its own that was \
         started for it. All of them are opened at once and held; nothing is sent, so over HTTP a server has accepted \
         them and read nothing. A line through the server's memory by relative error in each block: its rise is the \
         memory for a connection, as a median over blocks with a 95 % interval.\n\n{picture}{}\n### Connecting all at \
         once\n\nEach connection's time is from the call of `connect` until it can carry a request: the handshake of \
         TCP and, over WebSocket, its own after that, which HTTP does not have. The load tool's threads share the \
         cores with the server. p50 and p99 are of a trial's connections; medians over trials.\n\n{}",
        memory.markdown(),
        storms.markdown()
    )
}

fn names(run: &Run, held: &Held) -> [String; 2] {
    [name(run, &held.server).to_owned(), transport(run, &held.server).name().to_owned()]
}

fn line(run: &Run, held: &Held) -> Vec<String> {
    let memory = &held.memory;
    let sizes = [memory.slope, memory.intercept].map(|size| dash(size, |size| estimate(size, bytes)));
    let ends = [dash(memory.misfit, percent), memory.blocks.to_string()];
    names(run, held).into_iter().chain(sizes).chain(ends).collect()
}

fn storm(run: &Run, held: &Held, storm: &Storm) -> Vec<String> {
    let figures = [
        count(storm.connections.into()),
        estimate(storm.p50_us, time_us),
        estimate(storm.p99_us, time_us),
        estimate(storm.all_s.map(|seconds| seconds * 1e6), time_us),
        dash(storm.cpu_us, |cpu| format!("{} µs", significant(cpu.value))),
        dash(storm.memory_bytes, |memory| bytes(memory.value)),
        count(storm.failed.values().sum()),
        storm.trials.to_string(),
    ];
    names(run, held).into_iter().chain(figures).collect()
}

/// Bytes in MiB, for ticks at round values.
fn mib(bytes: f64) -> f64 {
    bytes / f64::from(1 << 20)
}

/// A line through a server's memory, in MiB.
pub(super) fn memory_curve(run: &Run, server: &str, panel: String, line: &FittedLine) -> Curve {
    let fitted = line.intercept.zip(line.slope);
    Curve {
        panel,
        server: name(run, server).to_owned(),
        points: line.points.iter().map(|point| (point.x, point.y.map(mib))).collect(),
        fitted: fitted.map(|(at_0, slope)| (mib(at_0.value), mib(slope.value))),
    }
}

/// A server's memory against the connections that it holds; of servers in boxes, another chart has that of the box.
pub(super) fn chart(run: &Run) -> Option<Picture> {
    if !run.summary.boxed.is_empty() {
        return None;
    }
    let curve = |of: &Held| {
        let panel = transport(run, &of.server).name().to_owned();
        memory_curve(run, &of.server, panel, &of.memory)
    };
    let curves: Vec<Curve> = run.summary.held.iter().map(curve).collect();
    Some(Picture {
        file: FILE.to_owned(),
        alt: "A server's memory against the connections that it holds, with fitted lines".to_owned(),
        note: String::new(),
        chart: charts::curves(run, &curves, ["connections held", "memory, MiB"])?,
    })
}
