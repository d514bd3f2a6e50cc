//! All kept runs side by side: each headline ratio of each run, and what they show together. For the terminal, for
//! `results/pooled.md`, and as `results/pooled.json`, which pages quote.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::Run;
use super::format::{Table, ratio, thousands};
use crate::analysis::pooled::{Group, Pooled, PooledFigure, RunRatio, Setting, Source, pool};
use crate::config::Placement;
use crate::results::{DUETS, LADDER, RunFolder, pretty};
use crate::stats::Estimate;

/// The files that hold it, in the folder of runs.
pub const PAGE: &str = "pooled.md";
/// See [`PAGE`].
pub const DATA: &str = "pooled.json";

/// What all kept runs show.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct PooledRuns {
    /// Runs that were read, in order of their names.
    pub runs: Vec<String>,
    /// Runs that are not of this version's format.
    pub unreadable: Vec<Unreadable>,
    /// Every ratio, by what its runs share.
    pub groups: Vec<Group>,
}

/// A run that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreadable {
    /// Its name.
    pub run: String,
    /// Why.
    pub reason: String,
}

/// Reads every run in a folder of runs and pools what they share. Calibrations, whose servers are handicapped on purpose, and folders
/// of other programs are passed over.
///
/// # Errors
/// The folder can't be read.
pub fn load(results: &Path) -> Result<PooledRuns> {
    let entries = fs::read_dir(results).with_context(|| format!("can't read {}", results.display()))?;
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let mut parts: Vec<(String, Run)> = Vec::new();
    let (mut runs, mut unreadable) = (Vec::new(), Vec::new());
    for folder in paths.iter().filter_map(|path| RunFolder::open(path).ok()) {
        if folder.is_calibration() {
            continue;
        }
        let run = folder.name();
        match read(&folder) {
            Ok(read) => {
                parts.extend(read);
                runs.push(run);
            }
            Err(error) => {
                unreadable.push(Unreadable { run, reason: format!("{error:#}").replace('\n', " ") })
            }
        }
    }
    let sources: Vec<Source<'_>> = parts
        .iter()
        .map(|(name, run)| Source {
            name,
            plan: &run.plan,
            conditions: &run.conditions,
            summary: &run.summary,
        })
        .collect();
    let groups = pool(&sources);
    Ok(PooledRuns { runs, unreadable, groups })
}

/// A run, its duets, and what a why run measured side by side.
fn read(folder: &RunFolder) -> Result<Vec<(String, Run)>> {
    let mut run = Run::load(folder)?;
    let name = folder.name();
    let mut parts = Vec::new();
    if let Some(duets) = run.duets.take() {
        parts.push((format!("{name}/{DUETS}"), *duets));
    }
    if let Some(ladder) = folder.inside(LADDER) {
        parts.push((format!("{name}/{LADDER}"), Run::load(&ladder)?));
    }
    parts.insert(0, (name, run));
    Ok(parts)
}

/// The whole page.
pub fn markdown(pooled: &PooledRuns) -> String {
    let mut out = format!(
        "# All kept runs\n\nMade by `just compare --all --write` from {} runs. Ratios are of the first server over the second.\n\n",
        pooled.runs.len()
    );
    let shown: Vec<&Group> = pooled.groups.iter().filter(|group| group.pooled.is_some()).collect();
    out.push_str("## Pooled\n\n");
    if shown.is_empty() {
        out.push_str("No ratio was measured in two runs with the same servers and settings.\n");
    } else {
        let _ = writeln!(out, "{}\n{HOW_TO_READ}", table(shown.iter().copied()).markdown());
    }
    out.push_str("\n## Run by run\n");
    for group in &pooled.groups {
        let _ = write!(out, "\n### {}\n\n{}", title(&group.setting), runs(group).markdown());
    }
    if !pooled.unreadable.is_empty() {
        out.push_str("\n## Not read\n\n");
        for Unreadable { run, reason } in &pooled.unreadable {
            let _ = writeln!(out, "- {run}: {reason}");
        }
    }
    out
}

/// The files in the folder of runs, each with its text.
///
/// # Errors
/// A ratio can't be written as JSON.
pub fn files(pooled: &PooledRuns) -> Result<[(&'static str, String); 2]> {
    Ok([(PAGE, markdown(pooled)), (DATA, pretty(pooled)?)])
}

const HOW_TO_READ: &str = "\
Pooled on logarithms by a random-effects model: the mean over runs with the 95 % interval of Hartung and Knapp, the variance between runs \
by restricted maximum likelihood. **Within** is the typical standard error of one run's ratio, worked back from the interval that its \
report prints; **between** is the standard deviation of the true ratios from run to run, which no single run knows of; **I²** is the share \
of the variance that lies between runs. **A new run** is the 95 % prediction interval of Higgins, Thompson and Spiegelhalter for the true \
ratio of one more run; what that run prints is off by its own error within, too. Below three runs there is none, and of few runs the spread \
between them is known badly, which makes these intervals wide. Only runs with the same request, answer length, connections, placement, \
tuning, threads and ledger are pooled, and only where both servers have the same title and effective settings. Length of windows, number of blocks, \
processor, kernel and commit may differ: they are part of what varies between runs.
";

/// One row for each pooled ratio.
pub fn table<'a>(groups: impl Iterator<Item = &'a Group>) -> Table {
    let headers =
        ["figure", "request", "servers", "runs", "pooled ratio", "within", "between", "I²", "a new run"];
    let mut table = Table::new(&headers, 3);
    for Group { setting, pooled, .. } in groups {
        let Some(Pooled { runs, ratio: mean, prediction, within, between, i_squared }) = pooled else {
            continue;
        };
        table.row(vec![
            figure(setting).to_owned(),
            place(setting),
            format!("{} / {}", setting.server, setting.over),
            runs.to_string(),
            ratio(*mean),
            format!("{:.1} %", within * 100.0),
            format!("{:.1} %", between * 100.0),
            format!("{:.0} %", i_squared * 100.0),
            prediction.map_or_else(|| "-".to_owned(), |ends| interval(mean, ends)),
        ]);
    }
    table
}

/// An interval alone, with the decimals of the ratio that it belongs to.
fn interval(mean: &Estimate, ends: (f64, f64)) -> String {
    let both = ratio(Estimate { value: mean.value, interval: Some(ends) });
    both.split_once(' ').map_or(both.clone(), |(_, interval)| interval.to_owned())
}

fn figure(setting: &Setting) -> &'static str {
    match (setting.figure, setting.placement) {
        (PooledFigure::Cpu, Placement::Duet) => "CPU per request, side by side",
        (PooledFigure::Cpu, Placement::OneCore) => "CPU per request, one core",
        (PooledFigure::Cpu, Placement::Free) => "CPU per request, one after the other",
        (PooledFigure::Rate, Placement::OneCore) => "requests/s, one core",
        (PooledFigure::Rate, _) => "requests/s",
    }
}

/// `getBlocks at 500`, and what differs from the settings that campaigns have where nothing else is asked for.
fn place(setting: &Setting) -> String {
    format!("{} at {}", setting.workload, thousands(f64::from(setting.connections)))
}

fn title(setting: &Setting) -> String {
    let [a, b] = &setting.servers;
    let answer = setting
        .answer_bytes
        .map_or_else(String::new, |bytes| format!(", {} B an answer", thousands(bytes as f64)));
    let titles = format!("{} / {}", a.title, b.title);
    format!(
        "{}: {}, {} / {} ({titles}; tuning {}, {} threads{answer})",
        figure(setting),
        place(setting),
        setting.server,
        setting.over,
        setting.environment.tuning.flag(),
        setting.threads
    )
}

fn runs(group: &Group) -> Table {
    let headers = ["run", "machine", "kernel", "commit", "window", "blocks", "ratio", "standard error"];
    let mut table = Table::new(&headers, 4);
    let missing = |text: &Option<String>| text.clone().unwrap_or_else(|| "unavailable".to_owned());
    for RunRatio {
        run,
        cpu,
        cores,
        kernel,
        commit,
        window_ms,
        blocks,
        ratio: value,
        log_standard_error,
        ..
    } in &group.runs
    {
        table.row(vec![
            run.clone(),
            format!("{cpu}, {cores} cores"),
            missing(kernel),
            missing(commit),
            format!("{} ms", thousands(*window_ms as f64)),
            blocks.to_string(),
            ratio(*value),
            log_standard_error.map_or_else(
                || "too few blocks".to_owned(),
                |error| format!("{:.1} %", error.exp_m1() * 100.0),
            ),
        ]);
    }
    if let Some(pooled) = &group.pooled {
        table.row(vec![
            "**pooled**".to_owned(),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            format!("**{}**", ratio(pooled.ratio)),
            format!("between runs {:.1} %", pooled.between * 100.0),
        ]);
    }
    table
}
