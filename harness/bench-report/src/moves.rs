//! What moved from one commit's servers to another's, in words: for a terminal, and for the page of a CI's job.

use anyhow::Result;
use minijinja::{Value, context};

use super::format::{count, ratio};
use super::templates::fill;
use bench_core::config::Percent;
use bench_core::moves::{ACCEPTED, Accepted, Compared, Found, Judged, Judgement, Moved, RATE_FALL, State};
use bench_core::stats::Estimate;

/// A line for each comparison. For moves without a reason the lines to add to the file of accepted ones end it.
pub fn text(judgement: &Judgement) -> String {
    let lines: String = judgement.comparisons.iter().map(|one| line(judgement, one)).collect();
    let moves = judgement.to_accept();
    if moves.is_empty() {
        return lines;
    }
    let accepted = toml::to_string(&Accepted { base: String::new(), moves }).unwrap_or_default();
    let accepted = accepted.trim_start_matches("base = \"\"\n").trim();
    format!(
        "{lines}\nWhere that is meant, add it with its reason to {ACCEPTED}, and quote the reason in \
         CHANGELOG.md:\n\n{accepted}\n"
    )
}

/// A heading with the answer, and a table with a row for each comparison, in GitHub's Markdown.
///
/// # Errors
/// A template has no value for a name.
pub fn markdown(judgement: &Judgement) -> Result<String> {
    let row = |one: &Judged| {
        let Compared { server, request, figure, .. } = &one.of;
        let (figure, found, judged) = (self::figure(*figure), found(one), judged(judgement, one));
        context! { server, request, figure, found, judged, has_moved => one.state == State::Moved }
    };
    let rows: Vec<Value> = judgement.comparisons.iter().map(row).collect();
    fill("moves", context! { answer => answer(judgement), base => judgement.short_base(), rows })
}

/// The answer in a few words.
fn answer(judgement: &Judgement) -> String {
    let Judgement { state, only_slower, comparisons, margin, .. } = judgement;
    let mut worst: Vec<&str> =
        comparisons.iter().filter(|one| one.state == *state).map(|one| &*one.of.server).collect();
    worst.dedup();
    let servers = worst.join(", ");
    if worst.is_empty() {
        return "nothing was measured".to_owned();
    }
    match (state, only_slower) {
        (State::Moved, true) => format!("{servers}: slower"),
        (State::Moved, false) => format!("{servers}: moved by more than {margin}"),
        (State::Undecided, _) => format!("{servers}: inconclusive"),
        (State::Still | State::Accepted, true) => "no server got slower".to_owned(),
        (State::Still | State::Accepted, false) => "no server moved without a reason".to_owned(),
    }
}

fn line(judgement: &Judgement, one: &Judged) -> String {
    let Compared { server, request, .. } = &one.of;
    let place = format!("{server} {request}: {}", figure(one.of.figure));
    if one.of.found.is_none() {
        return format!("{place}: {}\n", found(one));
    }
    format!("{place} {}: {}\n", found(one), judged(judgement, one))
}

const fn figure(figure: Moved) -> &'static str {
    match figure {
        Moved::Cpu => "CPU per request",
        Moved::Instructions => "instructions per request",
        Moved::Rate => "requests/s",
    }
}

fn found(one: &Judged) -> String {
    match one.of.found {
        None => "not measured".to_owned(),
        Some(Found::Measured(finding)) => format!("{}, {} blocks", ratio(finding.ratio), finding.blocks),
        Some(Found::Counted(before, now)) => {
            let over = Estimate { value: now / before, interval: None };
            format!("{} ({} instead of {})", ratio(over), count(now as u64), count(before as u64))
        }
    }
}

fn judged(judgement: &Judgement, one: &Judged) -> String {
    let only_slower = judgement.only_slower;
    let by = match one.of.figure {
        Moved::Rate => Percent(RATE_FALL - 1.0),
        Moved::Cpu | Moved::Instructions => judgement.margin,
    };
    match one.state {
        _ if one.of.found.is_none() => "inconclusive".to_owned(),
        State::Accepted => format!("accepted: {}", one.reason.as_deref().unwrap_or_default()),
        State::Still if only_slower => format!("not slower by more than {by}"),
        State::Still => format!("within {by}"),
        State::Undecided if only_slower => format!("may be slower by more than {by}"),
        State::Undecided => format!("may be beyond {by}"),
        State::Moved if only_slower => format!("SLOWER by more than {by}"),
        State::Moved => format!("MOVED by more than {by}"),
    }
}

#[cfg(test)]
mod tests;
