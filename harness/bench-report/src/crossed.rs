//! HTTP and JSON-RPC apart: what changing one layer alone does, and its share in what changing both does.

use super::Run;
use super::columns::Columns;
use super::format::{at, dash, estimate, known, percent, ratio};
use bench_analysis::crossed::Step;
use bench_model::config::Placement;

/// The section of a run whose headline does not show it already: that of its duets, or else its own.
pub(super) fn section(run: &Run) -> String {
    let duets = run.duets.as_deref().filter(|duets| !duets.summary.crossed.is_empty());
    let shown = duets.or_else(|| Some(run).filter(|run| !is_headline(run)));
    let shown = shown.filter(|run| !run.summary.crossed.is_empty());
    known(shown, "", |run| format!("## HTTP and JSON-RPC apart\n\n{}", table(run)))
}

/// Whether a run's headline is this table.
pub(super) fn is_headline(run: &Run) -> bool {
    run.plan.campaign.environment.placement == Placement::Duet && !run.summary.crossed.is_empty()
}

/// A row for each request, load and pair of servers that differ in both layers.
pub(super) fn table(run: &Run) -> String {
    let share = |step: &Step| dash(step.share, |share| estimate(share, percent));
    let table = Columns::of(4, &run.summary.crossed)
        .column("request", |one| at(&one.workload, one.level))
        .column("server", |one| run.label(&one.server))
        .column("over", |one| run.label(&one.over))
        .column("by way of", |one| run.label(&one.via))
        .column("HTTP alone", |one| ratio(one.http.cpu))
        .column("JSON-RPC alone", |one| ratio(one.rpc.cpu))
        .column("both", |one| ratio(one.whole))
        .column("the two multiplied, over both", |one| dash(one.product_over_whole, ratio))
        .column("HTTP's share", |one| share(&one.http))
        .column("JSON-RPC's share", |one| share(&one.rpc));
    format!(
        "How many times as much CPU a request takes where HTTP alone, JSON-RPC alone or both are changed, and the \
         share of each in the logarithm of both; no share where both together are not distinguishable from 1.\n\n{}\n\
         Each ratio was measured and none is modelled. Intervals of ratios allow for all comparisons of the run; those \
         of shares and of the product are by block and right by themselves with 95 %. What HTTP's and JSON-RPC's \
         shares leave over is what changing one does to the cost of the other, and noise.\n",
        table.markdown()
    )
}
