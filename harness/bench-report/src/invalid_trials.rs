//! What the machine or the load tool spoiled: trials that are invalid, and blocks that were lost and run again.

use std::collections::BTreeMap;

use super::Run;
use super::format::{capitalised, known, list, load};
use bench_analysis::{Comparison, FailedTrial, InvalidTrial, Lost};

/// Invalid trials for the top of a report, a line for each cause; nothing where all of them were run again.
pub(super) fn warnings(run: &Run) -> String {
    let pairs = run.parts().flat_map(|part| &part.summary.comparisons);
    let mut pairs = pairs.peekable();
    if pairs.peek().is_some() && pairs.all(|pair| pair.invalid_blocks == pair.run_again) {
        return String::new();
    }
    let mut by_cause: BTreeMap<Lost, Vec<&InvalidTrial>> = BTreeMap::new();
    for trial in run.invalid() {
        by_cause.entry(trial.kind.lost).or_default().push(trial);
    }
    let warning = |(lost, trials): (Lost, Vec<&InvalidTrial>)| {
        let cause = match lost {
            Lost::ForeignCpu => "another process used the CPU",
            Lost::Steal => "the hypervisor took processor time away",
            Lost::Throttled => "the control group was held back",
            Lost::ToolFailed | Lost::NotMeasured => lost.words(),
        };
        let (count, s) = (trials.len(), if trials.len() == 1 { "" } else { "s" });
        let first = capitalised(&named(trials[0]));
        format!(
            "> **{count} trial{s} invalid: {cause}.** {first}. They count nowhere; \"What failed\" lists them.\n\n"
        )
    };
    by_cause.into_iter().map(warning).collect()
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
    let failed = failed.map(|trial| {
        let why = format!("in block {} with {}: {}", trial.block, trial.server, trial.reason);
        (&trial.server, trial.number, why)
    });
    let invalid = invalid.map(|trial| (&trial.server, trial.number, named(trial)));
    let reasons = failed.chain(invalid).filter(|(server, ..)| pair.contains(&server.as_str()));
    let mut reasons: Vec<(u32, String)> = reasons.map(|(_, number, why)| (number, why)).collect();
    reasons.sort();
    let none = "no block has a valid trial of both";
    match reasons.as_slice() {
        [] => "not both have been measured yet, or the CPU time of one is unknown".to_owned(),
        [(_, only)] => format!("{none}: {only}"),
        [(_, first), rest @ ..] => format!("{none}: {first}; and {} trials more", rest.len()),
    }
}
