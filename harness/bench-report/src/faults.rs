//! What went wrong, above every result: one line for each fault, the gravest first.

use super::Run;
use super::format::{count, counted, known, load, significant};
use bench_analysis::faults::{Fault, Kind};
use bench_model::load::failure::{NOT_JSON_RPC, OTHER_CALL};

/// Faults on a first screen; "What failed" has all.
const MOST_SHOWN: usize = 6;

/// The faults for a first screen; empty where nothing went wrong.
pub(super) fn headline(run: &Run) -> String {
    let faults = &run.summary.faults;
    let mut lines: Vec<String> = faults.iter().take(MOST_SHOWN).map(|fault| line(run, fault)).collect();
    let more = faults.len().saturating_sub(MOST_SHOWN) as u64;
    lines.extend((more > 0).then(|| format!("- {} in \"What failed\".\n", counted(more, "more fault"))));
    if lines.is_empty() { String::new() } else { lines.concat() + "\n" }
}

/// All of them, for the section on what failed.
pub(super) fn all(run: &Run) -> String {
    run.summary.faults.iter().map(|fault| line(run, fault)).collect()
}

fn line(run: &Run, fault: &Fault) -> String {
    format!("- **{}** {}\n", head(run.label(&fault.server), fault), rest(fault))
}

/// Why a run has not shown what it is for, a line for each.
pub(super) fn grave(run: &Run) -> impl Iterator<Item = String> {
    let grave = run.summary.faults.iter().filter(|fault| fault.kind.is_grave());
    grave.map(|fault| words(run.label(&fault.server), fault))
}

/// A fault in a line, without its full stop, of a server by this name.
pub(super) fn words(server: &str, fault: &Fault) -> String {
    format!("{} {}", head(server, fault), rest(fault)).trim_end_matches('.').to_owned()
}

/// What went wrong, with its number.
fn head(server: &str, fault: &Fault) -> String {
    match &fault.kind {
        Kind::Ended => {
            let how = in_brackets(fault);
            known(fault.after_s, &format!("{server} did not start, or ended by itself{how}."), |s| {
                format!("{server} ended by itself{how} after {s:.1} s.")
            })
        }
        Kind::Wrong(how) => {
            let what = match how.as_str() {
                OTHER_CALL => "Answers to another call",
                NOT_JSON_RPC => "Answers that are no JSON-RPC",
                _ => "Wrong answers",
            };
            format!("{what} from {server}: {}.", share(fault))
        }
        Kind::RpcError(code) => format!("JSON-RPC error {code} from {server}: {}.", share(fault)),
        Kind::NoValidTrial => {
            let why = fault.example.as_deref().unwrap_or("the machine was busy");
            format!("No valid trial of {server} in {}: {why}.", tries(fault))
        }
        Kind::Stalled | Kind::Cause(_) => {
            format!("{server}: {}.", fault.example.as_deref().unwrap_or("it is held back"))
        }
        Kind::Status(status) => format!("HTTP {status} from {server}: {}.", share(fault)),
        Kind::NoFigure(why) => format!("{server}: {why}."),
        Kind::Unanswered(why) => format!("{server}: {why}: {}.", share(fault)),
    }
}

/// Where it was seen, and an example.
fn rest(fault: &Fault) -> String {
    let from = load(fault.from);
    // Their sentences say how often.
    if matches!(fault.kind, Kind::Stalled | Kind::Cause(_) | Kind::NoValidTrial) {
        return format!("{} at {from}.", fault.workload);
    }
    let seen = match (fault.trials, fault.of_trials) {
        (1, 1) => format!("{} at {from}", fault.workload),
        (1, of) => format!("{} at {from}, in 1 of {} trials", fault.workload, count(of)),
        (trials, of) => {
            let (trials, of) = (count(trials), count(of));
            format!("{} from {from} on, in {trials} of {of} trials", fault.workload)
        }
    };
    let example = fault.example.as_ref().filter(|_| fault.kind != Kind::Ended);
    known(example, &format!("{seen}."), |example| {
        format!("{seen}; for example `{}`", example.replace('`', "'").replace(['\n', '\r'], " "))
    })
}

fn in_brackets(fault: &Fault) -> String {
    known(fault.example.as_ref(), "", |how| format!(" ({})", how.replace(['\n', '\r'], " ")))
}

fn tries(fault: &Fault) -> String {
    if fault.of_trials == 1 { "1 try".to_owned() } else { format!("{} tries", count(fault.of_trials)) }
}

/// `40 % of requests (4,012 of 10,030)`; of single answers only their number.
fn share(fault: &Fault) -> String {
    let of = fault.of.unwrap_or(fault.of_trials).max(1);
    let percent = fault.count as f64 / of as f64 * 100.0;
    let percent = if percent >= 1.0 { format!("{percent:.0}") } else { significant(percent) };
    let numbers = format!("{} of {}", count(fault.count), count(of));
    match fault.kind.is_wrong() {
        true => format!("{numbers} answers ({percent} %)"),
        false => format!("{percent} % of requests ({numbers})"),
    }
}
