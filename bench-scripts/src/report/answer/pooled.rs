//! The answer of several kept runs: ratios pooled over all runs of the same servers and settings, and what single runs measured beyond them.

use anyhow::{Context, Result};

use super::super::Run;
use super::super::pooled::PooledRuns;
use super::rows;
use crate::analysis::answer::{Answer, AnswerRow, Topic, Value};
use crate::analysis::pooled::{Pooled, PooledFigure};
use crate::config::Placement;
use crate::stats::Estimate;

/// From the first run its servers and rows, from each other run the topics that those before it lack. Ratios of three runs and more are
/// replaced by pooled ones, whose intervals are those for one more run. `links` are what a page calls all runs, and each of `runs`.
///
/// # Errors
/// The first run compares nothing.
pub(in crate::report) fn of_runs(
    pooled: &PooledRuns,
    runs: &[Run],
    links: (&str, &[&str]),
) -> Result<Answer> {
    let (first, others) = runs.split_first().context("an answer needs a run")?;
    let mut answer = super::of(first).with_context(|| format!("{} compares nothing", first.name))?;
    let is_ceiling = |name: &str| first.plan.campaign.ceiling.as_deref() == Some(name);
    let names = first.plan.servers.iter().map(|server| server.name.as_str());
    let names: Vec<&str> = names.filter(|name| !is_ceiling(name)).collect();
    let one = |rows: &mut [AnswerRow], link: &str| {
        rows.iter_mut().for_each(|row| row.from = format!("([1 run][{link}])"))
    };
    let (all, links) = links;
    one(&mut answer.rows, links[0]);
    for (run, link) in others.iter().zip(&links[1..]) {
        let known: Vec<Topic> = answer.rows.iter().map(|row| row.topic).collect();
        let mut new = rows::rows(run, &names, answer.baseline);
        one(&mut new, link);
        answer.rows.extend(new.into_iter().filter(|row| !known.contains(&row.topic)));
    }
    for row in &mut answer.rows {
        pool(row, (pooled, all), first, &names, answer.baseline);
    }
    Ok(answer)
}

/// Puts pooled ratios in the place of one run's.
fn pool(
    row: &mut AnswerRow,
    (pooled, link): (&PooledRuns, &str),
    run: &Run,
    names: &[&str],
    baseline: usize,
) {
    let figure = match row.topic {
        Topic::Rate => PooledFigure::Rate,
        Topic::Cpu => PooledFigure::Cpu,
        _ => return,
    };
    let (placement, connections) = match (row.topic, &run.duets) {
        (Topic::Cpu, Some(duets)) => (Placement::Duet, duets.plan.headline_level(&row.request).connections),
        _ => (Placement::Free, run.plan.headline_level(&row.request).connections),
    };
    let mut counts = Vec::new();
    for (name, value) in names.iter().zip(&mut row.values) {
        let of_pair = pooled.groups.iter().filter(|group| {
            let setting = &group.setting;
            (setting.figure, setting.placement, setting.connections) == (figure, placement, connections)
                && (&*setting.workload, &*setting.server, &*setting.over)
                    == (&*row.request, *name, names[baseline])
        });
        let largest = of_pair.filter_map(|group| group.pooled.as_ref()).max_by_key(|pooled| pooled.runs);
        let predicted = largest.and_then(|pooled| Some((pooled, pooled.prediction?)));
        if let (Some(value), Some((Pooled { runs, ratio, .. }, prediction))) = (value.as_mut(), predicted) {
            let compared = Estimate { value: ratio.value, interval: Some(prediction) };
            let shown = if row.topic == Topic::Cpu { ratio.value } else { value.shown };
            *value = Value { shown, compared, ..*value };
            counts.push(*runs);
        }
    }
    if let (Some(least), Some(most)) = (counts.iter().min(), counts.iter().max()) {
        let runs = if least == most { most.to_string() } else { format!("{least} to {most}") };
        row.from = format!("([{runs} runs][{link}])");
    }
}
