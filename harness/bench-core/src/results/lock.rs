//! The right to write to a run: one process at a time has it. Two would mix their trials.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::{PLAN, REMEDIES, RunFolder, archive};

/// The file that is locked. Its lock ends with the process that has it, however that ends, so a file that is left over
/// locks nothing.
pub(super) const LOCK: &str = ".lock";

/// The right to write to a run, for as long as this lives.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    /// Unlocked where it is closed.
    _file: File,
}

impl RunFolder {
    /// Takes the right to write to the run, and to the run that it is a part of.
    ///
    /// # Errors
    /// One line: another process has it, or the folder can't be written to.
    pub fn lock(&self) -> Result<Lock> {
        let run = whole_run(&self.0)?;
        let path = run.join(LOCK);
        let context = || format!("can't lock {}", path.display());
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).custom_flags(libc::O_NOFOLLOW);
            let mut file = options.open(&path).with_context(context)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let mut pid = String::new();
                    // It may not have written it yet.
                    let _ = file.read_to_string(&mut pid);
                    let whose = if pid.is_empty() { String::new() } else { format!(" (process {pid})") };
                    bail!(
                        "{} is being written to by another rpc-bench{whose}; wait until it has ended",
                        self.0.display()
                    );
                }
                Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Unsupported => {
                    crate::note!(
                        "{}: this file system has no locks; let one rpc-bench write to it",
                        run.display()
                    );
                }
                Err(TryLockError::Error(error)) => return Err(error).with_context(context),
            }
            // Whoever had it may have removed the file in between, and a third one may have made another.
            if is_at(&file, &path) {
                let written = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
                written.with_context(context)?;
                return Ok(Lock { path, _file: file });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While it is still locked, so that it is this process's own. Where it can't be removed, it stays and locks
        // nothing.
        let _ = fs::remove_file(&self.path);
    }
}

/// The folder of the run that a folder is a part of, or is.
fn whole_run(folder: &Path) -> Result<PathBuf> {
    let folder = folder.canonicalize().with_context(|| format!("can't lock {}", folder.display()))?;
    let runs = std::iter::successors(Some(folder.as_path()), |run| run_around(run));
    Ok(runs.last().unwrap_or(&folder).to_owned())
}

/// The run that a folder is right inside of, or in the folder of remedies of. A plan further up is somebody else's.
fn run_around(stage: &Path) -> Option<&Path> {
    let with_plan = |folder: &&Path| archive::is_there(&folder.join(PLAN));
    let above = stage.parent()?;
    let of_remedies = || Some(above).filter(|above| above.ends_with(REMEDIES))?.parent().filter(with_plan);
    Some(above).filter(with_plan).or_else(of_remedies)
}

fn is_at(file: &File, path: &Path) -> bool {
    let (here, there) = (file.metadata(), path.symlink_metadata());
    here.ok().zip(there.ok()).is_some_and(|(a, b)| (a.dev(), a.ino()) == (b.dev(), b.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(folder: &RunFolder) -> String {
        folder.lock().unwrap_err().to_string()
    }

    #[test]
    fn a_run_is_written_to_by_one_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunFolder::create(dir.path(), "test").unwrap();
        let inner = RunFolder::create_inside(&run, "duets").unwrap();
        for folder in [&run, &inner] {
            folder.write_new(PLAN, "{}").unwrap();
        }
        let lock = run.lock().unwrap();
        let words = format!("written to by another rpc-bench (process {})", std::process::id());
        for folder in [&run, &inner] {
            let said = refused(folder);
            assert!(said.contains(&words) && !said.contains('\n'), "{said}");
        }
        drop(lock);
        assert!(!run.0.join(LOCK).exists());
        let lock = inner.lock().unwrap();
        assert!(refused(&run).contains(&words), "the part's is that of the whole");
        drop(lock);
    }

    #[test]
    fn a_plan_of_somebody_else_further_up_is_no_run() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(PLAN), "another program's").unwrap();
        fs::write(dir.path().join(LOCK), "another program's").unwrap();
        let results = dir.path().join("results");
        fs::create_dir(&results).unwrap();
        let run = RunFolder::create(&results, "test").unwrap();
        run.write_new(PLAN, "{}").unwrap();
        let lock = run.lock().unwrap();
        assert!(run.0.join(LOCK).is_file());
        drop(lock);
        assert_eq!(fs::read_to_string(dir.path().join(LOCK)).unwrap(), "another program's");
    }

    #[test]
    fn a_lock_that_is_left_over_is_none_and_a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunFolder::create(dir.path(), "test").unwrap();
        run.write_new(LOCK, "4194305").unwrap();
        drop(run.lock().unwrap());
        let other = dir.path().join("other");
        fs::write(&other, "kept").unwrap();
        std::os::unix::fs::symlink(&other, run.0.join(LOCK)).unwrap();
        assert!(refused(&run).contains("can't lock"));
        assert_eq!(fs::read_to_string(other).unwrap(), "kept");
    }

    #[test]
    fn of_many_one_has_it() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunFolder::create(dir.path(), "test").unwrap();
        let has_it = std::sync::atomic::AtomicBool::new(false);
        let had_it = std::sync::atomic::AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let Ok(lock) = run.lock() else { continue };
                        assert!(!has_it.swap(true, std::sync::atomic::Ordering::SeqCst));
                        std::thread::sleep(std::time::Duration::from_micros(50));
                        had_it.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                        has_it.store(false, std::sync::atomic::Ordering::SeqCst);
                        drop(lock);
                    }
                });
            }
        });
        assert!(had_it.into_inner() > 0);
    }
}
