//! A kept run as one file, to be sent: made from a packed run, and put into another folder of runs. What comes from
//! elsewhere is taken only where it is a run, and nothing is ever overwritten.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::archive::{self, write_files};
use super::own::{kind_of, sorted};
use super::pack::REMOVED;
use super::{REPORT, RunFolder};

/// What stands behind the run's name.
const ENDING: &str = ".tar.xz";

/// The most bytes of one run: kept ones have some megabytes.
const MOST_BYTES: u64 = 256 << 20;

impl RunFolder {
    /// Packs the run and writes all that a kept run has into one file in a folder; gives its path.
    ///
    /// # Errors
    /// The run can't stand for a commit, or is not finished; or the file is there already or can't be written.
    pub fn send(&self, to: &Path) -> Result<PathBuf> {
        let name = self.name();
        let why = self.conditions()?.uncommitted();
        ensure!(
            why.is_none(),
            "{} can't be sent: {}; commit, and measure again",
            self.0.display(),
            why.unwrap_or_default()
        );
        self.pack()?;
        let path = to.join(format!("{name}{ENDING}"));
        ensure!(!path.exists(), "{} is there already; remove it first", path.display());
        let written = write_files(&path, &self.0, &kept_files(&self.0)?, Path::new(&name), |_| Ok(()));
        written.with_context(|| format!("can't write {}", path.display()))?;
        Ok(path)
    }

    /// Puts a run that was sent into a folder of runs; gives its folder.
    ///
    /// # Errors
    /// The file holds anything but one packed run of a commit, or the run is there already.
    pub fn take(archive: &Path, results: &Path) -> Result<Self> {
        let context = || format!("can't take {}", archive.display());
        let draft = tempfile::Builder::new().prefix(".taken-").tempdir_in(results).with_context(context)?;
        let name = unpack(archive, draft.path()).with_context(context)?;
        let place = results.join(&name);
        ensure!(!place.exists(), "{} is there already", place.display());
        let taken = Self(draft.path().join(&name));
        ensure!(
            archive::is_packed(&taken.0) && taken.0.join(REPORT).is_file(),
            "{} holds no packed run",
            archive.display()
        );
        let conditions = taken.conditions().with_context(context)?;
        taken.plan().with_context(context)?;
        if let Some(why) = conditions.uncommitted() {
            bail!("{}: the run can't be kept: {why}", archive.display());
        }
        fs::rename(&taken.0, &place).with_context(context)?;
        Ok(Self(place))
    }
}

/// The files of a packed run that are kept, in the order of their names: those of the folder itself. Stages are in the
/// run's archive.
fn kept_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in sorted(folder)? {
        let name = path.file_name().unwrap_or_default();
        let is_kept = !name.to_string_lossy().starts_with('.') && !REMOVED.iter().any(|other| name == *other);
        if is_kept && kind_of(&path)?.is_file() {
            files.push(PathBuf::from(name));
        }
    }
    Ok(files)
}

/// Unpacks the files of one folder, which must be plain files right inside of it; gives the folder's name.
fn unpack(archive: &Path, to: &Path) -> Result<String> {
    let mut folder: Option<String> = None;
    let mut bytes = 0;
    archive::in_archive(archive, |path, file| {
        let wrong = |what: &str| io::Error::other(format!("{}: {what}", path.display()));
        let parts: Vec<Component<'_>> = path.components().collect();
        let [Component::Normal(run), Component::Normal(_)] = parts.as_slice() else {
            return Err(wrong("is no file right inside of one folder"));
        };
        let run = run.to_string_lossy().into_owned();
        if *folder.get_or_insert_with(|| run.clone()) != run || run.starts_with('.') {
            return Err(wrong("the file holds more than one run"));
        }
        if !file.header().entry_type().is_file() {
            return Err(wrong("is no plain file"));
        }
        bytes += file.size();
        if bytes > MOST_BYTES {
            return Err(wrong("the run is too large"));
        }
        file.unpack_in(to).map(drop)
    })?;
    folder.context("the file is empty")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::ConfigDir;
    use crate::plan::Plan;
    use crate::provenance::Program;
    use crate::results::archive::write_xz;
    use crate::results::{DUETS, SUMMARY, pretty};

    /// A finished run of a commit, with a stage and with what is not kept.
    fn finished(results: &Path, change: impl Fn(&mut serde_json::Value)) -> RunFolder {
        let run = RunFolder::create(results, "quick").unwrap();
        let inner = RunFolder::create_inside(&run, DUETS).unwrap();
        let built = Program { sources: Some("s".to_owned()), changed: Some(false), ..Program::default() };
        let mut conditions = serde_json::json!({
            "started_at": "2026-01-01T00:00:00Z",
            "host": { "cpu": "a", "cores": 2, "open_files": 1, "changed_files": ["docs/USING.md"] },
            "tool": { "name": "bombardier", "version": "1", "source": "pinned", "sha256": "00" },
            "servers": {},
            "programs": BTreeMap::from([("legacy", built)]),
            "command": "a test",
        });
        change(&mut conditions);
        let config = ConfigDir::of_repository();
        let plan = Plan { campaign: config.campaign("smoke").unwrap().0, ..Plan::default() };
        for folder in [&run, &inner] {
            folder.write_new("plan.json", &pretty(&plan).unwrap()).unwrap();
            folder.write_new("environment.json", &pretty(&conditions).unwrap()).unwrap();
            folder.write_new(SUMMARY, "{}").unwrap();
            folder.append_to("observations.ndjson", &1).unwrap();
        }
        run.write_new(REPORT, "# A run\n").unwrap();
        run
    }

    #[test]
    fn a_run_that_was_sent_is_taken_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let (here, there) = (dir.path().join("here"), dir.path().join("there"));
        fs::create_dir_all(&there).unwrap();
        let run = finished(&here, |_| ());
        let sent = run.send(dir.path()).unwrap();
        assert!(run.send(dir.path()).unwrap_err().to_string().contains("is there already"));
        let taken = RunFolder::take(&sent, &there).unwrap();
        assert_eq!(taken.name(), run.name());
        for name in ["run.tar.xz", REPORT] {
            assert_eq!(fs::read(taken.0.join(name)).unwrap(), fs::read(run.0.join(name)).unwrap(), "{name}");
        }
        assert!(!taken.0.join(SUMMARY).exists() && !taken.0.join(DUETS).exists());
        let opened = RunFolder::open(&taken.0).unwrap();
        assert_eq!(opened.inside(DUETS).unwrap().lines::<u32>("observations.ndjson").unwrap(), [1]);
        assert!(RunFolder::take(&sent, &there).unwrap_err().to_string().contains("is there already"));
        assert_eq!(fs::read_dir(&there).unwrap().count(), 1, "nothing is left behind");
    }

    #[test]
    fn a_run_of_no_commit_is_not_sent() {
        type Change = fn(&mut serde_json::Value);
        let cases: [(Change, &str); 4] = [
            (|of| drop(of.as_object_mut().unwrap().remove("programs")), "does not say what its servers"),
            (|of| of["programs"]["legacy"]["changed"] = true.into(), "the sources of server legacy"),
            (|of| of["host"]["changed_files"] = serde_json::json!(["Cargo.toml"]), "Cargo.toml had changed"),
            (|of| of["host"]["changed_files"] = serde_json::Value::Null, "outside of a git repository"),
        ];
        for (change, why) in cases {
            let dir = tempfile::tempdir().unwrap();
            let run = finished(&dir.path().join("results"), change);
            let refused = run.send(dir.path()).unwrap_err().to_string();
            assert!(refused.contains(why) && !refused.contains('\n'), "{refused}");
            assert!(run.0.join(SUMMARY).exists(), "nothing was packed");
        }
    }

    #[test]
    fn what_is_no_run_is_not_taken() {
        let dir = tempfile::tempdir().unwrap();
        let results = dir.path().join("results");
        fs::create_dir(&results).unwrap();
        let path = dir.path().join("x.tar.xz");
        let refused = |files: &[&str]| {
            let write = |writer: &mut _| {
                let mut archive = tar::Builder::new(writer);
                for name in files {
                    let mut header = tar::Header::new_gnu();
                    // The name as it is: the crate itself writes none that leads out of the folder.
                    header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
                    header.set_size(1);
                    header.set_cksum();
                    archive.append(&header, &b"x"[..])?;
                }
                archive.finish()
            };
            write_xz(&path, write, |_| Ok(())).unwrap();
            format!("{:#}", RunFolder::take(&path, &results).unwrap_err())
        };
        for (files, why) in [
            (&["../x"][..], "right inside of one folder"),
            (&["/etc/x"], "right inside of one folder"),
            (&["run/inner/x"], "right inside of one folder"),
            (&["a/x", "b/x"], "more than one run"),
            (&["a/report.md"], "holds no packed run"),
            (&[], "the file is empty"),
        ] {
            assert!(refused(files).contains(why), "{files:?}: {}", refused(files));
            assert_eq!(fs::read_dir(&results).unwrap().count(), 0, "{files:?}");
        }
        fs::write(&path, "no archive").unwrap();
        assert!(RunFolder::take(&path, &results).is_err());
    }
}
