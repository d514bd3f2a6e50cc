//! A limited part of the machine for a process: processor time, processors and memory, by cgroupfs, in version 1 and
//! version 2.
//!
//! A cgroup is made for one process, which joins it before its first instruction, and removed with it. It needs no
//! daemon; it needs the right to write to cgroupfs, which root has. Groups that a harness left behind which was killed
//! are removed when the next one makes its own.

mod limit_files;
mod place;
mod stale;

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use limit_files::{Controller, Version};
use place::{System, request};

pub use bench_core::machine::{Cpus, MemoryMax, OutOfMemory, Size, Usage};

/// How long a group may take to be removed after its last process has ended.
const REMOVED_WITHIN: Duration = Duration::from_secs(2);

/// How long to wait between two attempts.
const PAUSE: Duration = Duration::from_millis(5);

/// The groups that this harness has made.
static MADE: AtomicU64 = AtomicU64::new(0);

/// A group with limits: one folder in each hierarchy that it needs. Dropping it removes them; its processes must have
/// ended.
#[derive(Debug)]
pub struct Cgroup {
    folders: Vec<Folder>,
}

/// A group's folder in one hierarchy, and what it limits.
#[derive(Debug)]
struct Folder {
    version: Version,
    path: PathBuf,
    controllers: Vec<Controller>,
    /// An empty group next to it, in version 2.
    keeper: Option<PathBuf>,
}

impl Cgroup {
    /// Makes a group of that size; `None` where nothing is limited.
    ///
    /// # Errors
    /// One line with the field: the machine has no such controller, this user may not write there, or the kernel
    /// refuses the value.
    pub fn create(size: &Size) -> Result<Option<Self>> {
        if size.is_empty() { Ok(None) } else { Self::create_in(&System::read()?, size).map(Some) }
    }

    fn create_in(system: &System, size: &Size) -> Result<Self> {
        let name = stale::own_name(MADE.fetch_add(1, Ordering::Relaxed))?;
        let mut made = Self { folders: Vec::new() };
        system.places_of_v2().for_each(|place| stale::remove(&place));
        for (version, parent, controllers) in system.parents(&Controller::of(size))? {
            stale::remove(&parent);
            let path = parent.join(&name);
            let fields: Vec<&str> = controllers.iter().map(|controller| controller.field()).collect();
            fs::create_dir(&path).with_context(|| {
                format!(
                    "field {}: can't make the cgroup {}; run as root, or delegate it to this user (docs/USING.md \
                     says how)",
                    fields.join(", "),
                    path.display()
                )
            })?;
            let keeper = (version == Version::V2).then(|| parent.join(format!("{name}-keeper")));
            let folder = Folder { version, path, controllers, keeper };
            folder.keeper.iter().try_for_each(|keeper| keep(keeper, &folder.controllers))?;
            let mut limits = folder.controllers.iter();
            limits.try_for_each(|controller| controller.limit(version, &folder.path))?;
            made.folders.push(folder);
        }
        Ok(made)
    }

    /// The files through which a process joins, by writing `0` to each.
    ///
    /// # Errors
    /// This user may not move processes there.
    pub fn entrances(&self) -> Result<Vec<File>> {
        let open = |folder: &Folder| {
            let path = folder.path.join("cgroup.procs");
            let file = OpenOptions::new().write(true).open(&path);
            file.with_context(|| format!("can't move a process to {}", path.display()))
        };
        self.folders.iter().map(open).collect()
    }

    /// What its processes have used since it was made.
    pub fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        for Folder { version, path, controllers, .. } in &self.folders {
            controllers.iter().for_each(|controller| controller.read(*version, path, &mut usage));
        }
        usage
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::iter::once(&self.path).chain(&self.keeper).for_each(|path| remove(path));
    }
}

/// Makes an empty group that requests controllers for groups below itself, as one next to it has them. Without it
/// systemd takes those that no unit needs away at its next reload, and the limits with them; the kernel lets nobody
/// take one away that is requested.
fn keep(keeper: &Path, controllers: &[Controller]) -> Result<()> {
    fs::create_dir(keeper)
        .and_then(|()| request(keeper, controllers))
        .with_context(|| format!("can't make the cgroup {} and request its controllers", keeper.display()))
}

/// Removes a group whose processes have ended or are about to. One that can't be removed is left to the next harness.
fn remove(path: &Path) {
    let end = Instant::now() + REMOVED_WITHIN;
    while let Err(error) = fs::remove_dir(path) {
        if error.kind() == std::io::ErrorKind::NotFound || Instant::now() >= end {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests;
