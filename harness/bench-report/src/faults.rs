//! What went wrong, above every result: one line for each fault, the gravest first. Its words are in
//! `templates/fault.md.jinja`.

use anyhow::Result;
use minijinja::context;

use super::Run;
use super::format::{count, load, significant};
use super::templates::{data, fill};
use bench_core::faults::{Fault, Kind};
use bench_core::load::failure::{NOT_JSON_RPC, OTHER_CALL};

/// Each fault of a run as a line of a list.
pub(super) fn all(run: &Run) -> Result<Vec<String>> {
    let faults = run.summary.faults.iter();
    faults.map(|fault| line(run.label(&fault.server), fault)).collect()
}

/// A fault in a line, without its full stop, of a server by this name.
pub(super) fn words(server: &str, fault: &Fault) -> Result<String> {
    let line = line(server, fault)?.replace("**", "");
    Ok(line.trim_start_matches("- ").trim_end_matches('.').to_owned())
}

fn line(server: &str, fault: &Fault) -> Result<String> {
    // Of single answers only their number.
    let of = fault.of.unwrap_or(fault.of_trials).max(1);
    let percent = fault.count as f64 / of as f64 * 100.0;
    let what = match &fault.kind {
        Kind::Wrong(how) if how == OTHER_CALL => "Answers to another call",
        Kind::Wrong(how) if how == NOT_JSON_RPC => "Answers that are no JSON-RPC",
        _ => "Wrong answers",
    };
    let filled = fill(
        "fault",
        context! {
            server,
            what,
            of,
            percent => if percent >= 1.0 { format!("{percent:.0}") } else { significant(percent) },
            tries => if fault.of_trials == 1 { "1 try".to_owned() } else { format!("{} tries", count(fault.of_trials)) },
            from => load(fault.from),
            after_s => fault.after_s.map(|s| format!("{s:.1}")),
            example => fault.example.as_deref(),
            ..data(fault),
        },
    )?;
    Ok(filled.trim_end().to_owned())
}
