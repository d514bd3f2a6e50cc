//! Every comparison of a run as data for its tables: what was found, how sure that is, and which blocks were lost.

use minijinja::{Value, context};
use serde::Serialize;

use super::Run;
use super::format::{at, dash, estimate, list, writer};
use super::templates::data;
use super::views::points::words;
use bench_core::Comparison;
use bench_core::config::Placement;
use bench_core::figure::Figure;
use bench_core::plan::layouts;
use bench_core::stats::Estimate;

/// One figure of a compared pair.
#[derive(Serialize)]
struct Row {
    request: String,
    servers: String,
    figure: String,
    /// What both servers have of it.
    of_each: String,
    ratio: Estimate,
    verdict: String,
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
pub(super) fn values<'a>(run: &'a Run) -> Value {
    let parts: Vec<&Run> = run.duets.as_deref().into_iter().chain([run]).collect();
    let parts: Vec<&Run> = parts.into_iter().filter(|part| !compares_nothing(part)).collect();
    // CPU time of a server that another load disturbs is for both loads.
    let pairs = |part: &'a Run| part.summary.comparisons.iter().filter(|pair| !pair.level.disturbed);
    let rows: Vec<Row> =
        parts.iter().flat_map(|part| pairs(part).flat_map(|pair| rows(part, pair))).collect();
    let lost = parts.iter().flat_map(|part| {
        pairs(part).filter(|pair| pair.invalid_blocks > 0).map(|pair| {
            let to = list(pair.lost.iter().map(|(lost, count)| format!("{count} to {}", lost.words())));
            let (request, servers) = (at(&pair.workload, pair.level), part.pair(pair));
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

/// A pair's figures.
fn rows<'a>(run: &'a Run, pair: &'a Comparison) -> impl Iterator<Item = Row> + 'a {
    let Comparison { level, .. } = *pair;
    let side = if is_duet(run) { ", side by side" } else { "" };
    let of_each = move |figure: Figure| {
        let own = |server: &str, other: &str| {
            let beside = is_duet(run).then_some(other);
            let cells = run.summary.cells.iter();
            let mut cells = cells.filter(|cell| cell.workload == pair.workload && cell.level == level);
            let cell = cells.find(|cell| cell.server == server && cell.beside.as_deref() == beside);
            let value = cell.and_then(|cell| cell.figure(figure));
            dash(value, |value| estimate(value, writer(figure)).replace(" [no interval]", ""))
        };
        format!("{}, {}", own(&pair.server, &pair.over), own(&pair.over, &pair.server))
    };
    pair.shown(run.plan.campaign.environment.placement).map(move |(figure, finding)| Row {
        request: at(&pair.workload, level),
        servers: run.pair(pair),
        figure: format!("{}{side}", words(run, figure)),
        of_each: of_each(figure),
        ratio: finding.ratio,
        verdict: finding.words(figure),
        blocks: finding.blocks,
        resolves: finding.ratio.interval.map(|(low, high)| (high / low).sqrt() - 1.0),
    })
}
