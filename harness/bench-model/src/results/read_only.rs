//! A run that is only read, whose folder may be one that nothing can be written to.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Error, Result};
use tempfile::TempDir;

use super::RunFolder;
use super::archive::ARCHIVE;

/// A run that is only read.
#[derive(Debug)]
pub struct ToRead {
    /// Its folder, with its stages.
    pub folder: RunFolder,
    /// Where its stages are unpacked instead of next to its archive; removed with this.
    _unpacked: Option<TempDir>,
}

impl RunFolder {
    /// Opens the folder of a run that is only read. Where a packed one's place can't be written to, its stages are
    /// unpacked into a temporary folder, with links to its files.
    ///
    /// # Errors
    /// It is no run, its archive can't be read, or there is no room for the stages anywhere.
    pub fn open_to_read(path: &Path) -> Result<ToRead> {
        let refused = match Self::open(path) {
            Err(error) if is_forbidden(&error) && path.join(ARCHIVE).is_file() => error,
            opened => return Ok(ToRead { folder: opened?, _unpacked: None }),
        };
        let (place, unpacked) = linked(path).with_context(|| format!("{refused:#}"))?;
        Ok(ToRead { folder: Self::open(&place.0)?, _unpacked: Some(unpacked) })
    }
}

/// A temporary folder, and in it one of the run's name with links to the run's files.
fn linked(path: &Path) -> io::Result<(RunFolder, TempDir)> {
    let path = path.canonicalize()?;
    let outside = tempfile::Builder::new().prefix("rpc-bench-run-").tempdir()?;
    let place = outside.path().join(path.file_name().unwrap_or_default());
    fs::create_dir(&place)?;
    for entry in fs::read_dir(&path)? {
        let entry = entry?;
        symlink(entry.path(), place.join(entry.file_name()))?;
    }
    Ok((RunFolder(place), outside))
}

/// Whether a place could not be written to.
fn is_forbidden(error: &Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|error| matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem))
}
