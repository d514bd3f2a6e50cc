//! All kept runs side by side: of each campaign a table for each figure and load, with a row for each run, and from the
//! lowest to the highest ratio on each processor.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;

use super::Run;
use super::columns::Columns;
use super::format::{available, bullets, counted, dash, ratio, spanned};
use bench_core::config::{Environment, Placement, Pool};
use bench_core::load::at;
use bench_core::results::{RunFolder, kept};
use bench_core::stats::Estimate;
use bench_core::{Comparison, Verdict};

/// The ratios of a kept run.
#[derive(Debug)]
struct KeptRun {
    name: String,
    /// What two runs must share for their ratios to be of the same thing.
    setting: (String, Environment, u32, Option<Pool>),
    day: String,
    processor: String,
    commit: Option<String>,
    /// By figure and load, then by both servers: `actix / legacy`.
    ratios: BTreeMap<String, BTreeMap<String, Estimate>>,
}

/// What all kept runs show.
#[derive(Debug)]
pub struct AllRuns {
    runs: Vec<KeptRun>,
    /// Runs that can't be read, each with the reason.
    pub unreadable: Vec<String>,
}

/// Reads every kept run of a folder of runs ([`kept`]) that compares servers.
///
/// # Errors
/// The folder can't be read.
pub fn load(results: &Path) -> Result<AllRuns> {
    let mut all = AllRuns { runs: Vec::new(), unreadable: Vec::new() };
    for folder in kept(results)?.into_iter().map(RunFolder).filter(RunFolder::is_run) {
        match RunFolder::open(&folder.0).and_then(|folder| KeptRun::read(&folder)) {
            Ok(run) => all.runs.extend((!run.ratios.is_empty()).then_some(run)),
            Err(error) => {
                all.unreadable.push(format!("{}: {error:#}", folder.name()).replace('\n', " "));
            }
        }
    }
    Ok(all)
}

impl KeptRun {
    fn read(folder: &RunFolder) -> Result<Self> {
        let run = Run::load(folder)?;
        let campaign = &run.plan.campaign;
        let mut ratios: BTreeMap<String, BTreeMap<String, Estimate>> = BTreeMap::new();
        for part in run.parts() {
            let placement = part.plan.campaign.environment.placement;
            let pairs = part.summary.comparisons.iter();
            let over_baseline =
                |pair: &&Comparison| campaign.baseline.as_ref().is_none_or(|baseline| *baseline == pair.over);
            for pair in pairs.filter(over_baseline) {
                let place = at(&pair.workload, pair.level);
                let how = if placement == Placement::Duet { ", side by side" } else { "" };
                let judged = pair.shown(placement).filter(|(_, of)| of.verdict != Verdict::NotJudged);
                for (figure, finding) in judged {
                    let name = figure.described().0;
                    let of = ratios.entry(format!("{name}{how}, {place}")).or_default();
                    of.insert(format!("{} / {}", pair.server, pair.over), finding.ratio);
                }
            }
        }
        let (environment, pool) = (campaign.environment.clone(), run.plan.hosts.clone());
        let host = &run.conditions.host;
        let started_at = &run.conditions.started_at;
        Ok(Self {
            setting: (campaign.name.clone(), environment, run.plan.threads, pool),
            day: started_at.get(..10).unwrap_or(started_at).to_owned(),
            processor: host.processor_name(),
            commit: host.commit.clone(),
            name: run.name,
            ratios,
        })
    }
}

/// Every table.
pub fn markdown(all: &AllRuns) -> String {
    let settings = super::format::distinct(all.runs.iter().map(|run| &run.setting));
    let tables = settings.into_iter().flat_map(|setting| {
        let runs: Vec<&KeptRun> = all.runs.iter().filter(|run| run.setting == *setting).collect();
        let places: BTreeSet<&String> = runs.iter().flat_map(|run| run.ratios.keys()).collect();
        let (campaign, environment, threads, _) = setting;
        let title = format!("{campaign}, tuning {}, {threads} threads", environment.tuning.flag());
        let table = move |place: &String| format!("\n## {title}: {place}\n\n{}", table(&runs, place));
        places.into_iter().map(table).collect::<Vec<_>>()
    });
    let unread = match bullets(all.unreadable.iter().cloned()) {
        unread if unread.is_empty() => unread,
        unread => format!("\n## Not read\n\n{unread}"),
    };
    format!(
        "# All kept runs\n\nOf each ratio the value and its 95 % interval. An interval is of its run alone: another \
         run, of another build or on another processor, may lie outside.\n{}{unread}",
        tables.collect::<String>()
    )
}

/// A row for each run that has the figure, by processor, and where a processor has several runs their range.
fn table(runs: &[&KeptRun], place: &str) -> String {
    let mut runs: Vec<&KeptRun> = runs.iter().copied().filter(|run| run.ratios.contains_key(place)).collect();
    runs.sort_by_key(|run| (&run.processor, &run.name));
    let pairs: BTreeSet<&String> = runs.iter().flat_map(|run| run.ratios[place].keys()).collect();
    let of = |run: &KeptRun, pair: &String| run.ratios[place].get(pair).copied();
    let mut rows = Vec::new();
    for on in runs.chunk_by(|a, b| a.processor == b.processor) {
        let processor = on[0].processor.clone();
        for run in on {
            let first = [processor.clone(), run.day.clone(), available(run.commit.as_ref())];
            let ratios = pairs.iter().map(|pair| dash(of(run, pair), ratio));
            rows.push(first.into_iter().chain(ratios).collect::<Vec<String>>());
        }
        if on.len() > 1 {
            let range = |pair: &&String| {
                let values: Vec<f64> = on.iter().filter_map(|run| Some(of(run, pair)?.value)).collect();
                let ends =
                    values.iter().copied().reduce(f64::min).zip(values.iter().copied().reduce(f64::max));
                dash(ends, |ends| format!("**{}**", spanned(ends, |value| format!("{value:.2}"))))
            };
            let first = [format!("**{processor}**"), counted(on.len() as u64, "run"), String::new()];
            rows.push(first.into_iter().chain(pairs.iter().map(range)).collect());
        }
    }
    let headers = ["processor", "date", "commit"].into_iter().chain(pairs.iter().map(|pair| pair.as_str()));
    Columns::written(&headers.collect::<Vec<_>>(), 3, rows).markdown()
}
