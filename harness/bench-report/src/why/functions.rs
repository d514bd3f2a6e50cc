//! Instructions for a request, by function and server.

use crate::columns::Columns;
use crate::format::{dash, percent, thousands};
use crate::searches::groups;
use bench_analysis::why::{Function, Instructions, WhySummary};

/// A function is listed where it takes this share of one server's instructions at least.
const LISTED: f64 = 0.02;

/// The last two rows.
const REST: &str = "all others";
const ALL: &str = "**all**";

/// The section; empty where nothing was counted.
pub(super) fn section(summary: &WhySummary) -> String {
    let counted = &summary.instructions;
    if counted.is_empty() {
        return String::new();
    }
    format!(
        "## Instructions by function\n\n{}\nInstructions for a {} request in process, from its bytes to those of its \
         answer, by callgrind: in a function itself, without those of functions that it calls. What the compiler has \
         put into a function counts as that function's. A list has what takes {} of a server's instructions or more. \
         Instructions are no time: some take longer than others.\n",
        table(counted),
        summary.workload,
        percent(LISTED),
    )
}

/// The dearest functions of any server first; then the rest and the whole.
pub(super) fn table(counted: &[Instructions]) -> String {
    let listed = listed(counted);
    let is_listed = |function: &&Function| listed.contains(&function.function.as_str());
    let cell = |name: &&str, server: &&Instructions| match *name {
        REST => {
            let rest = server.functions.iter().filter(|function| !is_listed(function));
            thousands(rest.map(|function| function.per_request).sum())
        }
        ALL => thousands(server.per_request),
        name => dash(server.function(name), |function| {
            format!("{} ({})", thousands(function.per_request), percent(function.share))
        }),
    };
    Columns::of(1, listed.iter().copied().chain([REST, ALL]))
        .column("function", |name| *name)
        .columns(counted.iter().map(|server| (&server.server, server)), cell)
        .column("", |_| "")
        .markdown()
}

fn listed(counted: &[Instructions]) -> Vec<&str> {
    let all = counted.iter().flat_map(|server| &server.functions).filter(|function| function.share >= LISTED);
    let mut all: Vec<_> = all.collect();
    all.sort_by(|a, b| b.per_request.total_cmp(&a.per_request));
    groups(&all, |function| function.function.as_str()).into_iter().map(|(name, _)| name).collect()
}
