//! What the machine or the load tool spoiled: trials that are invalid, and blocks that were lost and run again.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Run;
use super::format::{capitalised, known, list, load};
use bench_analysis::{Comparison, FailedTrial, InvalidTrial, Lost};

/// Invalid trials for the top of a report, a line for each cause; nothing where all of them were run again.
pub(super) fn warnings(run: &Run) -> String {
    let pairs =
        run.summary.comparisons.iter().chain(run.inner().flat_map(|inner| &inner.summary.comparisons));
    let mut pairs = pairs.peekable();
    if pairs.peek().is_some() && pairs.all(|pair| pair.invalid_blocks == pair.run_again) {
        return String::new();
    }
    let mut by_cause: BTreeMap<Lost, Vec<&InvalidTrial>> = BTreeMap::new();
    for trial in run.invalid() {
        by_cause.entry(trial.kind.lost).or_default().push(trial);
    }
    let mut out = String::new();
    for (lost, trials) in by_cause {
        let cause = match lost {
            Lost::ForeignCpu => "another process used the CPU",
            Lost::Steal => "the hypervisor took processor time away",
            Lost::Throttled => "the control group was held back",
            Lost::ToolFailed | Lost::NotMeasured => lost.words(),
        };
        let (count, s) = (trials.len(), if trials.len() == 1 { "" } else { "s" });
        // Writing to a String can't fail, here and below.
        let _ = writeln!(
            out,
            "> **{count} trial{s} invalid: {cause}.** {}. They count nowhere; \"What failed\" lists them.\n",
            capitalised(&named(trials[0]))
        );
    }
    out
}

/// Which trial, and why it is invalid.
fn named(trial: &InvalidTrial) -> String {
    format!("in block {} with {} {}", trial.block, trial.server, trial.reason)
}

/// The lost blocks of a comparison; nothing where there are none.
pub(super) fn blocks(pair: &Comparison) -> String {
    if pair.invalid_blocks == 0 {
        return String::new();
    }
    let causes = list(pair.lost.iter().map(|(lost, count)| format!("{count} to {}", lost.words())));
    let causes = if causes.is_empty() { causes } else { format!(" ({causes})") };
    let s = if pair.invalid_blocks == 1 { " was" } else { "s were" };
    let again = match pair.run_again {
        0 => "not run again".to_owned(),
        again if again == pair.invalid_blocks => "run again".to_owned(),
        again => format!("{again} of them run again, which is as many as the campaign allows"),
    };
    let with = known(pair.with_invalid, "", |(rate, cpu)| {
        format!(
            "; with what was measured in them the ratios would be {rate:.3} (rate) and {cpu:.3} (CPU per request)"
        )
    });
    format!(
        "\n{} / {} on {} at {}: {} block{s} lost{causes}, {again}{with}.\n",
        pair.server,
        pair.over,
        pair.workload,
        load(pair.level),
        pair.invalid_blocks
    )
}

/// Why two servers have no block with a valid trial of both.
pub(super) fn why_none<'a>(
    pair: [&str; 2],
    failed: impl Iterator<Item = &'a FailedTrial>,
    invalid: impl Iterator<Item = &'a InvalidTrial>,
) -> String {
    let of_pair = |server: &String| pair.contains(&server.as_str());
    let failed = failed.filter(|trial| of_pair(&trial.server));
    let mut reasons: Vec<(u32, String)> = failed
        .map(|trial| {
            (trial.number, format!("in block {} with {}: {}", trial.block, trial.server, trial.reason))
        })
        .chain(invalid.filter(|trial| of_pair(&trial.server)).map(|trial| (trial.number, named(trial))))
        .collect();
    reasons.sort();
    match reasons.as_slice() {
        [] => "not both have been measured yet, or the CPU time of one is unknown".to_owned(),
        [(_, only)] => format!("no block has a valid trial of both: {only}"),
        [(_, first), rest @ ..] => {
            format!("no block has a valid trial of both: {first}; and {} trials more", rest.len())
        }
    }
}
