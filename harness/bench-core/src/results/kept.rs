//! Which runs are kept: those that belong to the repository, and not those that somebody made in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::archive;
use super::own::sorted;

/// The folders of the kept runs of a folder of runs, in the order of their names: those with a file that git tracks.
/// Where git tracks nothing there, those that are packed, or all where none is.
///
/// # Errors
/// The folder can't be read.
pub fn kept(results: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = sorted(results)?;
    folders.retain(|path| path.is_dir());
    let tracked = tracked(results);
    if !tracked.is_empty() {
        let is_tracked =
            |path: &PathBuf| path.file_name().is_some_and(|name| tracked.contains(&*name.to_string_lossy()));
        folders.retain(is_tracked);
    } else if folders.iter().any(|folder| archive::is_packed(folder)) {
        folders.retain(|folder| archive::is_packed(folder));
    }
    Ok(folders)
}

/// The names of what git tracks in a folder; none where there is no git.
fn tracked(results: &Path) -> BTreeSet<String> {
    let output = Command::new("git").arg("-C").arg(results).args(["ls-files", "-z", "--", "."]).output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else { return BTreeSet::new() };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let folders = text.split('\0').filter_map(|path| path.split_once('/'));
    folders.map(|(folder, _)| folder.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn run(results: &Path, name: &str, is_packed: bool) {
        fs::create_dir_all(results.join(name)).unwrap();
        fs::write(results.join(name).join(if is_packed { "run.tar.xz" } else { "plan.json" }), "").unwrap();
    }

    fn names(results: &Path) -> Vec<String> {
        kept(results).unwrap().iter().map(|path| path.file_name().unwrap().display().to_string()).collect()
    }

    #[test]
    fn a_users_own_run_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let results = dir.path().join("results");
        run(&results, "own", false);
        assert_eq!(names(&results), ["own"], "where nothing is packed");
        run(&results, "kept", true);
        assert_eq!(names(&results), ["kept"], "as unpacked from a release");
        let git = |args: &[&str]| {
            assert!(
                Command::new("git").arg("-C").arg(&results).args(args).output().unwrap().status.success()
            );
        };
        git(&["init", "--quiet"]);
        git(&["add", "kept"]);
        run(&results, "own-and-packed", true);
        assert_eq!(names(&results), ["kept"], "what git tracks");
        git(&["add", "own"]);
        assert_eq!(names(&results), ["kept", "own"]);
    }
}
