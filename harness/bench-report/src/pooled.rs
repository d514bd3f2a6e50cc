//! All kept runs side by side: each headline ratio of each run, and what they show together. For the terminal, for
//! `results/pooled.md`, and as `results/pooled.json`, which pages quote.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::columns::Columns;
use super::format::{available, bullets, count, counted, dash, known, list, percent, ratio};
use super::{Run, charts};
use bench_analysis::agreement::{Agreement, Differs, Near, agreement};
use bench_analysis::pooled::{Across, Group, Model, Pooled, PooledFigure, RunRatio, Setting, Source, pool};
use bench_model::config::Placement;
use bench_model::results::{DUETS, RunFolder, kept};
use bench_stats::Estimate;

/// The files that hold it, in the folder of runs.
pub const PAGE: &str = "pooled.md";
/// See [`PAGE`].
pub const DATA: &str = "pooled.json";
/// See [`PAGE`]: its chart.
pub const CHART: &str = "pooled.svg";

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

/// Reads every kept run of a folder of runs ([`kept`]) and pools what they share. Folders of other programs are passed over.
///
/// # Errors
/// The folder can't be read.
pub fn load(results: &Path) -> Result<PooledRuns> {
    let mut parts: Vec<(String, Run)> = Vec::new();
    let (mut runs, mut unreadable) = (Vec::new(), Vec::new());
    for folder in kept(results)?.into_iter().map(RunFolder).filter(RunFolder::is_run) {
        let run = folder.name();
        let read = RunFolder::open(&folder.0).and_then(|folder| read(&folder));
        match read {
            Ok(read) => {
                runs.push(run);
                parts.extend(read);
            }
            Err(error) => {
                unreadable.push(Unreadable { run, reason: format!("{error:#}").replace('\n', " ") })
            }
        }
    }
    Ok(PooledRuns { runs, unreadable, groups: groups(&parts) })
}

fn groups(parts: &[(String, Run)]) -> Vec<Group> {
    let sources = parts.iter().map(|(name, run)| Source {
        name,
        plan: &run.plan,
        conditions: &run.conditions,
        summary: &run.summary,
    });
    pool(&sources.collect::<Vec<_>>())
}

/// What a run of this version's format shows by itself, and what was pooled of all kept runs, where that was written;
/// none where it was not, or the run compares nothing.
///
/// # Errors
/// The run can't be read.
pub fn next_to_kept(folder: &RunFolder, results: &Path) -> Result<Option<Agreement>> {
    let Ok(text) = std::fs::read_to_string(results.join(DATA)) else { return Ok(None) };
    // That of another version is written again by `compare --all --write`, and is no fault of this run.
    let Ok(kept) = serde_json::from_str::<PooledRuns>(&text) else { return Ok(None) };
    agreement(&groups(&read(folder)?), &kept.groups)
}

/// One line, or one for each ratio that differs behind it.
pub fn agreement_words(found: &Agreement) -> String {
    let Agreement { near, runs, compared, differs, otherwise } = found;
    let runs = counted(runs.len() as u64, "kept run");
    let of = match near {
        Near::Same => "on this processor, of the same servers",
        Near::OtherBuild => "on this processor, of other builds of the servers",
        Near::OtherProcessor => "on other processors",
    };
    if differs.is_empty() {
        return format!(
            "This run agrees with {runs} {of}: all {compared} ratios lie where one more run is expected."
        );
    }
    let otherwise = match otherwise.as_slice() {
        [] => String::new(),
        what => format!(" What else differs: {}.", list(what)),
    };
    let differ = differs.iter().map(|Differs { place, here, there: (low, high) }| {
        format!("\n- {place}: {here:.2} here, {low:.2} to {high:.2} expected")
    });
    format!(
        "This run differs from {runs} {of} in {} of {compared} ratios.{otherwise}{}",
        differs.len(),
        differ.collect::<String>()
    )
}

/// A run and its duets.
fn read(folder: &RunFolder) -> Result<Vec<(String, Run)>> {
    let mut run = Run::load(folder)?;
    let name = folder.name();
    let duets = run.duets.take().map(|duets| (format!("{name}/{DUETS}"), *duets));
    Ok([(name, run)].into_iter().chain(duets).collect())
}

/// The whole page.
pub fn markdown(pooled: &PooledRuns) -> String {
    let shown: Vec<&Group> = pooled.groups.iter().filter(|group| group.is_repeated()).collect();
    let by_processor = match shown.as_slice() {
        [] => "No ratio was measured in two runs with the same builds and settings.\n".to_owned(),
        shown => format!("{}\n{HOW_TO_READ}\n", by_processor(shown)),
    };
    let of_each = processors(&shown).into_iter().map(|processor| table(&shown, processor));
    let one_by_one =
        pooled.groups.iter().map(|group| format!("\n### {}\n\n{}", title(&group.setting), runs(group)));
    let unread = pooled.unreadable.iter().map(|Unreadable { run, reason }| format!("{run}: {reason}"));
    let unread = match bullets(unread).as_str() {
        "" => String::new(),
        unread => format!("\n## Not read\n\n{unread}"),
    };
    format!(
        "# All kept runs\n\nMade by `just compare --all --write` from {} runs. Ratios are of the first server over the \
         second.\n\n## By processor\n\n{by_processor}{}\n## Run by run\n{}{unread}",
        pooled.runs.len(),
        of_each.collect::<String>(),
        one_by_one.collect::<String>()
    )
}

/// The files in the folder of runs, each with its text.
///
/// # Errors
/// A ratio can't be written as JSON.
pub fn files(pooled: &PooledRuns) -> Result<Vec<(&'static str, String)>> {
    let chart = charts::pooled(&pooled.groups).map(|chart| (CHART, charts::svg(&chart)));
    let data = serde_json::to_string(pooled)? + "\n";
    Ok([(PAGE, markdown(pooled)), (DATA, data)].into_iter().chain(chart).collect())
}

const HOW_TO_READ: &str = "\
**By processor** has a column for each model of processor: the ratio with its 95 % interval and the number of runs. \
**All models** is the range from the smallest to the largest of them; from three models on a mean over models with \
its 95 % interval stands behind it. Few models were measured, and another one may lie outside of the range.

Within a \
model ratios are pooled on logarithms by a random-effects model: the mean over runs with the 95 % interval of Hartung \
and Knapp, the variance between runs by restricted maximum likelihood. **Within** is the typical standard error of \
one run's ratio, worked back from the interval that its report prints; **between** is the standard deviation of the \
true ratios from run to run, which no single run knows of; **I²** is the share of the variance that lies between \
runs. **A new run** is the 95 % prediction interval of Higgins, Thompson and Spiegelhalter for the true ratio of one \
more run on the same model; what that run prints is off by its own error within, too. Below three runs there is none, \
and of few runs the spread between them is known badly, which makes these intervals wide. Only runs with the same \
request, answer length, connections, load tool, load hosts, placement, tuning, threads and ledger are pooled, and \
only where both servers have the same title, effective settings and build: sources, versions of all crates, profile \
and compiler. Runs without a fingerprint of these are pooled where they are of one commit. Length of windows, number \
of blocks, kernel and the rest of the repository may differ: they are part of what varies between runs.
";

/// The models of processors that groups have, in the order of their names.
fn processors<'a>(groups: &[&'a Group]) -> BTreeSet<&'a str> {
    groups.iter().flat_map(|group| &group.models).map(|model| model.processor.as_str()).collect()
}

/// Columns that say which ratio a row is.
fn places<T>(rows: impl IntoIterator<Item = T>, text_columns: usize, of: fn(&T) -> &Setting) -> Columns<T> {
    Columns::of(text_columns, rows)
        .column("figure", |row| figure(of(row)))
        .column("request", |row| of(row).place())
        .column("servers", |row| format!("{} / {}", of(row).server, of(row).over))
}

/// A column for each model of processor, and one for all of them.
fn by_processor(groups: &[&Group]) -> String {
    let processors = processors(groups).into_iter().map(|name| (name, name));
    places(groups, 4, |group| &group.setting)
        .column("built from", |group| built(&group.setting))
        .columns(processors, |group, name| {
            let model = group.models.iter().find(|model| model.processor == *name);
            dash(model, |model| {
                format!("{} ({})", ratio(model.ratio()), counted(model.runs.len() as u64, "run"))
            })
        })
        .column("all models", |group| dash(group.across, all_models))
        .markdown()
}

/// `0.72 to 0.82`, from three models on with the mean and its interval.
fn all_models(across: Across) -> String {
    let (low, high) = across.range;
    let mean = known(across.ratio, "", |mean| format!(", mean {}", ratio(mean)));
    format!("{low:.2} to {high:.2}{mean}")
}

/// What both servers of a ratio were built from.
fn built(setting: &Setting) -> String {
    let [own, over] = [&setting.servers[0], &setting.servers[1]].map(|server| server.built.words());
    if own == over { own } else { format!("{own} / {over}") }
}

/// One row for each ratio that was pooled on a model of processor, under its heading.
fn table(groups: &[&Group], processor: &str) -> String {
    let rows = groups.iter().filter_map(|group| {
        let model = group.models.iter().find(|model| model.processor == processor)?;
        Some((&group.setting, model.pooled.as_ref()?))
    });
    places(rows, 3, |(setting, _)| setting)
        .column("runs", |(_, pooled)| pooled.runs)
        .column("pooled ratio", |(_, pooled)| ratio(pooled.ratio))
        .column("within", |(_, pooled)| format!("{:.1} %", pooled.within * 100.0))
        .column("between", |(_, pooled)| format!("{:.1} %", pooled.between * 100.0))
        .column("I²", |(_, pooled)| percent(pooled.i_squared))
        .column("a new run", |(_, pooled)| dash(pooled.prediction, |ends| interval(pooled.ratio, ends)))
        .within(|table| format!("\n## Pooled: {processor}\n\n{table}"))
}

/// An interval alone, with the decimals of the ratio that it belongs to.
fn interval(mean: Estimate, ends: (f64, f64)) -> String {
    let both = ratio(Estimate { value: mean.value, interval: Some(ends) });
    both.split_once(' ').map_or(both.clone(), |(_, interval)| interval.to_owned())
}

fn figure(setting: &Setting) -> &'static str {
    match (setting.figure, setting.placement) {
        (PooledFigure::Cpu, Placement::Duet) if setting.many_builds => {
            "CPU per request, side by side, many builds"
        }
        (PooledFigure::Cpu, Placement::Duet) => "CPU per request, side by side",
        (PooledFigure::Cpu, Placement::OneCore) => "CPU per request, one core",
        (PooledFigure::Cpu, Placement::Free) => "CPU per request, one after the other",
        (PooledFigure::Rate, Placement::OneCore) => "requests/s, one core",
        (PooledFigure::Rate, _) => "requests/s",
        (PooledFigure::P99, Placement::OneCore) => "p99, one core",
        (PooledFigure::P99, _) => "p99",
    }
}

fn title(setting: &Setting) -> String {
    let [a, b] = &setting.servers;
    let answer = known(setting.answer_bytes, "", |bytes| format!(", {} B an answer", count(bytes)));
    let titles = format!("{} / {}", a.title, b.title);
    format!(
        "{}: {}, {} / {} ({titles}; tuning {}, {} threads{answer}; built from {})",
        figure(setting),
        setting.place(),
        setting.server,
        setting.over,
        setting.environment.tuning.flag(),
        setting.threads,
        built(setting)
    )
}

fn runs(group: &Group) -> String {
    let row = |processor: &str, run: &RunRatio| {
        let error = |error: f64| format!("{:.1} %", error.exp_m1() * 100.0);
        vec![
            run.run.clone(),
            format!("{processor}, {} cores", run.cores),
            available(run.kernel.as_ref()),
            available(run.commit.as_ref()),
            format!("{} ms", count(run.window_ms)),
            run.blocks.to_string(),
            ratio(run.ratio),
            known(run.log_standard_error, "too few blocks", error),
        ]
    };
    let pooled = |model: &Model| {
        let Pooled { ratio: mean, between, .. } = model.pooled?;
        let (blank, mean) = (String::new, format!("**{}**", ratio(mean)));
        let between = format!("between runs {:.1} %", between * 100.0);
        let name = "**pooled**".to_owned();
        Some(vec![name, model.processor.clone(), blank(), blank(), blank(), blank(), mean, between])
    };
    let headers = ["run", "machine", "kernel", "commit", "window", "blocks", "ratio", "standard error"];
    let rows = group.models.iter().flat_map(|model| {
        let runs = model.runs.iter().map(|run| row(&model.processor, run));
        runs.chain(pooled(model)).collect::<Vec<_>>()
    });
    Columns::written(&headers, 4, rows).markdown()
}
