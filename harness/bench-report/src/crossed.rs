//! HTTP and JSON-RPC apart: a table of the servers by layer, and what changing one layer alone does.

use super::Run;
use super::format::{Table, bullets, estimate, known, load, percent, ratio, significant};
use bench_analysis::crossed::{Crossed, Layer, LayerCell, Path, Step};
use bench_model::config::Placement;
use bench_stats::Estimate;

/// The section of a run whose headline does not show it already: that of its duets, or else its own.
pub(super) fn section(run: &Run) -> String {
    let duets = run.duets.as_deref().filter(|duets| !duets.summary.crossed.is_empty());
    let shown = duets.or_else(|| Some(run).filter(|run| !is_headline(run)));
    let shown = shown.filter(|run| !run.summary.crossed.is_empty());
    known(shown, "", |run| format!("## HTTP and JSON-RPC apart\n\n{}", tables(run)))
}

/// Whether a run's headline is these tables.
pub(super) fn is_headline(run: &Run) -> bool {
    run.plan.campaign.environment.placement == Placement::Duet && !run.summary.crossed.is_empty()
}

/// A table and its sentences for each request and load.
pub(super) fn tables(run: &Run) -> String {
    let mut out: String = run.summary.crossed.iter().map(|crossed| one(run, crossed) + "\n").collect();
    out.push_str(
        "Each ratio was measured and none is modelled. Intervals of ratios allow for all comparisons of the run; \
         those of shares and of the product are by block and right by themselves with 95 %. What HTTP's and \
         JSON-RPC's shares leave over is what changing one does to the cost of the other, and noise.\n",
    );
    out
}

fn one(run: &Run, crossed: &Crossed) -> String {
    let in_path = |step: &&Step| crossed.paths.iter().any(|path| [&path.http, &path.rpc].contains(step));
    let paths = crossed.paths.iter().map(|path| both(run, path));
    let steps =
        crossed.steps.iter().filter(|step| !in_path(step)).map(|step| format!("Changing {}.", alone(step)));
    let others = crossed.beside.iter().map(|(server, cpu)| {
        format!("{} is no cell of this table; it takes **{} times** the CPU.", run.label(server), ratio(*cpu))
    });
    format!(
        "**{}** at {}, {}: server CPU for a request, relative to {}.\n\n{}\n{}",
        crossed.workload,
        load(crossed.level),
        match run.plan.campaign.environment.placement {
            Placement::Duet => "each pair at the same time on one core",
            Placement::OneCore => "one server after the other on one core",
            Placement::Free => "one server after the other on all cores",
        },
        run.label(&crossed.baseline),
        table(crossed).markdown(),
        bullets(paths.chain(steps).chain(others))
    )
}

/// Rows are HTTP, columns JSON-RPC, each in the order in which servers name them.
fn table(crossed: &Crossed) -> Table {
    let distinct = |of: fn(&LayerCell) -> &String| {
        let mut names: Vec<&String> = Vec::new();
        for name in crossed.cells.iter().map(of) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    };
    let (https, rpcs) = (distinct(|cell| &cell.http), distinct(|cell| &cell.rpc));
    let mut headers = vec!["HTTP \\ JSON-RPC"];
    headers.extend(rpcs.iter().map(|rpc| rpc.as_str()));
    let mut table = Table::new(&headers, 1);
    for http in https {
        let cell = |rpc: &&String| {
            let found = crossed.cells.iter().find(|cell| &cell.http == http && cell.rpc == **rpc);
            match found {
                None => "not built".to_owned(),
                Some(cell) if cell.server == crossed.baseline => "1 (baseline)".to_owned(),
                Some(cell) => known(cell.cpu, "not measured", ratio),
            }
        };
        table.row(std::iter::once(http.clone()).chain(rpcs.iter().map(cell)).collect());
    }
    table
}

/// A step in words: which layer alone, from what to what, and the ratio.
fn alone(step: &Step) -> String {
    let Step { layer, from, to, fixed, cpu, .. } = step;
    let (name, preposition) = match layer {
        Layer::Http => ("HTTP", "with"),
        Layer::Rpc => ("JSON-RPC", "on"),
    };
    format!(
        "{name} alone (from {from} to {to}, both {preposition} {fixed}) takes **{} times** the CPU",
        ratio(*cpu)
    )
}

fn both(run: &Run, path: &Path) -> String {
    let share = |share: Estimate| estimate(share, percent);
    let shares = match path.http_share.zip(path.rpc_share) {
        Some((http, rpc)) => {
            format!("Of the logarithm of the whole, HTTP makes {} and JSON-RPC {}.", share(http), share(rpc))
        }
        None => "The whole is not distinguishable from 1, so neither has a share in it.".to_owned(),
    };
    format!(
        "**{}**: changing {}; changing {}; both together {} (the two multiplied: {}{}). {shares}",
        run.label(&path.server),
        alone(&path.http),
        alone(&path.rpc),
        ratio(path.whole),
        significant(path.product),
        known(path.product_over_whole, "", |over| format!(", which is {} times that", ratio(over)))
    )
}
