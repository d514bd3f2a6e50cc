//! The runs behind a page: read once each, and worked out from their raw observations.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Quoted;
use crate::Run;
use crate::pooled::{self, PooledRuns};
use bench_model::config::Server;
use bench_model::provenance;
use bench_model::results::{RunFolder, SLO, SUMMARY, THRESHOLD, unpack_stages};

/// A folder of runs, and what was read of it.
#[derive(Debug, Default)]
pub struct Sources {
    results: PathBuf,
    /// The repository, whose servers are today's.
    root: PathBuf,
    fingerprints: Known<Vec<String>, Option<String>>,
    changed: Known<String, Vec<String>>,
    reports: Known<String, Rc<str>>,
    files: Known<PathBuf, Rc<Value>>,
}

/// What was worked out already.
type Known<K, V> = RefCell<BTreeMap<K, V>>;

/// What is known, or is worked out now.
fn once<K: Ord, V: Clone>(known: &Known<K, V>, key: K, make: impl FnOnce() -> Result<V>) -> Result<V> {
    if let Some(known) = known.borrow().get(&key) {
        return Ok(known.clone());
    }
    let made = make()?;
    known.borrow_mut().insert(key, made.clone());
    Ok(made)
}

impl Sources {
    /// The runs of a folder, and the repository whose servers are today's.
    pub fn new(results: &Path, root: &Path) -> Self {
        Self { results: results.to_owned(), root: root.to_owned(), ..Self::default() }
    }

    /// The servers of a run that are not built from what the repository has now: all that are, where the run does not
    /// know what its servers were built from. A ceiling is none: it shows what the load tool can send.
    ///
    /// # Errors
    /// The run can't be read.
    pub fn changed_servers(&self, run: &str) -> Result<Vec<String>> {
        once(&self.changed, run.to_owned(), || {
            let folder = self.folder(run)?;
            let (plan, mut programs) = (folder.plan()?, folder.conditions()?.programs);
            // A run that only searches has a folder inside its own that says what it ran.
            for inner in [THRESHOLD, SLO].iter().filter_map(|name| folder.inside(name)) {
                let (inside, ran) = (inner.plan()?.servers, inner.conditions()?.programs);
                for server in &plan.servers {
                    let mut same = inside.iter().filter(|other| other.build == server.build);
                    if let Some(program) = same.find_map(|other| ran.get(&other.name)) {
                        programs.entry(server.name.clone()).or_insert_with(|| program.clone());
                    }
                }
            }
            // A gate's base is meant to be another commit's, and its label names that.
            let servers =
                plan.compared().flat_map(Server::and_upstream).filter(|server| server.checkout.is_none());
            // A program that comes from elsewhere has its version in its entry, and no sources here.
            let is_ours =
                |server: &&Server| !matches!(provenance::sources(&server.build, &self.root), Ok(None));
            let built = servers.filter(|server| !server.build.is_empty()).filter(is_ours);
            let is_changed = |server: &&Server| {
                let then = programs.get(&server.name).and_then(|program| program.sources.clone());
                then.is_none() || then != self.fingerprint(&server.build)
            };
            Ok(built.filter(is_changed).map(|server| server.name.clone()).collect())
        })
    }

    /// The fingerprint of what a command would build now; none where that is unknown.
    fn fingerprint(&self, build: &[String]) -> Option<String> {
        let compute = || Some(provenance::sources(build, &self.root).ok()??.fingerprint);
        once(&self.fingerprints, build.to_vec(), || Ok(compute())).ok().flatten()
    }

    /// When the servers of a run were measured, where they are not today's: `22 November 2026`.
    ///
    /// # Errors
    /// The run can't be read.
    pub(super) fn older(&self, run: &str) -> Result<Option<String>> {
        Ok(if self.changed_servers(run)?.is_empty() { None } else { Some(day(run)) })
    }

    /// A run's folder.
    pub(super) fn folder(&self, run: &str) -> Result<RunFolder> {
        RunFolder::open(&self.results.join(run))
    }

    /// A run as a campaign's report reads it.
    pub(super) fn run(&self, run: &str) -> Result<Run> {
        Run::load(&self.folder(run)?)
    }

    /// A run's report, worked out from its observations and not read from its file.
    pub(super) fn report(&self, run: &str) -> Result<Rc<str>> {
        once(&self.reports, run.to_owned(), || {
            Ok(crate::markdown(&Run::load(&self.folder(run)?)?, false).into())
        })
    }

    /// What was pooled of all runs.
    pub(super) fn pooled(&self) -> Result<PooledRuns> {
        let path = self.results.join(pooled::DATA);
        let value = self.file(&path)?;
        serde_json::from_value((*value).clone()).with_context(|| {
            format!("{} is not of this version's format; run: just compare --all --write", path.display())
        })
    }

    /// A JSON file of a run, `summary.json` where none is named; of all runs, what was pooled. A summary is worked out
    /// from the observations and not read from its file.
    pub(super) fn json(&self, quoted: &Quoted, file: Option<&str>) -> Result<Rc<Value>> {
        let path = match quoted {
            Quoted::Run(run) => self.results.join(run).join(file.unwrap_or(SUMMARY)),
            Quoted::Pooled => self.results.join(file.unwrap_or(pooled::DATA)),
        };
        self.file(&path)
    }

    fn file(&self, path: &Path) -> Result<Rc<Value>> {
        let folder = path.parent().unwrap_or(Path::new("."));
        once(&self.files, path.to_owned(), || {
            if path.ends_with(SUMMARY) {
                return Ok(Rc::new(summary(&RunFolder::open(folder)?)?));
            }
            unpack_stages(path)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            Ok(Rc::new(RunFolder(folder.to_owned()).read_json(&name)?))
        })
    }
}

/// The day on which a run began, by its name.
fn day(run: &str) -> String {
    let date = run.get(..10).and_then(|date| date.parse::<jiff::civil::Date>().ok());
    date.map_or_else(|| "an unknown day".to_owned(), |date| date.strftime("%-d %B %Y").to_string())
}

/// What a run's `summary.json` holds.
fn summary(folder: &RunFolder) -> Result<Value> {
    Ok(serde_json::to_value(Run::load(folder)?.summary)?)
}
