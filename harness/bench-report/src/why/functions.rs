//! Instructions for a request, by function and server.

use crate::format::{Table, percent, thousands};
use bench_analysis::why::{Instructions, WhySummary};

/// A function is listed where it takes this share of one server's instructions at least.
const LISTED: f64 = 0.02;

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
        table(counted).markdown(),
        summary.workload,
        percent(LISTED),
    )
}

/// The dearest functions of any server first; then the rest and the whole.
pub(super) fn table(counted: &[Instructions]) -> Table {
    let mut headers = vec!["function"];
    headers.extend(counted.iter().map(|server| server.server.as_str()));
    headers.push("");
    let mut table = Table::new(&headers, 1);
    let mut row = |name: &str, cells: Vec<String>| {
        table.row([vec![name.to_owned()], cells, vec![String::new()]].concat());
    };
    let listed = listed(counted);
    for name in &listed {
        let cell = |server: &Instructions| {
            let function = server.function(name)?;
            Some(format!("{} ({})", thousands(function.per_request), percent(function.share)))
        };
        row(name, counted.iter().map(|server| cell(server).unwrap_or_else(|| "-".to_owned())).collect());
    }
    let rest = |server: &Instructions| {
        let rest = server.functions.iter().filter(|function| !listed.contains(&function.function.as_str()));
        thousands(rest.map(|function| function.per_request).sum())
    };
    row("all others", counted.iter().map(rest).collect());
    row("**all**", counted.iter().map(|server| thousands(server.per_request)).collect());
    table
}

fn listed(counted: &[Instructions]) -> Vec<&str> {
    let all = counted.iter().flat_map(|server| &server.functions).filter(|function| function.share >= LISTED);
    let mut all: Vec<_> = all.collect();
    all.sort_by(|a, b| b.per_request.total_cmp(&a.per_request));
    let mut names: Vec<&str> = Vec::new();
    for function in all {
        if !names.contains(&function.function.as_str()) {
            names.push(&function.function);
        }
    }
    names
}
