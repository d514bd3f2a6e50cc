//! A finished run made small: its plan, its files of JSON lines and its stages (the folders inside its own) become one
//! archive, and what can be worked out again or what no report reads is removed. A packed run is read like any other:
//! its own files are read out of the archive, and its stages are unpacked when it is opened. It is never added to.
//!
//! Removed are the run's own files that the archive was found to hold, byte for byte, those that are made again, by
//! their names, and the folders of what tools printed, whole.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::archive::{ARCHIVE, holds, is_packed, write_files};
use super::own::{kind_of, remove, remove_all, sorted};
use super::{ENVIRONMENT, PLAN, REMEDIES, REPORT, RunFolder, SUMMARY, TOOL_OUTPUT, is_lines};

/// Files that a kept run does not need: the plan holds the campaign as it was resolved, and the others are made again
/// from the rest.
const REMOVED: [&str; 3] = ["campaign.toml", SUMMARY, "report.html"];

impl RunFolder {
    /// Whether it is packed.
    pub fn is_packed(&self) -> bool {
        is_packed(&self.0)
    }

    /// Removes charts of its report, by their files' names; one that is not there is none.
    ///
    /// # Errors
    /// A name is no chart's, or one can't be removed.
    pub fn remove_charts<'a>(&self, names: impl Iterator<Item = &'a str>) -> Result<()> {
        for name in names {
            ensure!(name.ends_with(".svg") && !name.contains('/'), "{name} is no chart");
            remove(&self.0.join(name))?;
        }
        Ok(())
    }

    /// Opens the folder of a run to resume it.
    ///
    /// # Errors
    /// It is not a run's folder, or the run is packed.
    pub fn open_to_resume(path: &Path) -> Result<Self> {
        let folder = Self::open(path)?;
        ensure!(
            !is_packed(path),
            "{} is packed, so it can't be resumed or added to; begin a new run",
            path.display()
        );
        Ok(folder)
    }

    /// Puts the plan, what it was measured on, the files of lines and the stages of a finished run into one archive,
    /// and removes the tools' raw output and what can be made again, in the stages too. The same run always gives the
    /// same bytes. What is packed already stays as it is, and the removal of one that was stopped is completed.
    ///
    /// # Errors
    /// It is no run or has no report, somebody else writes to it, there is a symbolic link among its files, or the
    /// folder can't be changed.
    pub fn pack(&self) -> Result<()> {
        let place = self.0.display();
        let context = || format!("can't pack {place}");
        let is_plain = |name: &str| self.0.join(name).symlink_metadata().is_ok_and(|found| found.is_file());
        ensure!(
            is_plain(REPORT),
            "{place} is not a finished run: it has no {REPORT}; write it with: just report {place}"
        );
        ensure!(!kind_of(&self.0)?.is_symlink(), "{place} is a symbolic link; name the run's own folder");
        self.plan().context("it is no run").with_context(context)?;
        let _lock = self.lock()?;
        let contents = Contents::of(&self.0).with_context(context)?;
        contents.archive(&self.0).and_then(|()| contents.remove(&self.0)).with_context(context)
    }
}

/// What is in the folder of a run, by paths from there.
#[derive(Default)]
struct Contents {
    /// The run's own plans, what it was measured on, and its files of lines.
    own: Vec<PathBuf>,
    /// The files of its stages that are kept.
    of_stages: Vec<PathBuf>,
    /// Files of the run and of its stages that are not.
    unneeded: Vec<PathBuf>,
    /// Folders of what tools printed.
    tool_outputs: Vec<PathBuf>,
}

impl Contents {
    fn of(run: &Path) -> Result<Self> {
        let mut contents = Self::default();
        contents.read(run, Path::new(""))?;
        // The plan first; stages by their paths, whatever the order of the folder is.
        contents.own.sort_by_key(|path| (!path.ends_with(PLAN), path.clone()));
        contents.of_stages.sort();
        Ok(contents)
    }

    /// Reads the run's folder, or that of a stage. Folders without a plan and hidden files are not the run's.
    fn read(&mut self, run: &Path, place: &Path) -> Result<()> {
        for path in sorted(&run.join(place))? {
            let Some(name) = path.file_name().and_then(OsStr::to_str) else { continue };
            let (kind, place) = (kind_of(&path)?, place.join(name));
            let is_top = place.parent() == Some(Path::new(""));
            ensure!(
                !kind.is_symlink(),
                "{} is a symbolic link, and none is followed; put the file itself there",
                path.display()
            );
            if name.starts_with('.') {
                continue;
            }
            if kind.is_dir() && name == TOOL_OUTPUT {
                self.tool_outputs.push(place);
            } else if kind.is_dir() && name == REMEDIES {
                self.read_stages(run, &place)?;
            } else if kind.is_dir() {
                self.read_stage(run, &place)?;
            } else if REMOVED.contains(&name) {
                self.unneeded.push(place);
            } else if is_top && ([PLAN, ENVIRONMENT].contains(&name) || is_lines(&path)) {
                self.own.push(place);
            } else if !is_top {
                self.of_stages.push(place);
            }
        }
        Ok(())
    }

    /// Reads the stages in a folder that is none itself.
    fn read_stages(&mut self, run: &Path, place: &Path) -> Result<()> {
        for path in sorted(&run.join(place))? {
            if kind_of(&path)?.is_dir() {
                self.read_stage(run, &place.join(path.file_name().unwrap_or_default()))?;
            }
        }
        Ok(())
    }

    fn read_stage(&mut self, run: &Path, place: &Path) -> Result<()> {
        let stage = RunFolder(run.join(place));
        if !stage.0.join(PLAN).is_file() {
            return Ok(());
        }
        stage.plan()?;
        self.read(run, place)
    }

    /// Writes the archive, or compares the one that is there with the run's own files.
    fn archive(&self, run: &Path) -> Result<()> {
        let path = run.join(ARCHIVE);
        if path.exists() {
            return Ok(holds(&path, run, &self.own)?);
        }
        let files = [self.own.clone(), self.of_stages.clone()].concat();
        Ok(write_files(&path, run, &files, |draft| holds(draft, run, &files))?)
    }

    /// Removes what is in the archive, and what is not needed. Of the stages only that: who has the run open goes on
    /// reading them.
    fn remove(&self, run: &Path) -> Result<()> {
        self.own.iter().chain(&self.unneeded).try_for_each(|path| remove(&run.join(path)))?;
        self.tool_outputs.iter().try_for_each(|path| remove_all(&run.join(path)))
    }
}

#[cfg(test)]
mod tests;
