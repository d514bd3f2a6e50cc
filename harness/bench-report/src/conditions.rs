//! The line of a first screen on where, when and for how long was measured, and what was discarded.

use std::collections::BTreeMap;

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use minijinja::{Value, context};

use super::Run;
use super::templates::fill;
use bench_core::Lost;
use bench_core::observation::Observation;

/// The line, in italics.
pub(super) fn line(run: &Run) -> Result<String> {
    let host = &run.conditions.host;
    let mut lost: BTreeMap<Lost, usize> = BTreeMap::new();
    run.invalid().filter_map(|trial| trial.lost).for_each(|to| *lost.entry(to).or_default() += 1);
    let observed = run.observed();
    let discarded = lost.iter().map(|(lost, trials)| context! { words => words(*lost), trials });
    let started_at = &run.conditions.started_at;
    fill(
        "conditions",
        context! {
            processor => host.processor_name(),
            cores => host.cores,
            date => started_at.get(..10).unwrap_or(started_at),
            commit => host.commit.as_deref(),
            took_s => run.took.map(|took| took.as_secs_f64()),
            observed,
            share => lost.values().sum::<usize>() as f64 / observed.max(1) as f64,
            discarded => discarded.collect::<Vec<Value>>(),
        },
    )
}

/// What discarded a trial.
const fn words(lost: Lost) -> &'static str {
    match lost {
        Lost::ForeignCpu => "another process used the CPU",
        Lost::Steal => "the hypervisor took CPU time",
        Lost::Throttled => "the control group was held back",
        Lost::ToolFailed | Lost::NotMeasured => lost.words(),
    }
}

/// How long a run took, from its begin to the end of its last trial; not known of one that was resumed.
pub(super) fn took<'a>(
    started_at: &str,
    observations: impl Iterator<Item = &'a Observation>,
) -> Option<SignedDuration> {
    let ended = |of: &Observation| {
        let started: Timestamp = of.started_at.parse().ok()?;
        started.checked_add(SignedDuration::try_from_secs_f64(of.took_s).ok()?).ok()
    };
    let begun: Timestamp = started_at.parse().ok()?;
    Some(observations.filter_map(ended).max()?.duration_since(begun))
}
