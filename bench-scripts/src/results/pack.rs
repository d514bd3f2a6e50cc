//! A finished run made small: its plan, its files of JSON lines and its stages (the folders inside its own) become one archive, and
//! what can be worked out again or what no report reads is removed. A packed run is read like any other: its own files are read out of
//! the archive, and its stages are unpacked when it is opened. It is never added to.
//!
//! The archive is compressed by xz: of a run's observations gzip leaves half as much again.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use lzma_rust2::{XzOptions, XzReader, XzWriter};

use super::{PLAN, REPORT, RunFolder, SUMMARY, TOOL_OUTPUT};

/// The archive of a packed run. First come its plan and its files of lines, then its stages: duets, thresholds, remedies and the like.
const ARCHIVE: &str = "run.tar.xz";

impl RunFolder {
    /// Opens the folder of a run to resume it.
    ///
    /// # Errors
    /// It is not a run's folder, or the run is packed.
    pub fn open_to_resume(path: &Path) -> Result<Self> {
        let folder = Self::open(path)?;
        ensure!(
            !is_packed(path),
            "{} is packed, so it can't be resumed or added to; begin a new run",
            path.display()
        );
        Ok(folder)
    }

    /// Puts the plan, the files of lines and the stages of a finished run into one archive, and removes the tools' raw output and what
    /// can be made again, in the stages too. The same run always gives the same bytes. What is packed already stays as it is.
    ///
    /// # Errors
    /// The run has no report, or the folder can't be changed.
    pub fn pack(&self) -> Result<()> {
        ensure!(
            self.0.join(REPORT).is_file(),
            "{} is not a finished run: it has no {REPORT}; write it with: just report {}",
            self.0.display(),
            self.0.display()
        );
        remove_unneeded(&self.0)
            .and_then(|()| archive(&self.0))
            .with_context(|| format!("can't pack {}", self.0.display()))
    }
}

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
    in_archive(
        archive,
        |path, file| {
            if is_of_stage(path) { file.unpack_in(draft.path()).map(drop) } else { Ok(()) }
        },
    )?;
    for stage in fs::read_dir(draft.path())? {
        let stage = stage?;
        let place = to.join(stage.file_name());
        if let Err(error) = fs::rename(stage.path(), &place)
            && !place.is_dir()
        {
            return Err(error);
        }
    }
    // A folder that was there already may be another version's: without its file of lines it would count as one without trials.
    match missing()? {
        None => Ok(()),
        Some(path) => Err(io::Error::other(format!(
            "there is no {}: remove its folder, so that it is unpacked again",
            path.display()
        ))),
    }
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

/// What the archive next to a path holds of it; `None` where there is no archive, or the file is not in it. The archive is read as far as
/// the run's own files go: whether it is whole shows when the run is opened.
fn archived(path: &Path) -> io::Result<Option<Vec<u8>>> {
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
        if is_of_stage(&found) {
            break;
        }
    }
    Ok(None)
}

/// Puts what is written to it compressed into a file, whole or not at all.
pub(super) fn write_xz(
    path: &Path,
    write: impl FnOnce(&mut XzWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let draft = with_ending(path, ".draft");
    let mut options = XzOptions::with_preset(6);
    // The longest match there is: the lines of a file are alike but for their figures.
    options.lzma_options.nice_len = 273;
    let mut writer = XzWriter::new(File::create(&draft)?, options)?;
    write(&mut writer)?;
    writer.finish()?.sync_all()?;
    fs::rename(&draft, path)
}

/// Opens a file of lines, packed or not; `None` where there is neither. Anything but a file, such as a device, holds no line and
/// may have no end.
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

/// Files that a kept run does not need.
pub(super) const REMOVED: [&str; 3] = ["campaign.toml", SUMMARY, "report.html"];

fn remove_unneeded(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        match entry.file_type()?.is_dir() {
            true if name == TOOL_OUTPUT => fs::remove_dir_all(&path)?,
            true => remove_unneeded(&path)?,
            // The plan holds the campaign as it was resolved, and the others are made again from the rest.
            false if REMOVED.iter().any(|removed| name == *removed) || entry.metadata()?.len() == 0 => {
                fs::remove_file(&path)?;
            }
            false => {}
        }
    }
    Ok(())
}

/// Puts a run's own plan and files of lines into its archive, and the folders inside its own. Only the folders stay: who has the run open goes
/// on reading them.
fn archive(folder: &Path) -> io::Result<()> {
    let path = folder.join(ARCHIVE);
    if path.exists() {
        return Ok(());
    }
    let (mut own, mut stages) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_own = path.ends_with(PLAN) || path.extension().is_some_and(|ending| ending == "ndjson");
        match path.is_dir() {
            true => stages.push(path),
            false if is_own => own.push(path),
            false => {}
        }
    }
    own.sort_by_key(|path| (!path.ends_with(PLAN), path.clone()));
    write_xz(&path, |writer| {
        let mut archive = tar::Builder::new(writer);
        archive.mode(tar::HeaderMode::Deterministic);
        for file in own.iter().cloned().chain(files_below(&stages)?) {
            let name = file.strip_prefix(folder).map_err(io::Error::other)?;
            archive.append_path_with_name(&file, name)?;
        }
        archive.finish()
    })?;
    own.iter().try_for_each(fs::remove_file)
}

/// All files in folders and the folders inside them, in the order of their names.
fn files_below(folders: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let (mut files, mut left) = (Vec::new(), folders.to_vec());
    while let Some(path) = left.pop() {
        if path.is_dir() {
            for entry in fs::read_dir(path)? {
                left.push(entry?.path());
            }
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run with a run inside it, each of two lines.
    fn finished(results: &Path) -> RunFolder {
        let run = RunFolder::create(results, "test").unwrap();
        let inner = RunFolder::create_inside(&run, "duets").unwrap();
        for folder in [&run, &inner] {
            folder.write_new("plan.json", "{}").unwrap();
            folder.write_new(SUMMARY, "{}").unwrap();
            (1..=2).for_each(|line| folder.append_to("observations.ndjson", &line).unwrap());
        }
        inner.write_new("campaign.toml", "").unwrap();
        run.write_new(REPORT, "# A run\n").unwrap();
        run
    }

    #[test]
    fn a_packed_run_is_read_as_before_and_always_the_same_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let bytes = [0, 1_000].map(|seconds| {
            let run = finished(dir.path());
            let file = File::options().append(true).open(run.0.join("duets/observations.ndjson")).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
            run.pack().unwrap();
            run.pack().unwrap();
            fs::remove_dir_all(run.0.join("duets")).unwrap();
            let archive = fs::read(run.0.join(ARCHIVE)).unwrap();
            let run = RunFolder::open(&run.0).unwrap();
            let inner = run.inside("duets").unwrap();
            for folder in [&run, &inner] {
                assert_eq!(folder.lines::<u32>("observations.ndjson").unwrap(), [1, 2]);
                assert_eq!(run.read_json::<serde_json::Value>(PLAN).unwrap(), serde_json::json!({}));
                assert!(!run.0.join(PLAN).exists() && run.has_plan() && inner.0.join(PLAN).is_file());
                assert_eq!(RunFolder::newest(dir.path()).unwrap().0, run.0);
                let gone = ["campaign.toml", SUMMARY, TOOL_OUTPUT].map(|name| folder.0.join(name));
                assert!(gone.iter().all(|path| !path.exists()), "{gone:?}");
            }
            assert!(!run.0.join("observations.ndjson").exists());
            run.pack().unwrap();
            assert_eq!(fs::read(run.0.join(ARCHIVE)).unwrap(), archive, "packed once more after it was read");
            archive
        });
        assert_eq!(bytes[0], bytes[1]);
    }

    #[test]
    fn a_stage_of_a_packed_run_is_opened_by_its_own_path() {
        let dir = tempfile::tempdir().unwrap();
        let run = finished(dir.path());
        run.pack().unwrap();
        fs::remove_dir_all(run.0.join("duets")).unwrap();
        let inner = RunFolder::open(&run.0.join("duets")).unwrap();
        assert_eq!(inner.lines::<u32>("observations.ndjson").unwrap(), [1, 2]);
    }

    #[test]
    fn a_stage_without_the_files_of_the_archive_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let run = finished(dir.path());
        run.pack().unwrap();
        fs::remove_file(run.0.join("duets/observations.ndjson")).unwrap();
        let error = format!("{:#}", RunFolder::open(&run.0).unwrap_err());
        assert!(
            error.contains("duets/observations.ndjson") && error.contains("remove its folder"),
            "{error}"
        );
    }

    #[test]
    fn readers_at_the_same_time_each_find_every_stage() {
        let dir = tempfile::tempdir().unwrap();
        let run = finished(dir.path());
        run.pack().unwrap();
        fs::remove_dir_all(run.0.join("duets")).unwrap();
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| assert!(RunFolder::open(&run.0).unwrap().inside("duets").is_some()));
            }
        });
        let left: Vec<_> = fs::read_dir(&run.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().starts_with('.')), "{left:?}");
    }

    #[test]
    fn a_packed_run_is_not_added_to() {
        let dir = tempfile::tempdir().unwrap();
        let run = finished(dir.path());
        assert!(RunFolder::open_to_resume(&run.0).is_ok());
        run.pack().unwrap();
        let refused = RunFolder::open_to_resume(&run.0).unwrap_err().to_string();
        assert!(refused.contains("is packed") && !refused.contains('\n'), "{refused}");
        assert!(run.append_to("observations.ndjson", &3).is_err());
        let inner = RunFolder::open_to_resume(&run.0.join("duets")).unwrap_err().to_string();
        assert!(inner.contains("is packed"), "{inner}");
    }

    #[test]
    fn an_unfinished_run_is_not_packed() {
        let dir = tempfile::tempdir().unwrap();
        let run = finished(dir.path());
        fs::remove_file(run.0.join(REPORT)).unwrap();
        assert!(run.pack().unwrap_err().to_string().contains("report.md"));
        assert!(run.0.join(SUMMARY).exists() && run.0.join("observations.ndjson").exists());
    }

    #[test]
    fn an_archive_that_was_cut_off_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let run = finished(dir.path());
        run.pack().unwrap();
        let path = run.0.join(ARCHIVE);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 6]).unwrap();
        let error = format!("{:#}", RunFolder::open(&run.0).unwrap_err());
        assert!(error.contains(ARCHIVE), "{error}");
    }
}
