//! What is free on the disk of a folder.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use rustix::fs::statvfs;

use bench_core::readable_numbers::bytes;

/// Whether the disk of a folder has room for that number of bytes, for this user: some of it may be root's alone.
///
/// # Errors
/// One line: the folder, what is free, and what is needed.
pub fn check(folder: &Path, needed: u64) -> Result<()> {
    let place = folder.display();
    let disk = statvfs(folder).with_context(|| format!("can't read what is free for {place}"))?;
    let is_root = rustix::process::geteuid().is_root();
    let free = if is_root { disk.f_bfree } else { disk.f_bavail }.saturating_mul(disk.f_frsize);
    let [left, wanted] = [free, needed].map(|number| bytes(number as f64));
    ensure!(
        free >= needed,
        "{place}: its disk has {left} left, and a trial may take {wanted}; make room there"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_without_room_is_named_with_what_is_needed() {
        let folder = tempfile::tempdir().unwrap();
        check(folder.path(), 1).unwrap();
        let few = check(folder.path(), u64::MAX).unwrap_err().to_string();
        assert!(few.starts_with(&format!("{}: its disk has ", folder.path().display())), "{few}");
        assert!(few.ends_with("; make room there") && !few.contains('\n'), "{few}");
        let said = check(&folder.path().join("none"), 1).unwrap_err().to_string();
        assert!(said.contains("can't read what is free"), "{said}");
    }
}
