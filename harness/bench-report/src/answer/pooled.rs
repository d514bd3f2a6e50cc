//! The answer of several kept runs: ratios pooled over all runs of the same servers and settings, and what single runs
//! measured beyond them.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use super::super::Run;
use super::super::format::{list, spanned};
use super::super::pooled::PooledRuns;
use super::{numbers, rows, short};
use bench_analysis::answer::{Answer, AnswerRow, Direct, OnModel, Topic, Value};
use bench_analysis::pooled::{Group, PooledFigure, Setting, ends};
use bench_model::config::Placement;
use bench_model::results::DUETS;

/// From the first run its servers and rows, from each other run the topics that those before it lack. Ratios are
/// replaced by those of all runs of the same builds and settings, by model of processor; their intervals are those for
/// one more run on it. Of one model that takes three runs. `links` are what a page calls all runs, and each of `runs`.
///
/// # Errors
/// The first run compares nothing.
pub(crate) fn of_runs(pooled: &PooledRuns, runs: &[Run], links: (&str, &[&str])) -> Result<Answer> {
    let (first, others) = runs.split_first().context("an answer needs a run")?;
    let mut answer = super::of(first).with_context(|| format!("{} compares nothing", first.name))?;
    let names = first.plan.servers.iter().map(|server| server.name.as_str());
    let names: Vec<&str> = names.filter(|name| !first.plan.is_ceiling(name)).collect();
    let one = |rows: &mut [AnswerRow], run: &Run, link: &str| {
        let on = short(&run.conditions.host.processor_name());
        rows.iter_mut().for_each(|row| row.from = format!("[1 run][{link}] on {}", numbers(&on)))
    };
    let (all, links) = links;
    one(&mut answer.rows, first, links[0]);
    for (run, link) in others.iter().zip(&links[1..]) {
        let known: Vec<Topic> = answer.rows.iter().map(|row| row.topic).collect();
        let mut new = rows::rows(run, &names, answer.baseline);
        one(&mut new, run, link);
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
        let value = |(server, group): (usize, &Option<&Group>)| {
            let known = row.values[server]?;
            if server == baseline {
                return Some(known);
            }
            let model = group.as_ref()?.models.iter().find(|model| model.processor == processor)?;
            let compared = model.next_run();
            let shown = if row.topic == Topic::Cpu { compared.value } else { known.shown };
            Some(Value { shown, compared, ..known })
        };
        let values = groups.iter().enumerate().map(value).collect();
        OnModel { processor: processor.to_owned(), values, direct: direct(pooled, &groups, processor) }
    };
    let is_whole = |model: &OnModel| {
        let mut both = model.values.iter().zip(&row.values);
        both.all(|(there, here)| there.is_some() == here.is_some())
    };
    let models: Vec<OnModel> = processors.iter().map(|processor| on(processor)).filter(is_whole).collect();
    let own = run.conditions.host.processor_name();
    let by_processor = processors.iter().map(|processor| {
        let models = groups.iter().flatten().flat_map(|group| &group.models);
        let runs = models.filter(|model| model.processor == *processor).map(|model| model.runs.len() as f64);
        let runs = spanned(ends(runs.map(|runs| (runs, runs))).unwrap_or_default(), |runs| runs.to_string());
        format!("{runs} on {}", numbers(&short(processor)))
    });
    let mut counts = Vec::new();
    if models.len() > 1 {
        // The figures of rates and latencies stay those of one run, so whether servers differ is said of its processor.
        let is_of_one = row.topic != Topic::Cpu && models.iter().any(|model| model.processor == own);
        row.values_of = is_of_one.then(|| own.clone());
        row.models = models;
        if groups.iter().flatten().any(|group| group.setting.many_builds) {
            let all = |name: &&str| {
                let both = [of_one_build(name), group(name)].into_iter().flatten();
                ends(both.flat_map(Group::runs).filter_map(|run| run.one_build))
            };
            row.one_build = names.iter().map(all).collect();
        }
        let models = groups.iter().flatten().flat_map(|group| &group.models);
        let models = models.filter(|model| !is_of_one || model.processor == own);
        counts.extend(models.map(|model| model.runs.len()));
    } else {
        let here = on(&own);
        row.direct.extend(&here.direct);
        for (server, group) in groups.iter().enumerate() {
            let model = group.and_then(|group| group.models.iter().find(|model| model.processor == own));
            if model.is_some_and(|model| model.pooled.is_some_and(|pooled| pooled.prediction.is_some())) {
                row.values[server] = here.values[server];
                counts.extend(model.map(|model| model.runs.len()));
            }
        }
    }
    if let (Some(least), Some(most)) = (counts.iter().min(), counts.iter().max()) {
        let runs = if least == most { most.to_string() } else { format!("{least} to {most}") };
        let several = row.models.len();
        row.from = match (row.topic, several, &row.values_of) {
            (Topic::Rate | Topic::P99, 0, _) => {
                format!("{}; ? and bold use [{runs} runs there][{link}]", row.from)
            }
            (Topic::Rate | Topic::P99, _, Some(_)) => {
                format!(
                    "{}; ? is decided by [{runs} runs there][{link}], bold by those on {several} processors",
                    row.from
                )
            }
            (Topic::Rate | Topic::P99, _, None) => {
                format!("{}; ? and bold use [{runs} runs on each of {several} processors][{link}]", row.from)
            }
            (_, 0, _) => format!("[{runs} runs][{link}]"),
            _ => {
                let means = format!("[means of {several} processors, lowest to highest][{link}]");
                format!("{means}; runs: {}", list(by_processor))
            }
        };
    }
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
        let group = pooled.groups.iter().find(|group| group.setting == wanted)?;
        let model = group.models.iter().find(|model| model.processor == processor)?;
        Some(Direct { server, over, ratio: model.ratio() })
    };
    let all = 0..groups.len();
    all.clone().flat_map(|server| all.clone().filter_map(move |over| pair(server, over))).collect()
}
