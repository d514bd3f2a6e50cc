//! "Why it fails": each likely cause as a sentence with its evidence, and what came of trying its remedy.

use super::Run;
use super::format::{count, known, list, load, percent, time_ms};
use bench_analysis::diagnosis::{Cause, Confirmation, Diagnosis, Standing, Symptom};
use bench_analysis::{Diagnosed, TriedRemedy};
use bench_model::load::Client;

/// The section; empty where nothing failed and no server was held back.
pub fn section(run: &Run) -> String {
    let found = &run.summary.causes;
    if found.is_empty() {
        return String::new();
    }
    let cells: String = found.iter().map(|cell| explained(cell, &run.summary.remedies)).collect();
    format!(
        "## Why it fails\n\n\
         A request is bad that failed or took longer than the timeout. A cause is named where a counter moved and \
         explains at least half of the bad requests; where none is bad, half of the time, or of the requests slower \
         than 0.95 s. It is *likely* until a remedy was tried.\n\n{cells}"
    )
}

/// One server and load: how much failed, and each of its causes.
pub(super) fn explained(cell: &Diagnosed, remedies: &[TriedRemedy]) -> String {
    if let Some(level) = cell.open {
        let background = if level.disturbed { ", with the background load" } else { "" };
        let at = format!(" at {} by {}{background}", load(level), level.tool.name());
        return explained_at(cell, &at, remedies);
    }
    let client = by_client(cell.client);
    let tool = known(cell.tool, "", |tool| format!(" by {}", tool.name()));
    explained_at(cell, &format!(" at {}{tool}{client}", count(cell.connections.into())), remedies)
}

/// A client that is not the usual one, as the end of a load.
pub(super) fn by_client(client: Client) -> String {
    if client.is_default() { String::new() } else { format!(", client {}", client.name()) }
}

/// The same where the load is more than connections: `at` says what it was.
pub(super) fn explained_at(cell: &Diagnosed, at: &str, remedies: &[TriedRemedy]) -> String {
    let (server, workload) = (&cell.server, &cell.workload);
    let causes = cell.diagnosis.causes.iter().map(|cause| {
        let tried: Vec<&TriedRemedy> = remedies.iter().filter(|tried| is_of(tried, cell, cause)).collect();
        cause_line(cause, &tried)
    });
    let unknown = cell.diagnosis.is_unknown().then(|| {
        let lacks = list(&cell.diagnosis.unavailable);
        let lacks = if lacks.is_empty() { lacks } else { format!("; unavailable were {lacks}") };
        format!("unknown: nothing that is counted explains half of it{lacks}.")
    });
    let lines: String = causes.chain(unknown).map(|line| format!("  - {line}\n")).collect();
    format!("- **{server}, {workload}{at}**: {}\n{lines}", extent(cell))
}

fn is_of(tried: &TriedRemedy, cell: &Diagnosed, cause: &Cause) -> bool {
    let plan = &tried.plan;
    (&plan.server, &plan.workload, plan.connections, plan.client, plan.cause.kind)
        == (&cell.server, &cell.workload, cell.connections, cell.client, cause.kind)
}

/// How much failed.
fn extent(cell: &Diagnosed) -> String {
    let Diagnosis { trials, failed_trials, bad_requests, failed_requests, timeout_ms, .. } = cell.diagnosis;
    let held = known(cell.diagnosis.held, "", |held| {
        format!("; no more than {} connections were held where not all were", count(held))
    });
    if failed_trials == 0 {
        return format!("no request was bad, but it is held back{held}");
    }
    let slow = match bad_requests.saturating_sub(failed_requests) {
        0 => String::new(),
        slow => format!(", at least {} took longer than {}", count(slow), time_ms(timeout_ms)),
    };
    format!(
        "{} of {} requests bad ({} failed{slow}), in {failed_trials} of {trials} trials{held}",
        count(bad_requests),
        count(cell.diagnosis.requests),
        count(failed_requests),
    )
}

/// A cause, how sure it is, and what its remedies did.
fn cause_line(cause: &Cause, tried: &[&TriedRemedy]) -> String {
    let of = match cause.symptom {
        Symptom::Failing => "bad requests",
        Symptom::Slow => "time",
        Symptom::Silent | Symptom::Growing => return format!("{}.", cause.sentence),
        Symptom::Stepped => "requests slower than 0.95 s",
    };
    let explains = percent(cause.explains);
    let standing = standing_words(tried);
    let tried =
        tried.iter().map(|tried| match (&tried.confirmation, &tried.plan.remedied, &tried.plan.refused) {
            (Some(confirmation), Some((_, change)), _) => outcome(change, confirmation, cause.symptom),
            (_, _, Some(reason)) => format!(" The remedy can't be tried: {reason}."),
            _ => String::new(),
        });
    let tried: String = tried.collect();
    format!("{standing}: {} (explains {explains} of the {of}).{tried}", cause.sentence)
}

/// How sure a cause is after its remedies: confirmed by any of them that took the symptom away, refuted where none
/// changed it.
fn standing_words(tried: &[&TriedRemedy]) -> &'static str {
    let standings: Vec<Standing> =
        tried.iter().filter_map(|tried| Some(tried.confirmation?.standing)).collect();
    if standings.is_empty() {
        "likely"
    } else if standings.contains(&Standing::Confirmed) {
        "**confirmed**"
    } else if standings.iter().all(|standing| *standing == Standing::Refuted) {
        "**refuted**"
    } else {
        "likely, and not decided by the remedy"
    }
}

fn outcome(change: &str, confirmation: &Confirmation, symptom: Symptom) -> String {
    let Confirmation { before, after, chance, .. } = confirmation;
    let what = match symptom {
        Symptom::Failing => "failed",
        Symptom::Slow | Symptom::Stepped | Symptom::Silent | Symptom::Growing => "were slow",
    };
    format!(
        " With {change}, {} of {} trials {what}; without it {} of {} (by luck alone: {:.1} %).",
        after.bad,
        after.of,
        before.bad,
        before.of,
        chance * 100.0
    )
}
