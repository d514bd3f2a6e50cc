//! Every comparison of a run as data for its tables: what was found, how sure that is, and which blocks were lost.

use minijinja::{Value, context};
use serde::Serialize;

use super::Run;
use super::format::{at, dash, estimate, list, writer};
use super::templates::data;
use bench_analysis::{Comparison, Finding};
use bench_model::config::Placement;
use bench_model::figure::Figure;
use bench_model::plan::layouts;
use bench_stats::Estimate;

/// One figure of a compared pair.
#[derive(Serialize)]
struct Row {
    request: String,
    servers: String,
    figure: String,
    /// What both servers have of it.
    of_each: String,
    ratio: Estimate,
    /// None where the figure is not judged.
    verdict: Option<String>,
    blocks: usize,
    /// Half of the interval's width, relative.
    resolves: Option<f64>,
}

/// Whether its servers all run in pairs, at the same time on one core: then only CPU time compares in a closed loop.
pub(super) fn is_duet(run: &Run) -> bool {
    run.plan.campaign.environment.placement == Placement::Duet
}

/// Whether each trial of its sweep is made once: that shows that everything works, and no difference.
pub(super) fn compares_nothing(run: &Run) -> bool {
    run.has_sweep() && run.plan.campaign.max_blocks == 1
}

/// What a template shows of all comparisons, duets first; without rows where a run compares nothing.
pub(super) fn values(run: &Run) -> Value {
    let parts: Vec<&Run> = run.duets.as_deref().into_iter().chain([run]).collect();
    let parts: Vec<&Run> = parts.into_iter().filter(|part| !compares_nothing(part)).collect();
    // CPU time of a server that another load disturbs is for both loads.
    let pairs =
        |part: &'_ Run| part.summary.comparisons.clone().into_iter().filter(|pair| !pair.level.disturbed);
    let rows: Vec<Row> =
        parts.iter().flat_map(|part| pairs(part).flat_map(|pair| rows(part, &pair))).collect();
    let lost = parts.iter().flat_map(|part| {
        pairs(part).filter(|pair| pair.invalid_blocks > 0).map(|pair| {
            let to = list(pair.lost.iter().map(|(lost, count)| format!("{count} to {}", lost.words())));
            let (request, servers) = (at(&pair.workload, pair.level), part.pair(&pair));
            context! { request, servers, to, pair => data(pair) }
        })
    });
    let lost: Vec<Value> = lost.collect();
    let judged = parts.iter().filter(|part| !part.summary.comparisons.is_empty()).map(|part| {
        let (counts, window_ms) = (list(&part.summary.block_counts), part.plan.campaign.window_ms);
        let (comparisons, layouts) = (part.summary.comparisons.len(), layouts::words(&part.plan));
        context! { counts, comparisons, window_ms, layouts, is_duet => is_duet(part) }
    });
    let judged: Vec<Value> = judged.collect();
    context! { rows => data(rows), lost, judged, margin => run.plan.campaign.margin.to_string() }
}

/// A pair's figures: those that are judged first.
fn rows(run: &Run, pair: &Comparison) -> Vec<Row> {
    let Comparison { level, .. } = *pair;
    let of = if run.plan.has_batches() { "call" } else { "request" };
    let (side, is_duet) = if is_duet(run) { (", side by side", true) } else { ("", false) };
    let of_each = |figure: Figure| {
        let own = |server: &str, other: &str| {
            let beside = is_duet.then_some(other);
            let cells = run.summary.cells.iter();
            let mut cells = cells.filter(|cell| cell.workload == pair.workload && cell.level == level);
            let cell = cells.find(|cell| cell.server == server && cell.beside.as_deref() == beside);
            let value = cell.and_then(|cell| cell.figure(figure));
            dash(value, |value| estimate(value, writer(figure)).replace(" [no interval]", ""))
        };
        format!("{}, {}", own(&pair.server, &pair.over), own(&pair.over, &pair.server))
    };
    let row = |name: String, figure: Figure, ratio: Estimate, blocks: usize| {
        let (request, servers) = (at(&pair.workload, level), run.pair(pair));
        let resolves = ratio.interval.map(|(low, high)| (high / low).sqrt() - 1.0);
        let of_each = of_each(figure);
        Row { request, servers, figure: name, of_each, ratio, verdict: None, blocks, resolves }
    };
    let judged = |name: String, figure: Figure, finding: &Finding, words: String| Row {
        verdict: Some(words),
        ..row(name, figure, finding.ratio, finding.blocks)
    };
    // The kernel divides a duet's core, and an open loop's rate is the campaign's.
    let rate = (!is_duet && level.rate.is_none())
        .then(|| judged(format!("{of}s/s"), Figure::RequestsPerSecond, &pair.rate, pair.rate.words()));
    let cpu = judged(format!("CPU per {of}{side}"), Figure::CpuUsPerRequest, &pair.cpu, pair.cpu.cpu_words());
    // A p99 of servers that have no moment without work says how many connections wait.
    let p99 = pair.p99_ratio.filter(|_| !is_duet || level.rate.is_some());
    let from_send = pair.p99_from_send_ratio.filter(|_| p99.is_some());
    let p99 =
        [(p99, "p99", Figure::P99Us), (from_send, "p99 from the send", Figure::P99FromSendUs)].into_iter();
    let p99 =
        p99.filter_map(|(ratio, name, of)| Some(row(format!("{name}{side}"), of, ratio?, pair.p99_blocks)));
    rate.into_iter().chain([cpu]).chain(p99).collect()
}
