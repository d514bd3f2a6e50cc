//! What is free on the disk of a folder.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use procfs::process::Process;
use rustix::fs::statvfs;

use crate::readable_numbers::bytes;

/// Files that a trial makes at most, with those that it removes again.
const FILES: u64 = 64;

/// What may still be written to a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeSpace {
    /// In bytes.
    pub bytes: u64,
    /// In new files; `None` of a file system that does not count them.
    pub files: Option<u64>,
}

impl FreeSpace {
    /// That of a folder's disk, for this user: some of it may be root's alone.
    ///
    /// # Errors
    /// There is no such folder.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let disk = statvfs(folder)?;
        let is_root = rustix::process::geteuid().is_root();
        let (blocks, files) =
            if is_root { (disk.f_bfree, disk.f_ffree) } else { (disk.f_bavail, disk.f_favail) };
        let files = (disk.f_files > 0).then_some(files);
        Ok(Self { bytes: blocks.saturating_mul(disk.f_frsize), files })
    }

    /// Whether that is enough for that number of bytes in a folder.
    ///
    /// # Errors
    /// One line: the folder, its disk, what is free, and what is needed.
    pub fn check(self, folder: &Path, needed: u64) -> Result<()> {
        let place = || format!("{}: its disk{}", folder.display(), disk_of(folder).unwrap_or_default());
        ensure!(
            self.bytes >= needed,
            "{} has {} left, and a trial may take {}; make room there",
            place(),
            bytes(self.bytes as f64),
            bytes(needed as f64)
        );
        ensure!(
            self.files.is_none_or(|files| files >= FILES),
            "{} has room for {} more files, and a trial may make {FILES}; remove some there",
            place(),
            self.files.unwrap_or_default()
        );
        Ok(())
    }
}

/// Checks what is free for a folder now.
///
/// # Errors
/// As [`FreeSpace::check`] says.
pub fn check(folder: &Path, needed: u64) -> Result<()> {
    let free =
        FreeSpace::of(folder).with_context(|| format!("can't read what is free for {}", folder.display()));
    free?.check(folder, needed)
}

/// What a folder's disk is, and where it is mounted; `None` where the system does not say it.
fn disk_of(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let mounts = Process::myself().ok()?.mountinfo().ok()?;
    let own = mounts.0.into_iter().filter(|mount| folder.starts_with(&mount.mount_point));
    // The last of those that are mounted at one place covers the others.
    let depth = |place: &PathBuf| place.components().count();
    let own = own.max_by_key(|mount| depth(&mount.mount_point))?;
    let source = own.mount_source.unwrap_or(own.fs_type);
    Some(format!(" ({source}, mounted at {})", own.mount_point.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_without_room_is_named_with_what_is_needed() {
        let folder = tempfile::tempdir().unwrap();
        let said = |bytes, files| {
            let free = FreeSpace { bytes, files };
            free.check(folder.path(), 32 << 20).map_err(|error| error.to_string()).err()
        };
        assert_eq!(said(32 << 20, None), None);
        assert_eq!(said(32 << 20, Some(FILES)), None);
        let few = said((32 << 20) - 1, None).unwrap();
        assert!(few.starts_with(&format!("{}: its disk (", folder.path().display())), "{few}");
        assert!(few.contains(", mounted at /") && !few.contains('\n'), "{few}");
        assert!(few.ends_with("has 32.0 MiB left, and a trial may take 32.0 MiB; make room there"), "{few}");
        assert!(said(1 << 40, Some(3)).unwrap().contains("room for 3 more files"));
    }

    #[test]
    fn what_is_free_is_read() {
        let folder = tempfile::tempdir().unwrap();
        assert!(FreeSpace::of(folder.path()).unwrap().bytes > 0);
        let said = check(&folder.path().join("none"), 1).unwrap_err().to_string();
        assert!(said.contains("can't read what is free"), "{said}");
        assert!(check(folder.path(), u64::MAX).is_err());
    }
}
