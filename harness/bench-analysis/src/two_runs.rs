//! Two runs compared: every cell that both have, by itself and relative to a server that both have. Two runs share no
//! blocks, so nothing is paired between them; which machine or commit is the cause is not decided here.

use std::fmt::Display;

use anyhow::{Result, ensure};

use super::comparison::{JUDGED, demand};
use super::observed::{Observed, Samples, log_ratios};
use super::summary::{Summary, summarize};
use super::verdict::{Better, Demand, Finding};
use bench_model::config::{Percent, Placement};
use bench_model::figure::Figure;
use bench_model::load::Level;
use bench_model::observation::Observation;
use bench_model::plan::Plan;
use bench_model::results::Conditions;
use bench_model::workload::Workload;
use bench_stats::{Estimate, FAMILY_ERROR, Judged, Ranked, holm_once};

/// A run with all that was observed in it.
#[derive(Debug, Clone)]
pub struct Measured {
    /// The folder's name.
    pub name: String,
    /// What was to be done.
    pub plan: Plan,
    /// What it was measured with and on.
    pub conditions: Conditions,
    /// What was observed.
    pub observations: Vec<Observation>,
}

/// Something of each of the two runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Both<T> {
    /// Of the first run.
    pub before: T,
    /// Of the second run.
    pub after: T,
}

impl<T> Both<T> {
    /// What a function makes of each.
    pub fn map<'a, U>(&'a self, function: impl Fn(&'a T) -> U) -> Both<U> {
        Both { before: function(&self.before), after: function(&self.after) }
    }
}

/// Server, workload, load.
type CellKey<'a> = (&'a str, &'a str, Level);

/// What changed in one cell from the first run to the second.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The server.
    pub server: String,
    /// The workload.
    pub workload: String,
    /// The load.
    pub level: Level,
    /// Successful requests a second, after over before; none where a run has no valid trial.
    pub rate: Option<Finding>,
    /// Server CPU time for a request, after over before.
    pub cpu: Option<Finding>,
    /// Ratio of 99th percentiles, its interval right by itself with 95 %; not judged.
    pub p99_ratio: Option<Estimate>,
    /// Valid blocks that the ratio of rates comes from.
    pub blocks: Both<usize>,
}

/// What changed from one run to another.
#[derive(Debug, Clone)]
pub struct Between {
    /// Every cell that both runs have, after over before.
    pub absolute: Vec<Change>,
    /// The server of both runs that the others are compared with; none where they share no such server.
    pub reference: Option<String>,
    /// Every other cell: its ratio to the reference after, over that before.
    pub relative: Vec<Change>,
    /// The largest difference that does not matter, of the second run's campaign.
    pub margin: Percent,
    /// Measured trials of common cells that were left out: steal, throttling.
    pub invalid_trials: Both<usize>,
    /// Servers, workloads and loads that only one of the runs has.
    pub unshared: Both<Vec<String>>,
    /// Each run by itself.
    pub summaries: Both<Summary>,
}

impl Change {
    /// Rate and CPU time for a request, in the order of [`JUDGED`]: the better direction, and what was found.
    pub fn findings(&self) -> [(Better, Option<&Finding>); 2] {
        let [(_, rate), (_, cpu)] = JUDGED;
        [(rate, self.rate.as_ref()), (cpu, self.cpu.as_ref())]
    }
}

/// Compares two runs. `reference` names the server that the others are compared with; by default the second run's
/// ceiling, or its baseline where both runs measured the ceiling too seldom for any verdict.
///
/// # Errors
/// One line: the runs have no cell in common, did not do the same in a common cell, or lack the named reference.
pub fn between(runs: Both<&Measured>, reference: Option<&str>) -> Result<Between> {
    let places = common_places(runs)?;
    same_task(runs, &places)?;
    ensure!(
        runs.after.plan.campaign.environment.placement != Placement::Duet,
        "{} can't be compared: in both, two servers ran at the same time, so none has figures by itself; their \
         reports have the ratios, and compare --all pools them",
        names(runs)
    );
    let observed = runs.map(|run| Observed::new(&run.observations));
    let invalid_trials = |observed: &Observed<'_>| {
        let of = |(server, workload, level): &CellKey<'_>| observed.invalid((server, None, workload, *level));
        places.iter().flat_map(|place| of(place).into_values()).sum()
    };
    let demand = demand(&runs.after.plan.campaign);
    let reference = chosen_reference(runs, reference, &places, &observed)?;
    let others: Vec<CellKey<'_>> = places.iter().copied().filter(|p| Some(p.0) != reference).collect();
    let relative = reference.map_or_else(Vec::new, |reference| {
        changes(&others, demand, |place, figure| {
            observed.map(|observed| to_reference(observed, place, reference, figure))
        })
    });
    Ok(Between {
        absolute: changes(&places, demand, |place, figure| {
            observed.map(|observed| logs(figure, &observed.samples(place.0, place.1, place.2)))
        }),
        reference: reference.map(str::to_owned),
        relative,
        margin: runs.after.plan.campaign.margin,
        invalid_trials: observed.map(invalid_trials),
        unshared: Both {
            before: unshared(&runs.before.plan, &runs.after.plan),
            after: unshared(&runs.after.plan, &runs.before.plan),
        },
        summaries: runs.map(|run| {
            let plan = &run.plan;
            summarize(&plan.campaign, &plan.levels(), &plan.trials, &run.observations)
        }),
    })
}

/// ln of a figure in each sample that has it.
fn logs(figure: Figure, samples: &Samples<'_>) -> Vec<f64> {
    let values = samples.values().filter_map(|sample| Some(sample.figure(figure)?.ln()));
    values.filter(|value| value.is_finite()).collect()
}

/// ln of the ratio of a figure to the reference's, of each block that has both.
fn to_reference(
    observed: &Observed<'_>,
    &(server, workload, level): &CellKey<'_>,
    reference: &str,
    figure: Figure,
) -> Vec<f64> {
    let samples = |server: &str| observed.samples(server, workload, level);
    log_ratios(figure, &samples(server), &samples(reference)).into_values().collect()
}

/// The changes of a family of cells. Each judged figure is a family of its own; there is one analysis.
fn changes<'a>(
    places: &[CellKey<'a>],
    demand: Demand,
    logs: impl Fn(&CellKey<'a>, Figure) -> Both<Vec<f64>>,
) -> Vec<Change> {
    let of = |figure| places.iter().map(|place| logs(place, figure)).collect::<Vec<_>>();
    let [(rate, more), (cpu, less)] = JUDGED;
    let rates = of(rate);
    let judged = judge(&rates, more, demand).into_iter().zip(judge(&of(cpu), less, demand));
    let changed = |((place, rates), (rate, cpu)): ((&CellKey<'a>, &Both<Vec<f64>>), _)| Change {
        server: place.0.to_owned(),
        workload: place.1.to_owned(),
        level: place.2,
        rate,
        cpu,
        p99_ratio: unpaired(&logs(place, Figure::P99Us)).map(|logs| logs.at_confidence().map(f64::exp)),
        blocks: rates.map(Vec::len),
    };
    places.iter().zip(&rates).zip(judged).map(changed).collect()
}

fn unpaired(logs: &Both<Vec<f64>>) -> Option<Ranked> {
    Ranked::unpaired(&logs.after, &logs.before)
}

/// Findings on one figure, the error shared by Holm's procedure. Cells that were not measured stay in the family: its
/// size must not depend on what was observed.
fn judge(logs: &[Both<Vec<f64>>], better: Better, demand: Demand) -> Vec<Option<Finding>> {
    let ranked: Vec<Option<Ranked>> = logs.iter().map(unpaired).collect();
    let mut findings = vec![None; logs.len()];
    for Judged { index, level, .. } in holm_once(&ranked) {
        let least = (1..).find(|each| smallest_p(*each, *each) <= level).unwrap_or(usize::MAX);
        findings[index] =
            ranked[index].as_ref().map(|ranked| Finding::read(ranked, least, level, better, demand));
    }
    findings
}

/// The smallest two-sided p-value that samples of these sizes can give: two in all ways to choose the one from both.
fn smallest_p(a: usize, b: usize) -> f64 {
    (1..=a).map(|i| i as f64 / (b + i) as f64).product::<f64>() * 2.0
}

/// The reference: the requested one; else the first of the second run's ceiling and baseline that both runs have and
/// that was measured often enough for some verdict; else the first that both have. Counts decide, never values.
fn chosen_reference<'a>(
    runs: Both<&'a Measured>,
    requested: Option<&'a str>,
    places: &[CellKey<'a>],
    observed: &Both<Observed<'_>>,
) -> Result<Option<&'a str>> {
    let held = |server: &&str| places.iter().any(|place| place.0 == *server);
    if let Some(requested) = requested {
        let mut servers: Vec<&str> = places.iter().map(|place| place.0).collect();
        servers.sort_unstable();
        servers.dedup();
        ensure!(held(&requested), "no server {requested:?} in both runs; there are: {}", servers.join(", "));
        ensure!(
            servers.len() > 1,
            "{requested:?} is the only server in both runs; there is nothing to compare with it"
        );
        return Ok(Some(requested));
    }
    let others = |reference: &str| places.iter().filter(|place| place.0 != reference).count();
    let decides = |reference: &&str| {
        let level = FAMILY_ERROR / others(reference) as f64;
        places.iter().filter(|place| place.0 != *reference).any(|place| {
            let ratios =
                observed.map(|observed| to_reference(observed, place, reference, Figure::RequestsPerSecond));
            smallest_p(ratios.before.len(), ratios.after.len()) <= level
        })
    };
    let campaign = &runs.after.plan.campaign;
    let candidates: Vec<&str> = [&campaign.ceiling, &campaign.baseline]
        .into_iter()
        .filter_map(Option::as_deref)
        .filter(|server| held(server) && others(server) > 0)
        .collect();
    Ok(candidates.iter().find(|server| decides(server)).or(candidates.first()).copied())
}

/// The cells that both plans have, as the second orders them.
fn common_places(runs: Both<&Measured>) -> Result<Vec<CellKey<'_>>> {
    let (before, after) = (&runs.before.plan, &runs.after.plan);
    let held = before.levels();
    let mut places = Vec::new();
    for workload in after.campaign.workloads.iter().filter(|name| before.campaign.workloads.contains(name)) {
        for level in after.levels().into_iter().filter(|level| held.contains(level)) {
            let servers = after.campaign.servers.iter();
            let common = servers.filter(|name| {
                before.campaign.servers.contains(name)
                    && [before, after].iter().all(|plan| plan.campaign.measures(name, workload, level))
            });
            places.extend(common.map(|server| (server.as_str(), workload.as_str(), level)));
        }
    }
    ensure!(
        !places.is_empty(),
        "{} have no cell in common: no server with the same workload and load",
        names(runs)
    );
    Ok(places)
}

/// Whether both runs did the same in the cells that they share: a ratio of two different tasks has no meaning.
fn same_task(runs: Both<&Measured>, places: &[CellKey<'_>]) -> Result<()> {
    let tasks = runs.map(|run| task(&run.plan));
    for ((what, before), (_, after)) in tasks.before.iter().zip(&tasks.after) {
        same(runs, what, before, after)?;
    }
    for (_, name, _) in places {
        let workloads = runs.map(|run| run.plan.workload(name).ok());
        let words = workloads.map(|workload| workload.map(Workload::words).unwrap_or_default());
        same(runs, &format!("the request of {name}"), &words.before, &words.after)?;
        let body = workloads.map(|workload| workload.and_then(|w| w.body().ok()).unwrap_or_default());
        same(runs, &format!("the request body of {name}"), &body.before, &body.after)?;
        let traffic = workloads.map(|workload| workload.map(|w| &w.traffic));
        ensure!(
            traffic.before == traffic.after,
            "{} can't be compared: the true answer of {name} comes from another source",
            names(runs)
        );
    }
    for (server, _, _) in places {
        let sums = runs.map(|run| run.conditions.servers.get(*server)?["ledger"]["sha256"].as_str());
        if let (Some(before), Some(after)) = (sums.before, sums.after) {
            same(runs, &format!("the SHA-256 of {server}'s ledger"), &before, &after)?;
        }
    }
    Ok(())
}

/// The settings of all cells of a run, as words.
fn task(plan: &Plan) -> Vec<(&'static str, String)> {
    let campaign = &plan.campaign;
    let described = campaign.environment.described(plan.threads).into_iter();
    let mut task: Vec<_> = described.filter(|setting| setting.is_task).map(|s| (s.name, s.words)).collect();
    let open = campaign.open.as_ref();
    let tools: Vec<&str> = campaign.closed_loop_tools().iter().map(|tool| tool.name()).collect();
    task.extend([
        ("the load tool of closed loops", tools.join(", ")),
        ("the arms' settings", own_settings(plan)),
        ("whether connections are only held", campaign.hold.to_string()),
        ("the background load", format!("{:?}", open.and_then(|open| open.background.as_ref()))),
        ("how servers are stopped", format!("{:?}", open.and_then(|open| open.stall))),
        ("warm-up", format!("{} ms", campaign.warmup_ms)),
        ("connections of the warm-up", format!("{:?}", campaign.warmup_connections)),
        ("the window", format!("{} ms", campaign.window_ms)),
        ("the timeout", format!("{} ms", campaign.timeout_ms)),
        ("the time for connecting", format!("{} ms", campaign.connect_ms)),
    ]);
    task
}

/// The servers' settings that differ from the environment's, as words.
fn own_settings(plan: &Plan) -> String {
    let own = plan.servers.iter().filter(|server| !server.overrides.is_empty());
    own.map(|server| format!("{}: {}", server.name, server.overrides.words())).collect::<Vec<_>>().join("; ")
}

fn same<T: PartialEq + Display>(runs: Both<&Measured>, what: &str, before: &T, after: &T) -> Result<()> {
    ensure!(
        before == after,
        "{} can't be compared: {what} is {before} in the first and {after} in the second",
        names(runs)
    );
    Ok(())
}

fn names(runs: Both<&Measured>) -> String {
    format!("{} and {}", runs.before.name, runs.after.name)
}

/// What `plan` has and `other` lacks.
fn unshared(plan: &Plan, other: &Plan) -> Vec<String> {
    let lacks = |of: &[String], all: &[String]| {
        of.iter().filter(|name| !all.contains(name)).cloned().collect::<Vec<String>>()
    };
    let held = other.levels();
    let loads = plan.levels().into_iter().filter(|level| !held.contains(level));
    let (campaign, other) = (&plan.campaign, &other.campaign);
    let servers = lacks(&campaign.servers, &other.servers);
    let workloads = lacks(&campaign.workloads, &other.workloads);
    servers.into_iter().chain(workloads).chain(loads.map(|level| level.to_string())).collect()
}
