//! The section on gateways: what a server in front of another one adds to each request.

use super::Run;
use super::charts::{self, Picture};
use super::format::{
    Table, at, bullets, bytes, count, dash, estimate, load, significant, thousands, time_us,
};
use super::tables::failed_requests;
use bench_analysis::Cell;
use bench_analysis::gateways::{GatewayAdds, is_direct};
use bench_model::config::Server;
use bench_model::figure::Figure;
use bench_stats::Estimate;

/// The whole section; empty where the run has no gateway.
pub(super) fn section(run: &Run) -> String {
    let gateways: Vec<&Server> = run.plan.servers.iter().filter(|server| server.upstream.is_some()).collect();
    if gateways.is_empty() {
        return String::new();
    }
    let is_compared = |server: &Server| gateways.iter().any(|gateway| is_direct(&run.plan, gateway, server));
    // A campaign with users in stages alone has no loads of its own.
    if run.summary.cells.is_empty() {
        return String::new();
    }
    let rows = run.summary.cells.iter().filter_map(|cell| {
        let server = run.plan.servers.iter().find(|server| server.name == cell.server)?;
        (server.upstream.is_some() || is_compared(server)).then(|| row(run, server, cell))
    });
    let headers = "request | server | p50 | p99 | p50 above direct | p99 above direct | CPU µs/request | CPU \
        µs/request behind it | peak memory | peak memory behind it | failed requests | trials";
    format!(
        "## What a gateway adds\n\nThe same requests to a server itself, and through a gateway in front of it. \
         \"Above direct\" is the difference in the same block, the median over blocks with its interval; the server \
         behind the gateway is started afresh for each trial too.\n\n{}",
        Table::of(headers, 2, rows).markdown()
    ) + &curves(run)
        + &kept_answers(run)
        + &limits(run)
}

/// The charts over the rates, each under the heading of all.
fn curves(run: &Run) -> String {
    let pictures: Vec<String> = pictures(run).iter().map(Picture::markdown).collect();
    match pictures.as_slice() {
        [] => String::new(),
        some => format!("\n### CPU and memory by rate\n\n{}", some.join("\n")),
    }
}

/// CPU and memory of gateways and of the servers behind them: a chart for each request that was sent at several rates.
pub(super) fn pictures(run: &Run) -> Vec<Picture> {
    let picture = |workload: &String| {
        Some(Picture {
            file: format!("gateways-{workload}.svg"),
            alt: format!("{workload}: CPU and memory of each gateway and of the server behind it, by rate"),
            note: "Left the gateways, right the server behind each of them, and the same server where it is reached \
                directly.".to_owned(),
            chart: charts::gateways(run, workload)?,
        })
    };
    run.plan.campaign.workloads.iter().filter_map(picture).collect()
}

/// The value of a gateway's option.
fn option<'a>(server: &'a Server, name: &str) -> Option<&'a str> {
    server.upstream.as_ref()?;
    let place = server.args.iter().position(|arg| arg == name)?;
    server.args.get(place + 1).map(String::as_str)
}

/// A gateway's arguments without one option and its value.
fn args_without<'a>(server: &'a Server, name: &str) -> Vec<&'a str> {
    let place = server.args.iter().position(|arg| arg == name);
    let is_other = |at: usize| place.is_none_or(|place| at != place && at != place + 1);
    server.args.iter().enumerate().filter(|(at, _)| is_other(*at)).map(|(_, arg)| arg.as_str()).collect()
}

/// What a cache saves: gateways with and without one that are the same otherwise.
fn kept_answers(run: &Run) -> String {
    const CACHE: &str = "--cache-ms";
    let servers = &run.plan.servers;
    let pairs = servers.iter().filter(|server| option(server, CACHE).is_some()).filter_map(|with| {
        let is_same = |other: &&Server| {
            other.upstream == with.upstream
                && other.overrides == with.overrides
                && other.args.iter().map(String::as_str).eq(args_without(with, CACHE))
        };
        Some((with, servers.iter().find(is_same)?))
    });
    let cells = pairs.flat_map(|(with, without)| {
        let of = move |cell: &&Cell| cell.server == with.name;
        run.summary.cells.iter().filter(of).filter_map(move |cell| {
            Some((with, cell, run.summary.cell(&without.name, &cell.workload, cell.level)?))
        })
    });
    let cpu = |cell: &Cell| {
        let of = |figure| Some(cell.figure(figure)?.value);
        Some(of(Figure::CpuUsPerRequest)? + of(Figure::UpstreamCpuUsPerRequest)?)
    };
    let p50 = |cell: &Cell| cell.figure(Figure::P50Us).map(|value| value.value);
    let rows = cells.map(|(with, cell, without)| {
        let saved = cpu(cell).zip(cpu(without)).filter(|(_, without)| *without > 0.0);
        vec![
            at(&cell.workload, cell.level),
            with.label().to_owned(),
            dash(cpu(without), significant),
            dash(cpu(cell), significant),
            dash(saved, |(with, without)| format!("{:.0} %", (1.0 - with / without) * 100.0)),
            dash(p50(without), time_us),
            dash(p50(cell), time_us),
        ]
    });
    let headers = "request | server | CPU µs/request without the cache | with it | saved | p50 without the cache | \
        with it";
    let table = Table::of(headers, 2, rows);
    if table.is_empty() {
        return String::new();
    }
    format!(
        "\n### What the cache saves\n\nCPU of the gateway and of the server behind it together. The same request \
         again and again is the most that a cache can save.\n\n{}",
        table.markdown()
    )
}

/// The kind of failed requests that a limit makes: HTTP 429.
const LIMITED: &str = "HTTP 4xx";

/// At which rate a limit shows, and how many requests a second are answered and limited there.
fn limits(run: &Run) -> String {
    let window_s = run.plan.campaign.window_ms as f64 / 1e3;
    let limited_per_s = |cell: &Cell| {
        let limited = cell.failed_requests.get(LIMITED).copied().unwrap_or(0);
        limited as f64 / (cell.completed.max(1) as f64 * window_s)
    };
    let limited =
        run.plan.servers.iter().filter_map(|server| Some((server, option(server, "--rate-limit")?)));
    let lines = limited.flat_map(|(server, limit)| {
        let cells: Vec<&Cell> = run.summary.cells.iter().filter(|cell| cell.server == server.name).collect();
        let first = cells.iter().find(|cell| limited_per_s(cell) > 0.0);
        let shows = first.map_or_else(
            || "does not show at these rates".to_owned(),
            |cell| format!("shows from {} on", load(cell.level)),
        );
        let all = format!("{}: the limit of {limit} calls/s {shows}.", server.label());
        let each = cells.into_iter().filter(|cell| limited_per_s(cell) > 0.0).map(move |cell| {
            format!(
                "{}, {}: {} answered/s, {} limited/s (HTTP 429).",
                server.label(),
                at(&cell.workload, cell.level),
                dash(cell.figure(Figure::RequestsPerSecond), |rate| thousands(rate.value)),
                thousands(limited_per_s(cell))
            )
        });
        std::iter::once(all).chain(each).collect::<Vec<_>>()
    });
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        String::new()
    } else {
        format!("\n### At which rate the limit shows\n\n{}", bullets(lines))
    }
}

/// A difference with its sign.
fn difference_us(us: f64) -> String {
    format!("{}{}", if us < 0.0 { "-" } else { "+" }, time_us(us.abs()))
}

fn row(run: &Run, server: &Server, cell: &Cell) -> Vec<String> {
    let value = |cell: &Cell, figure: Figure| cell.figure(figure).map(|estimate| estimate.value);
    let added = run.summary.gateways.iter().find(|added| {
        (&added.server, &added.workload, added.level) == (&server.name, &cell.workload, cell.level)
    });
    let above = |of: fn(&GatewayAdds) -> Option<Estimate>| {
        dash(added.and_then(of), |added| estimate(added, difference_us))
    };
    let shown = |figure: Figure, write: fn(f64) -> String| dash(value(cell, figure), write);
    vec![
        at(&cell.workload, cell.level),
        run.label(&cell.server).to_owned(),
        shown(Figure::P50Us, time_us),
        shown(Figure::P99Us, time_us),
        above(|added| added.p50_us),
        above(|added| added.p99_us),
        shown(Figure::CpuUsPerRequest, significant),
        shown(Figure::UpstreamCpuUsPerRequest, significant),
        shown(Figure::PeakMemoryBytes, bytes),
        shown(Figure::UpstreamMemoryBytes, bytes),
        failed_requests(cell),
        count(cell.completed as u64),
    ]
}
