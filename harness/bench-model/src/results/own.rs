//! What of a run's folder is the harness's own, by name and place. Only that is ever removed, each file by its own
//! path; no symbolic link is followed, and a folder goes only where it is empty then.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::lock::LOCK;
use super::{CEILINGS, ENVIRONMENT, OBSERVATIONS, PLAN, REMEDY, SEARCHES, SLO_PLAN, TOOL_OUTPUT};
use crate::load::LoadTool;

/// What is written into a folder before its plan is.
const BEFORE_PLAN: [&str; 5] = ["campaign.toml", ENVIRONMENT, SEARCHES, SLO_PLAN, REMEDY];

/// What the names of files in the folder of tools' output begin with that belong to no trial.
const OF_NO_TRIAL: [&str; 2] = ["callgrind-", "reference-"];

/// The names of those that have one name; what a load tool reads in every load is another.
const NAMED: [&str; 4] = ["ready.stderr", "ready.upstream.stderr", "remedy.stderr", "server.stderr"];

/// The ending of the folder of a load that several hosts put on.
pub const OF_HOSTS: &str = ".hosts";

/// Files and folders to be removed.
#[derive(Debug, Default)]
pub(crate) struct Removal {
    /// Plain files.
    pub files: Vec<PathBuf>,
    /// Those inside of others first.
    folders: Vec<PathBuf>,
}

impl Removal {
    /// All of a folder, and the folder.
    ///
    /// # Errors
    /// There is something that `is_own` does not know by its path from the folder, or a symbolic link.
    pub fn all_of(folder: &Path, is_own: impl Fn(&Path) -> bool) -> Result<Self> {
        if !kind_of(folder)?.is_dir() {
            bail!("{} is a symbolic link, and none is followed; remove it", folder.display());
        }
        let mut removal = Self::default();
        removal.add_all(folder, folder, &is_own)?;
        Ok(removal)
    }

    fn add_all(&mut self, folder: &Path, root: &Path, is_own: &impl Fn(&Path) -> bool) -> Result<()> {
        for path in sorted(folder)? {
            let kind = kind_of(&path)?;
            let name = path.strip_prefix(root).unwrap_or(&path);
            if !is_own(name) || !(kind.is_dir() || kind.is_file()) {
                bail!("{} is none of this program's files; move it away", path.display());
            }
            if kind.is_dir() { self.add_all(&path, root, is_own)? } else { self.files.push(path) }
        }
        self.folders.push(folder.to_owned());
        Ok(())
    }

    /// What tools printed, in that folder of a run: the files with names that the harness gives. Others stay, and the
    /// folder with them.
    ///
    /// # Errors
    /// A folder of load hosts holds something else.
    pub fn tool_output(&mut self, folder: &Path) -> Result<()> {
        self.tool_output_of(folder, &|_| true)?;
        self.folders.push(folder.to_owned());
        Ok(())
    }

    /// The same of those names alone, without the folder.
    ///
    /// # Errors
    /// A folder of load hosts holds something else.
    pub fn tool_output_of(&mut self, folder: &Path, is_meant: &dyn Fn(&str) -> bool) -> Result<()> {
        if !kind_of(folder)?.is_dir() {
            // What is behind a link stays.
            return Ok(());
        }
        for path in sorted(folder)? {
            let name = path.file_name().and_then(OsStr::to_str);
            let Some(name) = name.filter(|name| is_tool_output(name) && is_meant(name)) else { continue };
            let kind = kind_of(&path)?;
            if kind.is_file() {
                self.files.push(path);
            } else if kind.is_dir() && name.ends_with(OF_HOSTS) {
                self.add_all(&path, &path, &is_of_hosts)?;
            }
        }
        Ok(())
    }

    /// Removes them. What has gone already is fine, and a folder that is not empty stays.
    ///
    /// # Errors
    /// The folder can't be changed.
    pub fn carry_out(&self) -> Result<()> {
        let there = |done: io::Result<()>| match done {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        };
        for path in &self.files {
            there(fs::remove_file(path)).with_context(|| format!("can't remove {}", path.display()))?;
        }
        for path in &self.folders {
            match there(fs::remove_dir(path)) {
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                done => done.with_context(|| format!("can't remove {}", path.display()))?,
            }
        }
        Ok(())
    }
}

/// Removes the folder of a part of a run that was not begun: it has no plan yet, and nothing of it was measured but
/// what the load tool can send.
///
/// # Errors
/// It holds something else; then all of it stays.
pub(super) fn remove_unbegun(folder: &Path) -> Result<()> {
    let is_own = |path: &Path| match names(path)[..] {
        [name] => BEFORE_PLAN.contains(&name) || [TOOL_OUTPUT, CEILINGS].contains(&name),
        [TOOL_OUTPUT, name] | [CEILINGS, TOOL_OUTPUT, name] => is_tool_output(name),
        // What a search for rates finds out before it is planned.
        [CEILINGS, name] => BEFORE_PLAN.contains(&name) || [PLAN, OBSERVATIONS, TOOL_OUTPUT].contains(&name),
        _ => false,
    };
    Removal::all_of(folder, is_own)?.carry_out()
}

/// Removes the folder of a run that this process made and could not begin, with what was tried for its rates.
///
/// # Errors
/// It holds something else; then all of it stays.
pub fn remove_begun(folder: &Path) -> Result<()> {
    fn is_own(names: &[&str]) -> bool {
        match names {
            [name] => BEFORE_PLAN.contains(name) || [PLAN, TOOL_OUTPUT, LOCK].contains(name),
            [TOOL_OUTPUT, name] => is_tool_output(name),
            _ => false,
        }
    }
    let is_own = |path: &Path| match names(path)[..] {
        [CEILINGS] | [CEILINGS, OBSERVATIONS] => true,
        [CEILINGS, ref names @ ..] => is_own(names),
        ref names => is_own(names),
    };
    Removal::all_of(folder, is_own)?.carry_out()
}

/// Removes what load hosts left of a trial.
///
/// # Errors
/// The folder holds something else; then all of it stays.
pub fn remove_of_hosts(folder: &Path) -> Result<()> {
    Removal::all_of(folder, is_of_hosts)?.carry_out()
}

/// Whether the harness gives such a name to what a tool or a server prints: `0001-b1-SERVER-WORKLOAD-…` of a trial, or
/// that of a part of a run without trials.
fn is_tool_output(name: &str) -> bool {
    let of_trial = || {
        let (number, rest) = name.split_once("-b")?;
        let (block, _) = rest.split_once('-')?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        Some(number.len() >= 4 && is_number(number) && is_number(block))
    };
    let mut templates = LoadTool::ALL.iter().filter_map(|tool| tool.can().template);
    NAMED.contains(&name)
        || templates.any(|(template, _)| template == name)
        || OF_NO_TRIAL.iter().any(|prefix| name.starts_with(prefix))
        || of_trial().unwrap_or(false)
}

/// Whether a file is one of those through which load hosts and the harness speak.
fn is_of_hosts(path: &Path) -> bool {
    let [name] = names(path)[..] else { return false };
    let name = name.strip_prefix('.').unwrap_or(name);
    ["rank-", "launcher-", "plan.", "job"].iter().any(|prefix| name.starts_with(prefix))
}

/// A path's names; none of one that is not UTF-8, which no name of the harness is.
fn names(path: &Path) -> Vec<&str> {
    let names: Option<Vec<&str>> = path.iter().map(OsStr::to_str).collect();
    names.unwrap_or_default()
}

/// What is in a folder, in the order of its names.
pub(super) fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = fs::read_dir(folder).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut paths: Vec<PathBuf> = read.with_context(|| format!("can't read {}", folder.display()))?;
    paths.sort();
    Ok(paths)
}

/// What a path is; of a symbolic link, that it is one.
pub(super) fn kind_of(path: &Path) -> Result<fs::FileType> {
    let read = path.symlink_metadata().with_context(|| format!("can't read {}", path.display()));
    Ok(read?.file_type())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_files(folder: &Path, files: &[&str]) {
        for file in files {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
    }

    #[test]
    fn what_was_not_begun_goes_and_what_is_not_known_stays_with_all_of_it() {
        type Remove = fn(&Path) -> Result<()>;
        let cases: [(Remove, &[&str], &[&str]); 3] = [
            (
                remove_unbegun,
                &[
                    "campaign.toml",
                    "environment.json",
                    REMEDY,
                    "tool-output/remedy.stderr",
                    "ceilings/plan.json",
                    "ceilings/observations.ndjson",
                    "ceilings/tool-output/remedy.stderr",
                ],
                &[
                    "observations.ndjson",
                    "notes/mine",
                    "tool-output/mine",
                    "tool-output/0001-b1-a/mine",
                    "ceilings/mine",
                    "ceilings/tool-output/mine",
                    PLAN,
                ],
            ),
            (
                remove_begun,
                &[
                    PLAN,
                    LOCK,
                    "ceilings/plan.json",
                    "ceilings/observations.ndjson",
                    "ceilings/tool-output/k6.js",
                ],
                &["observations.ndjson", "ceilings/mine", "duets/plan.json"],
            ),
            (
                remove_of_hosts,
                &[
                    PLAN,
                    "plan.void.json",
                    "job",
                    "rank-0.json",
                    ".rank-1.reply.json.draft",
                    "launcher-0.stderr",
                ],
                &["mine", "rank-0/mine"],
            ),
        ];
        for (remove, own, foreign) in cases {
            let dir = tempfile::tempdir().unwrap();
            let folder = dir.path().join("folder");
            for file in foreign {
                with_files(&folder, own);
                with_files(&folder, &[file]);
                let said = remove(&folder).unwrap_err().to_string();
                assert!(said.contains("is none of this program's files; move it away"), "{said}");
                assert!(own.iter().chain([file]).all(|file| folder.join(file).is_file()), "{file}");
                fs::remove_dir_all(&folder).unwrap();
            }
            with_files(&folder, own);
            std::os::unix::fs::symlink(dir.path(), folder.join("environment.json.link")).unwrap();
            assert!(remove(&folder).is_err(), "a link");
            fs::remove_file(folder.join("environment.json.link")).unwrap();
            let link = dir.path().join("link");
            std::os::unix::fs::symlink(&folder, &link).unwrap();
            assert!(remove(&link).unwrap_err().to_string().contains("is a symbolic link"));
            assert!(own.iter().all(|file| folder.join(file).is_file()));
            remove(&folder).unwrap();
            assert!(!folder.exists());
        }
    }

    #[test]
    fn names_of_tools_output_are_known() {
        for name in [
            "0001-b1-actix-getBalance-c3.json",
            "12345-b12-a-b-r5-rpc-load.hosts",
            "bombardier.template",
            "k6.js",
        ] {
            assert!(is_tool_output(name), "{name}");
        }
        for name in ["mine", "1-b1-x", "0001-bx-x", "0001-b1", "-b1-x", "0001-b-x", "notes-b1-x"] {
            assert!(!is_tool_output(name), "{name}");
        }
    }
}
