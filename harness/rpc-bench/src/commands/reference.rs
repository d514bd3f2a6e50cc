//! `rpc-bench reference`: the runs that README's first screen quotes, measured where today's servers have none on this
//! processor.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use bench_model::config::ConfigDir;
use bench_model::results::RunFolder;
use bench_report::html::reported;
use bench_report::pages::Sources;
use bench_system::probe::host::Host;
use bench_system::repository::changed_files;
use bench_system::text_files::{read, write};
use serde::Deserialize;

/// The list, in the folder of the configuration.
const LIST: &str = "reference.toml";

/// Whether to measure.
#[derive(clap::Args)]
pub struct Args {
    /// Measure nothing; say which runs are missing.
    #[arg(long)]
    check: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    run: Vec<Wanted>,
}

/// A run that is wanted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    campaign: String,
    /// Once where left out.
    times: Option<usize>,
    alias: Option<String>,
}

/// Makes the missing runs, packs all, has git keep them, and renews what is pooled and quoted. False where some are
/// missing and none is to be made.
///
/// # Errors
/// The tree has changes, a run fails, or a page can't be written.
pub fn reference(config: &ConfigDir, results: &Path, args: &Args) -> Result<bool> {
    let path = config.0.join(LIST);
    let list: List =
        toml::from_str(&read(&path)?).with_context(|| format!("{} is not right", path.display()))?;
    let mut all_there = true;
    for wanted in &list.run {
        let command = ["run", &wanted.campaign];
        let mut found = there(results, wanted)?;
        let times = wanted.times.unwrap_or(1);
        let missing = times.saturating_sub(found.len());
        bench_system::say!("{}: {} of {times} there", command.join(" "), found.len());
        all_there &= missing == 0;
        if args.check {
            continue;
        }
        for _ in 0..missing {
            check_unchanged()?;
            call(config, results, &command)?;
            let now = there(results, wanted)?;
            ensure!(now.len() > found.len(), "{} made no run of today's servers", command.join(" "));
            found = now;
        }
        for run in &found {
            super::pack::one(&run.0)?;
            keep(&run.0)?;
        }
        if let (Some(alias), Some(newest)) = (&wanted.alias, found.last()) {
            quote(alias, &newest.name())?;
        }
    }
    if args.check {
        return Ok(all_there);
    }
    call(config, results, &["compare", "--all", "--write"])?;
    call(config, results, &["splice"])?;
    Ok(true)
}

/// The finished runs of today's servers on this processor that are such a one, the oldest first.
fn there(results: &Path, wanted: &Wanted) -> Result<Vec<RunFolder>> {
    let processor = Host::machine().processor_name();
    // What was measured meanwhile is read afresh.
    let sources = Sources::new(results, Path::new("."));
    let mut found = Vec::new();
    for reported in reported(results)?.iter().rev() {
        let Ok(folder) = RunFolder::open(&reported.0) else { continue };
        let is_here = folder
            .conditions()
            .is_ok_and(|known| known.host.processor_name() == processor && known.uncommitted().is_none());
        let is_such = folder.plan().is_ok_and(|plan| plan.campaign.name == wanted.campaign);
        if is_here && is_such && sources.changed_servers(&folder.name())?.is_empty() {
            found.push(folder);
        }
    }
    Ok(found)
}

/// A run of a tree with changes can't be kept. Pages and results may change: they are what this renews.
fn check_unchanged() -> Result<()> {
    let changed = changed_files(Path::new("."))
        .context("this is no git repository, so that no run here can be kept")?;
    let counts = changed.iter().find(|file| !file.ends_with(".md") && !file.starts_with("results/"));
    counts.map_or(Ok(()), |file| bail!("{file} has changed since the commit; commit first"))
}

/// Calls this program with another verb, whose output goes where this one's does.
fn call(config: &ConfigDir, results: &Path, args: &[&str]) -> Result<()> {
    let program = std::env::current_exe().context("this program's own path is not known")?;
    let mut command = Command::new(program);
    command.arg("--config").arg(&config.0).arg("--results").arg(results).args(args);
    let status = command.status().context("can't start this program again")?;
    // Code 1 is of what ran well but found something, and has said what.
    ensure!(matches!(status.code(), Some(0 | 1)), "rpc-bench {} failed ({status})", args.join(" "));
    Ok(())
}

fn keep(run: &Path) -> Result<()> {
    let status = Command::new("git").arg("add").arg("--").arg(run).status().context("can't start git")?;
    ensure!(status.success(), "git add {} failed", run.display());
    Ok(())
}

/// Lets README quote a run by an alias, where it has that alias.
fn quote(alias: &str, run: &str) -> Result<()> {
    let text = read("README.md")?;
    let begin = format!("[{alias}]: results/");
    let line = |line: &str| match line.starts_with(&begin) {
        true => format!("{begin}{run}/report.md\n"),
        false => line.to_owned(),
    };
    let renewed: String = text.split_inclusive('\n').map(line).collect();
    if renewed != text {
        write("README.md", &renewed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_measured_is_there() {
        let config = ConfigDir::of_repository();
        let list: List = toml::from_str(&read(config.0.join(LIST)).unwrap()).unwrap();
        let readme = read(config.0.join("../README.md")).unwrap();
        assert!(!list.run.is_empty());
        for wanted in &list.run {
            drop(config.campaign(&wanted.campaign).unwrap());
            let quoted = |alias: &String| readme.contains(&format!("[{alias}]: results/"));
            assert!(wanted.alias.as_ref().is_none_or(quoted), "README quotes no {:?}", wanted.alias);
        }
    }
}
