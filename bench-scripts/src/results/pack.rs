//! A finished run made small: its files of JSON lines are compressed next to their names, and what can be worked out again or
//! what no report reads is removed. A packed run is read like any other, and is never added to.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use super::{REPORT, RunFolder, SUMMARY, TOOL_OUTPUT};

impl RunFolder {
    /// Opens the folder of a run to resume it.
    ///
    /// # Errors
    /// It is not a run's folder, or the run is packed.
    pub fn open_to_resume(path: &Path) -> Result<Self> {
        let folder = Self::open(path)?;
        ensure!(
            !holds_packed(path)?,
            "{} is packed, so it can't be resumed or added to; begin a new run",
            path.display()
        );
        Ok(folder)
    }

    /// Compresses the files of lines of a finished run, in folders inside too, and removes the tools' raw output and what
    /// can be made again. The same run always gives the same bytes. What is packed already stays as it is.
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
        pack_folder(&self.0).with_context(|| format!("can't pack {}", self.0.display()))
    }
}

/// Opens a file of lines, packed or not; `None` where there is neither. Anything but a file, such as a device, holds no line and
/// may have no end.
pub(super) fn open_lines(path: &Path) -> io::Result<Option<Box<dyn BufRead>>> {
    let packed = packed(path);
    if path.is_file() {
        Ok(Some(Box::new(BufReader::new(File::open(path)?))))
    } else if packed.is_file() {
        Ok(Some(Box::new(BufReader::new(GzDecoder::new(File::open(packed)?)))))
    } else {
        Ok(None)
    }
}

/// Where the lines of a file are once it is packed.
pub(super) fn packed(path: &Path) -> PathBuf {
    with_ending(path, ".gz")
}

/// A path with something after its name.
pub fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn holds_packed(folder: &Path) -> Result<bool> {
    for entry in fs::read_dir(folder).with_context(|| format!("can't read {}", folder.display()))? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(".ndjson.gz") || (path.is_dir() && holds_packed(&path)?) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Files that a kept run does not need.
const REMOVED: [&str; 3] = ["campaign.toml", SUMMARY, "report.html"];

fn pack_folder(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        match entry.file_type()?.is_dir() {
            true if name == TOOL_OUTPUT => fs::remove_dir_all(&path)?,
            true => pack_folder(&path)?,
            // The plan holds the campaign as it was resolved, and the others are made again from the rest.
            false if REMOVED.iter().any(|removed| name == *removed) || entry.metadata()?.len() == 0 => {
                fs::remove_file(&path)?;
            }
            false if path.extension().is_some_and(|ending| ending == "ndjson") => compress(&path)?,
            false => {}
        }
    }
    Ok(())
}

/// Replaces a file by its compressed form, whole or not at all. Its header holds neither a time nor a name.
fn compress(path: &Path) -> io::Result<()> {
    let packed = packed(path);
    let draft = with_ending(&packed, ".draft");
    let mut encoder = GzEncoder::new(File::create(&draft)?, Compression::best());
    io::copy(&mut File::open(path)?, &mut encoder)?;
    encoder.finish()?.sync_all()?;
    fs::rename(&draft, &packed)?;
    fs::remove_file(path)
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
        let bytes = [(); 2].map(|()| {
            let run = finished(dir.path());
            run.pack().unwrap();
            run.pack().unwrap();
            let inner = run.inside("duets").unwrap();
            for folder in [&run, &inner] {
                assert_eq!(folder.lines::<u32>("observations.ndjson").unwrap(), [1, 2]);
                let gone = ["observations.ndjson", "campaign.toml", SUMMARY, TOOL_OUTPUT]
                    .map(|name| folder.0.join(name));
                assert!(gone.iter().all(|path| !path.exists()), "{gone:?}");
            }
            fs::read(inner.0.join("observations.ndjson.gz")).unwrap()
        });
        assert_eq!(bytes[0], bytes[1]);
        assert_eq!(bytes[0][4..8], [0; 4], "no time");
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
    fn a_packed_file_that_was_cut_off_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let run = finished(dir.path());
        run.pack().unwrap();
        let path = run.0.join("observations.ndjson.gz");
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 6]).unwrap();
        let error = format!("{:#}", run.lines::<u32>("observations.ndjson").unwrap_err());
        assert!(error.contains("observations.ndjson"), "{error}");
    }
}
