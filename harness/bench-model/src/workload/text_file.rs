//! A text file that a workload names: where it is, and what it held when the run was planned.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use bench_system::text_files::BYTE_ORDER_MARK;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The most bytes of a file whose lines are drawn, which are all held in memory.
const MOST_DRAWN_BYTES: u64 = 32 << 20;

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

    /// Finds it from a workload's folder, and takes note of what it holds. Every line goes through `check`.
    ///
    /// # Errors
    /// It can't be read, has no line, or `check` refuses one: with the number of that line.
    pub(super) fn locate(&mut self, folder: &Path, mut check: impl FnMut(&str) -> Result<()>) -> Result<()> {
        self.path = folder.join(&self.path);
        let mut hash = Sha256::new();
        let mut lines = Lines::open(&self.path)?;
        self.lines = 0;
        while let Some(line) = lines.next_line()? {
            hash.update(lines.bytes.as_slice());
            if line.is_empty() {
                continue;
            }
            self.lines += 1;
            check(&line).with_context(|| format!("{}:{}", self.path.display(), lines.number))?;
        }
        ensure!(self.lines > 0, "{}: has no line", self.path.display());
        self.sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(())
    }

    /// Refuses a file that is another one by now than when it was located.
    ///
    /// # Errors
    /// It can't be read, or its bytes have changed.
    pub(super) fn check_unchanged(&self) -> Result<()> {
        let mut now = Self { path: self.path.clone(), sha256: String::new(), lines: 0 };
        now.locate(Path::new(""), |_| Ok(()))?;
        ensure!(
            now == *self,
            "{}: has changed since the run was planned (SHA-256 {}); begin a new run",
            self.path.display(),
            self.sha256
        );
        Ok(())
    }

    /// Refuses a file that is too long for its lines to be drawn.
    pub(super) fn check_short(&self) -> Result<()> {
        let bytes = std::fs::metadata(&self.path).map_or(0, |file| file.len());
        ensure!(
            bytes <= MOST_DRAWN_BYTES,
            "{}: has {bytes} bytes, and lines are drawn from at most {MOST_DRAWN_BYTES}; give order = \"file\", or a \
             shorter file",
            self.path.display()
        );
        Ok(())
    }

    /// Its lines that are not empty, all at once.
    ///
    /// # Errors
    /// It can't be read, is too long for that, or has changed.
    pub(super) fn all_lines(&self) -> Result<Vec<String>> {
        self.check_short()?;
        self.check_unchanged()?;
        let mut lines = Lines::open(&self.path)?;
        let mut all = Vec::new();
        while let Some(line) = lines.next_line()? {
            all.extend((!line.is_empty()).then_some(line));
        }
        Ok(all)
    }
}

/// The lines of a file, one after the other.
#[derive(Debug)]
pub(super) struct Lines {
    path: PathBuf,
    reader: BufReader<File>,
    /// The line as it stands in the file, with its end.
    bytes: Vec<u8>,
    /// Its number, from 1.
    pub number: u64,
}

impl Lines {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).with_context(|| format!("can't read {}", path.display()))?;
        Ok(Self { path: path.to_owned(), reader: BufReader::new(file), bytes: Vec::new(), number: 0 })
    }

    /// The next line without white space around it; `None` at the end.
    pub(super) fn next_line(&mut self) -> Result<Option<String>> {
        self.bytes.clear();
        let place = || format!("{}:{}", self.path.display(), self.number + 1);
        let length = self.reader.read_until(b'\n', &mut self.bytes).with_context(place)?;
        if length == 0 {
            return Ok(None);
        }
        let is_wide = self.bytes.starts_with(b"\xff\xfe") || self.bytes.starts_with(b"\xfe\xff");
        ensure!(!is_wide && !self.bytes.contains(&0), "{}: UTF-16 or no text; write it as UTF-8", place());
        let line = std::str::from_utf8(&self.bytes).with_context(place)?;
        // Editors of Windows begin a file with a byte order mark.
        let line = line.trim_start_matches(BYTE_ORDER_MARK).trim().to_owned();
        self.number += 1;
        Ok(Some(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "one\n\ntwo\n").unwrap();
        let mut file: TextFile = serde_json::from_str("\"a.txt\"").unwrap();
        file.locate(folder.path(), |_| Ok(())).unwrap();
        assert_eq!((file.lines, file.all_lines().unwrap()), (2, vec!["one".to_owned(), "two".to_owned()]));
        let again: TextFile = serde_json::from_value(serde_json::to_value(&file).unwrap()).unwrap();
        assert_eq!(again, file);
        std::fs::write(&file.path, "one\ntwo\n").unwrap();
        assert!(file.all_lines().unwrap_err().to_string().contains("has changed since"));
    }

    #[test]
    fn a_line_that_is_refused_is_named_by_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let said = |text: &[u8]| {
            std::fs::write(folder.path().join("a.txt"), text).unwrap();
            let mut file: TextFile = serde_json::from_str("\"a.txt\"").unwrap();
            let located = file.locate(folder.path(), |line| {
                ensure!(line != "bad", "a bad one");
                Ok(())
            });
            format!("{:#}", located.unwrap_err())
        };
        assert!(said(b"good\n\nbad\n").contains("a.txt:3: a bad one"));
        assert!(said(b"good\n\xff\n").contains("a.txt:2: invalid utf-8"));
        assert!(said(b"\n").contains("has no line"));
        assert!(said(b"\xef\xbb\xbf\r\n").contains("has no line"));
        for wide in [&b"\xff\xfeg\0o\0\n\0"[..], b"\xfe\xff\0g\0o\0\n", b"g\0o\0\n\0"] {
            assert!(said(wide).contains("a.txt:1: UTF-16 or no text; write it as UTF-8"));
        }
        assert!(said(b"\xef\xbb\xbfgood\n\xef\xbb\xbfbad\n").contains("a.txt:2: a bad one"));
    }
}
