//! The archive of a packed run: read as if its files stood next to it, and written whole or not at all.
//!
//! It is compressed by xz: of a run's observations gzip leaves half as much again.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lzma_rust2::{XzOptions, XzReader, XzWriter};

/// The archive of a packed run. First come its plan, what it was measured on
/// and its files of lines, then its stages: duets, thresholds, remedies and the like.
pub(super) const ARCHIVE: &str = "run.tar.xz";

/// Unpacks the stages of the run that a path is in, where they are packed and not there yet.
///
/// # Errors
/// The archive can't be read, or there is no room for its files.
pub fn unpack_stages(path: &Path) -> Result<()> {
    for folder in path.ancestors() {
        let archive = folder.join(ARCHIVE);
        if archive.is_file() {
            unpack(&archive, folder).with_context(|| format!("can't unpack {}", archive.display()))?;
        }
    }
    Ok(())
}

/// Each stage's folder appears whole or not at all, whoever else unpacks the same archive at that moment.
fn unpack(archive: &Path, to: &Path) -> io::Result<()> {
    let missing = || {
        let mut missing = None;
        in_archive(archive, |path, _| {
            if missing.is_none() && is_of_stage(path) && !to.join(path).exists() {
                missing = Some(to.join(path));
            }
            Ok(())
        })?;
        Ok::<_, io::Error>(missing)
    };
    if missing()?.is_none() {
        return Ok(());
    }
    // Next to the run and not in it, where another reader would take it for a stage.
    let outside = to.canonicalize()?;
    let draft =
        tempfile::Builder::new().prefix(".stages-").tempdir_in(outside.parent().unwrap_or(&outside))?;
    in_archive(archive, |path, file| match is_of_stage(path) {
        true => file.unpack_in(draft.path()).map(drop),
        false => Ok(()),
    })?;
    for stage in fs::read_dir(draft.path())? {
        let stage = stage?;
        let place = to.join(stage.file_name());
        if let Err(error) = fs::rename(stage.path(), &place)
            && !place.is_dir()
        {
            return Err(error);
        }
    }
    // A folder that was there already may be another version's: without its file of lines it would count as one without
    // trials.
    let Some(path) = missing()? else { return Ok(()) };
    let path = path.display();
    Err(io::Error::other(format!("there is no {path}: remove its folder, so that it is unpacked again")))
}

/// Whether a file of an archive is in a folder, as those of stages are.
fn is_of_stage(path: &Path) -> bool {
    path.components().nth(1).is_some()
}

fn opened(archive: &Path) -> io::Result<tar::Archive<XzReader<BufReader<File>>>> {
    Ok(tar::Archive::new(XzReader::new(BufReader::new(File::open(archive)?), false)))
}

type Entry<'a> = tar::Entry<'a, XzReader<BufReader<File>>>;

/// Shows every file of an archive. It is read to its end, where xz checks that nothing was cut off or changed.
pub(super) fn in_archive(
    archive: &Path,
    mut each: impl FnMut(&Path, &mut Entry<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut files = opened(archive)?;
    for file in files.entries()? {
        let mut file = file?;
        let path = file.path()?.into_owned();
        each(&path, &mut file)?;
    }
    io::copy(&mut files.into_inner(), &mut io::sink()).map(drop)
}

/// What the archive next to a path holds of it; `None` where there is no archive, or the file is not in it. The archive
/// is read as far as the run's own files go: whether it is whole shows when the run is opened.
pub(super) fn archived(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let (archive, name) = (path.with_file_name(ARCHIVE), path.file_name().map(Path::new));
    if !archive.is_file() {
        return Ok(None);
    }
    for file in opened(&archive)?.entries()? {
        let mut file = file?;
        let found = file.path()?.into_owned();
        if Some(found.as_path()) == name {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            return Ok(Some(bytes));
        }
        // Sought in every run. Most have none, and to read each archive to its end would take seconds.
        if is_of_stage(&found) {
            break;
        }
    }
    Ok(None)
}

/// Puts what is written to it compressed into a file, whole or not at all: it gets its name once `check` has read it
/// back.
pub(super) fn write_xz(
    path: &Path,
    write: impl FnOnce(&mut XzWriter<File>) -> io::Result<()>,
    check: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut draft = tempfile::Builder::new();
    // As any file of this user is readable, and not this user's alone.
    let draft = draft.prefix(".archive-").permissions(Permissions::from_mode(0o666)).tempfile_in(folder)?;
    let mut options = XzOptions::with_preset(6);
    // The longest match there is: the lines of a file are alike but for their figures.
    options.lzma_options.nice_len = 273;
    let mut writer = XzWriter::new(draft.reopen()?, options)?;
    write(&mut writer)?;
    writer.finish()?.sync_all()?;
    check(draft.path())?;
    draft.persist(path).map(drop).map_err(|error| error.error)
}

/// Puts files of a folder into an archive: the same files always give the same bytes. `check`
/// as of [`write_xz`].
pub(super) fn write_files(
    path: &Path,
    folder: &Path,
    files: &[PathBuf],
    check: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let write = |writer: &mut _| {
        let mut archive = tar::Builder::new(writer);
        archive.mode(tar::HeaderMode::Deterministic);
        for file in files {
            archive.append_path_with_name(folder.join(file), file)?;
        }
        archive.finish()
    };
    write_xz(path, write, check)
}

/// Reads an archive and compares these files of a folder with it.
///
/// # Errors
/// It does not hold one of them, or not as it is.
pub(super) fn holds(archive: &Path, folder: &Path, files: &[PathBuf]) -> io::Result<()> {
    let mut left: BTreeSet<&Path> = files.iter().map(PathBuf::as_path).collect();
    in_archive(archive, |path, file| {
        if left.contains(path) {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            if bytes == fs::read(folder.join(path))? {
                left.remove(path);
            }
        }
        Ok(())
    })?;
    let Some(path) = left.first() else { return Ok(()) };
    Err(io::Error::other(format!("the archive does not hold {} as it is", folder.join(path).display())))
}

/// Opens a file of lines, packed or not; `None` where there is neither. Anything but a file, such as a device, holds no
/// line and may have no end.
pub(super) fn open_lines(path: &Path) -> io::Result<Option<Box<dyn BufRead>>> {
    if path.is_file() {
        return Ok(Some(Box::new(BufReader::new(File::open(path)?))));
    }
    Ok(archived(path)?.map(|bytes| Box::new(Cursor::new(bytes)) as Box<dyn BufRead>))
}

/// Whether a file is there, packed or not.
pub(super) fn is_there(path: &Path) -> bool {
    path.is_file() || archived(path).is_ok_and(|bytes| bytes.is_some())
}

/// The text of a file, packed or not.
pub(super) fn read_text(path: &Path) -> io::Result<String> {
    let archived = if path.exists() { None } else { archived(path)? };
    archived
        .map_or_else(|| fs::read_to_string(path), |bytes| String::from_utf8(bytes).map_err(io::Error::other))
}

/// A path with something after its name.
pub fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Whether a folder is that of a packed run or is in one.
pub(super) fn is_packed(folder: &Path) -> bool {
    folder.ancestors().any(|folder| folder.join(ARCHIVE).is_file())
}
