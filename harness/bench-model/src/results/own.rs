//! What of a run's folder is removed: files by their own path, and folders that this program made with all that is in
//! them. No symbolic link is followed.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::load::LoadTool;

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
    /// Folders with all that is in them.
    trees: Vec<PathBuf>,
    /// Folders that go where they are empty then.
    folders: Vec<PathBuf>,
}

impl Removal {
    /// What tools printed, in that folder of a run: the files with names that the harness gives. Others stay, and the
    /// folder with them.
    ///
    /// # Errors
    /// The folder can't be read.
    pub fn tool_output(&mut self, folder: &Path) -> Result<()> {
        self.tool_output_of(folder, &|_| true)?;
        self.folders.push(folder.to_owned());
        Ok(())
    }

    /// The same of those names alone, without the folder.
    ///
    /// # Errors
    /// The folder can't be read.
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
                self.trees.push(path);
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
        self.trees.iter().try_for_each(|folder| remove_all(folder))?;
        for path in &self.folders {
            match there(fs::remove_dir(path)) {
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                done => done.with_context(|| format!("can't remove {}", path.display()))?,
            }
        }
        Ok(())
    }
}

/// Removes a folder that this program made, with all that is in it: of a run that could not be begun, of a part of one,
/// or what load hosts left of a trial.
///
/// # Errors
/// It is a symbolic link, or can't be removed.
pub fn remove_all(folder: &Path) -> Result<()> {
    ensure!(
        kind_of(folder)?.is_dir(),
        "{} is a symbolic link, and none is followed; remove it",
        folder.display()
    );
    fs::remove_dir_all(folder).with_context(|| format!("can't remove {}", folder.display()))
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

    #[test]
    fn a_folder_goes_with_all_of_it_and_a_link_stays() {
        let dir = tempfile::tempdir().unwrap();
        let [folder, link] = ["folder", "link"].map(|name| dir.path().join(name));
        fs::create_dir_all(folder.join("ceilings")).unwrap();
        fs::write(folder.join("ceilings/plan.json"), "").unwrap();
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert!(remove_all(&link).unwrap_err().to_string().contains("is a symbolic link"));
        assert!(folder.join("ceilings/plan.json").is_file());
        remove_all(&folder).unwrap();
        assert!(!folder.exists());
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
