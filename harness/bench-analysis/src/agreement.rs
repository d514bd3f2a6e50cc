//! A run next to the kept ones: in which ratios it agrees with them, and what else differs where it does not. Ratios
//! are of the same request, load and settings; the processor and what the servers were built from may differ, and then
//! they are named.

use std::collections::BTreeSet;

use anyhow::Result;
use serde_json::Value;

use super::pooled::{Group, Model, RunRatio, Setting, ends};
use bench_stats::{RandomEffects, RunEstimate, random_effects};

/// How near the kept runs are that a run is compared with, the nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Near {
    /// The same processor and the same builds.
    Same,
    /// The same processor and other builds.
    OtherBuild,
    /// Another processor.
    OtherProcessor,
}

/// A ratio that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Differs {
    /// The request with its load, and the servers: `getBlocks at 25, actix / legacy`.
    pub place: String,
    /// The run's ratio.
    pub here: f64,
    /// Where the kept runs let one more run be expected.
    pub there: (f64, f64),
}

/// What a run has in common with the kept ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// How near they are.
    pub near: Near,
    /// The kept runs that it was compared with.
    pub runs: BTreeSet<String>,
    /// Ratios that were compared.
    pub compared: usize,
    /// Those that differ.
    pub differs: Vec<Differs>,
    /// What else is not the same: processor, kernel, build.
    pub otherwise: Vec<&'static str>,
}

/// A kept ratio, and how near its run is.
type Kept<'a> = (Near, &'a RunRatio);

/// Compares the ratios of a run with those of kept ones; `None` where no kept run has any of them. Only the nearest
/// kept runs count.
///
/// # Errors
/// A setting can't be written as JSON.
pub fn agreement(own: &[Group], kept: &[Group]) -> Result<Option<Agreement>> {
    let own_runs: BTreeSet<&str> = own.iter().flat_map(Group::runs).map(|ratio| outer(&ratio.run)).collect();
    let kept_settings: Vec<Value> = kept.iter().map(without_builds).collect::<Result<_>>()?;
    let mut rows: Vec<(&Group, &RunRatio, Vec<Kept<'_>>)> = Vec::new();
    for group in own {
        let setting = without_builds(group)?;
        let alike = kept.iter().zip(&kept_settings).filter(|(_, other)| **other == setting);
        let alike: Vec<&Group> = alike.map(|(other, _)| other).collect();
        for model in &group.models {
            for ratio in &model.runs {
                let others = alike.iter().flat_map(|other| near_ones(group, model, other));
                let others: Vec<Kept<'_>> =
                    others.filter(|(_, kept)| !own_runs.contains(outer(&kept.run))).collect();
                rows.push((group, ratio, others));
            }
        }
    }
    let Some(near) = rows.iter().flat_map(|(.., others)| others).map(|(near, _)| *near).min() else {
        return Ok(None);
    };
    let mut found =
        Agreement { near, runs: BTreeSet::new(), compared: 0, differs: Vec::new(), otherwise: Vec::new() };
    let mut other_kernel = false;
    for (group, own, others) in &rows {
        let others: Vec<&RunRatio> =
            others.iter().filter(|(of, _)| *of == near).map(|(_, ratio)| *ratio).collect();
        let Some((there, (low, high))) = expected(&others).zip(own.ratio.interval) else { continue };
        found.compared += 1;
        found.runs.extend(others.iter().map(|other| outer(&other.run).to_owned()));
        other_kernel |= others.iter().any(|other| other.kernel != own.kernel);
        if high < there.0 || there.1 < low {
            let Setting { server, over, .. } = &group.setting;
            let place = format!("{}, {server} / {over}", group.setting.place());
            found.differs.push(Differs { place, here: own.ratio.value, there });
        }
    }
    if near == Near::OtherProcessor {
        found.otherwise.push("processor");
    }
    found.otherwise.extend(other_kernel.then_some("kernel"));
    let same_builds = |group: &Group| kept.iter().any(|other| builds(other) == builds(group));
    if near == Near::OtherBuild || (near == Near::OtherProcessor && !own.iter().any(same_builds)) {
        found.otherwise.push("build");
    }
    Ok((found.compared > 0).then_some(found))
}

/// The kept ratios of a group with the same setting, each with how near it is.
fn near_ones<'a>(own: &'a Group, of: &'a Model, kept: &'a Group) -> impl Iterator<Item = Kept<'a>> {
    kept.models.iter().flat_map(move |model| {
        let near = match (model.processor == of.processor, builds(own) == builds(kept)) {
            (true, true) => Near::Same,
            (true, false) => Near::OtherBuild,
            (false, _) => Near::OtherProcessor,
        };
        model.runs.iter().map(move |ratio| (near, ratio))
    })
}

/// A run's own name, of its parts too.
fn outer(run: &str) -> &str {
    run.split('/').next().unwrap_or(run)
}

fn builds(group: &Group) -> [&super::pooled::Built; 2] {
    [&group.setting.servers[0].built, &group.setting.servers[1].built]
}

/// The setting without what the servers were built from.
fn without_builds(group: &Group) -> Result<Value> {
    let mut setting = serde_json::to_value(&group.setting)?;
    for server in setting["servers"].as_array_mut().into_iter().flatten() {
        server.as_object_mut().map(|server| server.remove("built"));
    }
    Ok(setting)
}

/// Where one more run may lie: the prediction interval of three runs and more, else from the lowest to the highest end
/// of theirs.
fn expected(runs: &[&RunRatio]) -> Option<(f64, f64)> {
    let estimates: Vec<RunEstimate> = runs.iter().filter_map(|run| run.log_estimate()).collect();
    if let Some(RandomEffects { prediction: Some((low, high)), .. }) = random_effects(&estimates) {
        return Some((low.exp(), high.exp()));
    }
    ends(runs.iter().filter_map(|run| run.ratio.interval))
}
