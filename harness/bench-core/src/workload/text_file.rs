//! A text file that a workload names: where it is, and what it held when the run was planned.

use std::path::{Path, PathBuf};

use crate::repository::sha256_of_file;
use crate::text_files;
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

/// The most bytes of a file, whose lines are held in memory.
const MOST_BYTES: u64 = 64 << 20;

/// A text file. In a workload it is a path from the workload's folder; in a plan it is located.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct TextFile {
    /// Where it is.
    pub path: PathBuf,
    /// The SHA-256 of its bytes, in hexadecimal; empty as long as it is not located.
    pub sha256: String,
    /// Its lines that are not empty.
    pub lines: u64,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "give the path of a file, from the workload's folder")]
enum Written {
    Path(PathBuf),
    Located { path: PathBuf, sha256: String, lines: u64 },
}

impl From<Written> for TextFile {
    fn from(written: Written) -> Self {
        match written {
            Written::Path(path) => Self { path, sha256: String::new(), lines: 0 },
            Written::Located { path, sha256, lines } => Self { path, sha256, lines },
        }
    }
}

impl TextFile {
    /// Its name without its folder.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Finds it from a workload's folder, and takes note of what it holds.
    ///
    /// # Errors
    /// It can't be read, is too long, or has no line.
    pub(super) fn locate(&mut self, folder: &Path) -> Result<()> {
        self.path = folder.join(&self.path);
        self.sha256 = self.hash()?;
        self.lines = self.all_lines()?.len() as u64;
        ensure!(self.lines > 0, "{}: has no line", self.path.display());
        Ok(())
    }

    fn hash(&self) -> Result<String> {
        let path = &self.path;
        let bytes = path.metadata().with_context(|| format!("can't read {}", path.display()))?.len();
        ensure!(
            bytes <= MOST_BYTES,
            "{}: has {bytes} bytes, and a file is held in memory up to {MOST_BYTES}; give a shorter one",
            path.display()
        );
        sha256_of_file(path)
    }

    /// Its lines that are not empty, without white space around them, each with its number from 1.
    ///
    /// # Errors
    /// It can't be read, is too long, or is another file by now than when it was located.
    pub(super) fn all_lines(&self) -> Result<Vec<(usize, String)>> {
        let Self { path, sha256, .. } = self;
        ensure!(
            self.hash()? == *sha256,
            "{}: has changed since the run was planned (SHA-256 {sha256}); begin a new run",
            path.display()
        );
        let text = text_files::read(path)?;
        let lines = text.lines().map(str::trim).zip(1..).filter(|(line, _)| !line.is_empty());
        Ok(lines.map(|(line, number)| (number, line.to_owned())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "\u{feff}one\n\n two\r\n").unwrap();
        let mut file: TextFile = serde_json::from_str("\"a.txt\"").unwrap();
        file.locate(folder.path()).unwrap();
        let lines = vec![(1, "one".to_owned()), (3, "two".to_owned())];
        assert_eq!((file.lines, file.all_lines().unwrap()), (2, lines));
        let again: TextFile = serde_json::from_value(serde_json::to_value(&file).unwrap()).unwrap();
        assert_eq!(again, file);
        std::fs::write(&file.path, "one\ntwo\n").unwrap();
        assert!(file.all_lines().unwrap_err().to_string().contains("has changed since"));
    }

    #[test]
    fn what_is_no_list_of_lines_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let said = |text: &[u8]| {
            std::fs::write(folder.path().join("a.txt"), text).unwrap();
            let mut file: TextFile = serde_json::from_str("\"a.txt\"").unwrap();
            format!("{:#}", file.locate(folder.path()).unwrap_err())
        };
        assert!(said(b"good\n\xff\n").contains("a.txt:2: is no text in UTF-8"));
        assert!(said(b"\n").contains("has no line"));
        assert!(said(b"\xef\xbb\xbf\r\n").contains("has no line"));
    }
}
