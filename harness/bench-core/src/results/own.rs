//! What of a run's folder is removed: files by their own path, and folders that this program made with all that is in
//! them. No symbolic link is followed.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// The ending of the folder of a load that several hosts put on.
pub const OF_HOSTS: &str = ".hosts";

/// Removes a file. One that has gone already is fine.
///
/// # Errors
/// It can't be removed.
pub(super) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.with_context(|| format!("can't remove {}", path.display())),
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
}
