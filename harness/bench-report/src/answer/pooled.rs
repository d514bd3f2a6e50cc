//! The answer of several kept runs: ratios pooled over all runs of the same servers and settings, and what single runs
//! measured beyond them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use super::super::Run;
use super::super::pooled::PooledRuns;
use super::{rows, short};
use bench_analysis::answer::{Answer, AnswerRow, Direct, OnModel, OneBuild, Topic, Value};
use bench_analysis::pooled::{Group, Model, PooledFigure, Setting};
use bench_model::config::Placement;
use bench_model::results::DUETS;

/// From the first run its servers and rows, from each other run the topics that those before it lack. Next to the
/// values of that run, a row has the ratios of all runs of the same builds and settings, by model of processor; of
/// three runs on one or more, their intervals are those for one more run on it. `links` are what a page calls each of
/// `runs`.
///
/// # Errors
/// The first run compares nothing.
pub(crate) fn of_runs(pooled: &PooledRuns, runs: &[Run], links: &[&str]) -> Result<Answer> {
    let (first, others) = runs.split_first().context("an answer needs a run")?;
    let mut answer = super::of(first).with_context(|| format!("{} compares nothing", first.name))?;
    let names: Vec<&str> = first.plan.compared().map(|server| server.name.as_str()).collect();
    let one = |rows: &mut [AnswerRow], run: &Run, link: &str| {
        let on = short(&run.conditions.host.processor_name());
        rows.iter_mut().for_each(|row| row.from = format!("[{on}, 1 run][{link}]"))
    };
    one(&mut answer.rows, first, links[0]);
    for (run, link) in others.iter().zip(&links[1..]) {
        let known: Vec<Topic> = answer.rows.iter().map(|row| row.topic).collect();
        let mut new = rows::rows(run, &names, answer.baseline);
        one(&mut new, run, link);
        answer.rows.extend(new.into_iter().filter(|row| !known.contains(&row.topic)));
    }
    for row in &mut answer.rows {
        pool(row, pooled, first, &names, answer.baseline);
    }
    Ok(answer)
}

/// Puts the ratios of all runs next to one run's values.
fn pool(row: &mut AnswerRow, pooled: &PooledRuns, run: &Run, names: &[&str], baseline: usize) {
    let figure = match row.topic {
        Topic::Rate => PooledFigure::Rate,
        Topic::Cpu => PooledFigure::Cpu,
        Topic::P99 => PooledFigure::P99,
        _ => return,
    };
    let (placement, level) = match (row.topic, &run.duets) {
        (Topic::Cpu, Some(duets)) => (Placement::Duet, duets.plan.headline_level(&row.request)),
        _ => (Placement::Free, run.plan.headline_level(&row.request)),
    };
    let own = if placement == Placement::Duet { format!("{}/{DUETS}", run.name) } else { run.name.clone() };
    // Of the same sources and settings as the run's own.
    let of_one_build = |name: &str| {
        pooled.groups.iter().find(|group| {
            let setting = &group.setting;
            (setting.figure, setting.placement, setting.level) == (figure, placement, level)
                && (&*setting.workload, &*setting.server, &*setting.over)
                    == (&*row.request, name, names[baseline])
                && group.runs().any(|known| known.run == own)
        })
    };
    // Over many builds of each where they were measured, since the run's is of one.
    let group = |name: &str| {
        let own = of_one_build(name)?;
        let wanted = Setting { many_builds: true, ..own.setting.clone() };
        pooled.groups.iter().find(|group| group.setting == wanted).or(Some(own))
    };
    let groups: Vec<Option<&Group>> = names.iter().map(|name| group(name)).collect();
    let processors: BTreeSet<&str> =
        groups.iter().flatten().flat_map(|group| &group.models).map(|model| &*model.processor).collect();
    let on = |processor: &str| {
        let models: Vec<Option<&Model>> = groups.iter().map(|group| model(*group, processor)).collect();
        let value = |(server, model): (usize, &Option<&Model>)| {
            let known = row.values[server]?;
            if server == baseline {
                return Some(known);
            }
            let compared = model.as_ref()?.next_run();
            let shown = if row.topic == Topic::Cpu { compared.value } else { known.shown };
            Some(Value { shown, compared, ..known })
        };
        let values = models.iter().enumerate().map(value).collect();
        let runs = models.iter().map(|model| model.map_or(0, |model| model.runs.len())).collect();
        OnModel { processor: processor.to_owned(), values, direct: direct(pooled, &groups, processor), runs }
    };
    let is_whole = |model: &OnModel| {
        let mut both = model.values.iter().zip(&row.values);
        both.all(|(there, here)| there.is_some() == here.is_some())
    };
    let models: Vec<OnModel> = processors.iter().map(|processor| on(processor)).filter(is_whole).collect();
    row.models = models;
    if groups.iter().flatten().any(|group| group.setting.many_builds) {
        let all = |name: &&str| {
            let both = [of_one_build(name), group(name)].into_iter().flatten();
            let of_runs: BTreeMap<&str, (f64, f64)> =
                both.flat_map(Group::runs).filter_map(|run| Some((&*run.run, run.one_build?))).collect();
            OneBuild::of(&of_runs.into_values().collect::<Vec<_>>())
        };
        row.one_build = names.iter().map(all).collect();
    }
}

/// What a group has of a processor.
fn model<'a>(group: Option<&'a Group>, processor: &str) -> Option<&'a Model> {
    group?.models.iter().find(|model| model.processor == processor)
}

/// What runs on a processor say of two of the servers next to each other, of the same builds and settings as in
/// `groups`: each server's with the baseline. Of the mean over runs, since the question is which is better and not what
/// one more run may give.
fn direct(pooled: &PooledRuns, groups: &[Option<&Group>], processor: &str) -> Vec<Direct> {
    let pair = |server: usize, over: usize| {
        let (a, b) = (groups[server]?, groups[over]?);
        let mut wanted = a.setting.clone();
        wanted.over.clone_from(&b.setting.server);
        wanted.servers[1].clone_from(&b.setting.servers[0]);
        let group = pooled.groups.iter().find(|group| group.setting == wanted);
        Some(Direct { server, over, ratio: model(group, processor)?.ratio() })
    };
    let all = 0..groups.len();
    all.clone().flat_map(|server| all.clone().filter_map(move |over| pair(server, over))).collect()
}
