//! What of the answers under load was not compared with the right ones, for a first screen.

use minijinja::{Value, context};

use super::Run;
use super::format::{distinct, list, significant};
use bench_core::Cell;
use bench_core::figure::Figure;
use bench_core::load::LoadTool;
use bench_core::workload::{Expected, Traffic, Workload};

/// With none wrong among n answers that were drawn, up to 3 / n of all may be, with 95 % confidence.
const UNSEEN: f64 = 3.0;

/// A line for each workload whose answers were not all compared; empty where all were, and for servers that count their
/// own errors and are loaded by a tool that reads no answer.
pub(super) fn lines(run: &Run) -> Vec<Value> {
    run.measured_workloads().filter_map(|workload| line(run, workload)).collect()
}

fn line(run: &Run, workload: &Workload) -> Option<Value> {
    let cells = || run.summary.cells.iter().filter(|cell| cell.workload == workload.name);
    if run.plan.campaign.hold
        || run.plan.campaign.stages.is_some()
        || cells().any(|cell| cell.differences.is_some())
    {
        return None;
    }
    let requests =
        |cell: &Cell| cell.figure(Figure::Requests).map_or(0.0, |of| of.value) * cell.completed as f64;
    let all: f64 = cells().map(requests).sum();
    let is_read = cells().all(|cell| cell.level.tool == LoadTool::RpcLoad);
    let ran_already = run.plan.servers.iter().any(|server| server.running_at().is_some());
    if all < 1.0 || (is_read && is_exact(workload)) || (!is_read && !ran_already) {
        return None;
    }
    let tools = distinct(cells().map(|cell| cell.level.tool.name()));
    let under_load: u64 =
        cells().filter_map(|cell| cell.checked.as_ref()).map(|of| of.asked - of.unanswered).sum();
    let around = 2 * cells().map(|cell| cell.completed as u64).sum::<u64>();
    let compared = if under_load > 0 { under_load } else { around };
    let share = (UNSEEN / compared.max(1) as f64 * 100.0).min(100.0);
    Some(context! {
        name => &*workload.name,
        is_read,
        tools => list(tools),
        states_nothing => is_read && states_nothing(workload),
        compared,
        is_around => under_load == 0,
        all => all.round(),
        share => if share >= 10.0 { format!("{share:.0}") } else { significant(share) },
    })
}

/// Whether its one request has one right result, which the load tool compares with each.
fn is_exact(workload: &Workload) -> bool {
    matches!(&workload.traffic, Traffic::One { expected: Expected::Ledger, .. })
        || matches!(
            &workload.traffic,
            Traffic::One { expected: Expected::Answer { leeway, .. } | Expected::Result { leeway, .. }, .. } if leeway.is_none()
        )
}

fn states_nothing(workload: &Workload) -> bool {
    matches!(&workload.traffic, Traffic::One { expected: Expected::NoError, .. })
}
