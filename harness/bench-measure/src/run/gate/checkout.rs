//! Another commit of this repository in a folder of its own below `target/`, removed again when it is no longer needed.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result, bail, ensure};

use bench_core::repository;

/// Where checkouts are made.
const FOLDER: &str = "target/gate";

/// A commit of this repository, checked out. Dropping it removes the folder.
#[derive(Debug)]
pub struct Checkout {
    /// The commit, all digits.
    pub commit: String,
    /// The folder, relative to the repository's root.
    pub folder: PathBuf,
    /// Locked for as long as it lives: two gates would build into each other's folders. The kernel unlocks it where a
    /// gate is killed.
    _lock: File,
}

/// What git prints here.
fn git(args: &[&str]) -> Result<String> {
    Ok(repository::git(Path::new("."), args)?.trim().to_owned())
}

/// The commit that a name stands for; `None` where git reads this clone, and it has no such commit.
///
/// # Errors
/// git can't read the clone, or this is not its root: in git's words where it has any.
pub fn commit(name: &str) -> Result<Option<String>> {
    check_root()?;
    let name = format!("{name}^{{commit}}");
    let found = git(&["rev-parse", "--quiet", "--verify", "--end-of-options", &name]);
    if let Ok(commit) = found {
        return Ok(Some(commit));
    }
    // That git reads what it has: a broken clone lacks any commit.
    git(&["cat-file", "-e", "HEAD^{tree}"])?;
    Ok(None)
}

fn check_root() -> Result<()> {
    let below = git(&["rev-parse", "--show-prefix"])?;
    ensure!(below.is_empty(), "{below} is a folder of a repository; start a gate in the repository's root");
    Ok(())
}

/// As many digits of a commit as a reader needs.
fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

impl Checkout {
    /// The commit, in as many digits as a reader needs.
    pub fn short(&self) -> &str {
        short(&self.commit)
    }

    /// Checks a commit out.
    ///
    /// # Errors
    /// git can't, this is not the repository's root, another gate runs in it, or the folder is there and is no checkout
    /// of an earlier call.
    pub fn new(commit: &str) -> Result<Self> {
        check_root()?;
        let lock = lock(Path::new(FOLDER))?;
        let folder = Path::new(FOLDER).join(short(commit));
        if folder.exists() {
            // Of a call that was killed. git removes nothing that it did not make.
            check_own(&folder, commit)
                .and_then(|()| remove(&folder))
                .with_context(|| format!("{} is left over; remove it", folder.display()))?;
        }
        let path = folder.to_str().context("the path is not UTF-8")?;
        // Forced, because git may still list this folder of a call that was killed. To prune that list would take away
        // what others have on disks that are not mounted now.
        git(&["worktree", "add", "--quiet", "--force", "--detach", path, commit])?;
        Ok(Self { commit: commit.to_owned(), folder, _lock: lock })
    }

    /// Whether no file that git tracks differs from it in this working tree.
    pub fn is_as_here(&self) -> bool {
        git(&["diff", "--quiet", &self.commit, "--"]).is_ok()
    }

    /// The folder in it that a folder of this working tree is; `None` for one outside of the repository.
    pub fn at_same_place(&self, folder: &Path) -> Option<PathBuf> {
        let root = Path::new(".").canonicalize().ok()?;
        let inside = folder.canonicalize().ok()?;
        Some(self.folder.join(inside.strip_prefix(root).ok()?))
    }

    /// Gives it what was built of this repository in `from`, a folder below both, except for `but`. So its dependencies
    /// need not be built again. All of its own files are made newer than that, or cargo would take the wrong sources'
    /// programs for its own.
    ///
    /// # Errors
    /// A file can't be copied.
    pub fn take_built(&self, from: &str, but: &str) -> Result<()> {
        let to = self.folder.join(from);
        fs::create_dir_all(&to).with_context(|| format!("can't create {}", to.display()))?;
        let context = || format!("can't read {from}");
        for entry in fs::read_dir(from).with_context(context)? {
            let entry = entry.with_context(context)?;
            if entry.file_name() == but {
                continue;
            }
            let mut copy = Command::new("cp");
            let copied = copy.args(["--archive", "--reflink=auto"]).arg(entry.path()).arg(&to).status();
            let is_copied = copied.context("can't start cp")?.success();
            ensure!(is_copied, "can't copy {} to {}", entry.path().display(), to.display());
        }
        let now = SystemTime::now();
        let folder = self.folder.to_str().context("the path is not UTF-8")?;
        for file in git(&["-C", folder, "ls-files", "-z"])?.split('\0').filter(|file| !file.is_empty()) {
            let path = self.folder.join(file);
            // A link's target is in the list itself.
            if path.is_file() && !path.is_symlink() {
                let set = File::options().append(true).open(&path).and_then(|file| file.set_modified(now));
                set.with_context(|| format!("can't touch {}", path.display()))?;
            }
        }
        Ok(())
    }
}

/// Keeps every other gate of this repository out.
fn lock(folder: &Path) -> Result<File> {
    fs::create_dir_all(folder).with_context(|| format!("can't create {}", folder.display()))?;
    let path = folder.join("lock");
    let (created, path) = (File::create(&path), path.display());
    let file = created.with_context(|| format!("can't create {path}"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            bail!("another gate runs in this repository, as the lock on {path} says; wait for its end")
        }
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("can't lock {path}")),
    }
}

/// Whether a folder is a checkout of a commit and nothing in it that git tracks has changed since.
fn check_own(folder: &Path, commit: &str) -> Result<()> {
    let path = folder.to_str().context("the path is not UTF-8")?;
    let list = git(&["worktree", "list", "--porcelain"])?;
    let whole = folder.canonicalize().with_context(|| format!("can't read {path}"))?;
    let own = format!("worktree {}\nHEAD {commit}\ndetached", whole.display());
    ensure!(list.contains(&own), "it is not a checkout of {} that was made here", short(commit));
    let changed = git(&["-C", path, "status", "--porcelain", "--untracked-files=no"])?;
    ensure!(changed.is_empty(), "files of it have changed");
    Ok(())
}

fn remove(folder: &Path) -> Result<()> {
    let path = folder.to_str().context("the path is not UTF-8")?;
    git(&["worktree", "remove", "--force", path]).map(drop)
}

impl Drop for Checkout {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.folder) {
            bench_core::note!("{} could not be removed: {error:#}", self.folder.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_gates_do_not_share_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("gate");
        let first = lock(&folder).unwrap();
        let message = lock(&folder).unwrap_err().to_string();
        assert!(
            message.starts_with("another gate runs in this repository") && !message.contains('\n'),
            "{message}"
        );
        drop(first);
        lock(&folder).unwrap();
    }
}
