//! Text in files, read and written whole, with errors that name the file.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// What a file holds.
///
/// # Errors
/// It can't be read, or is no text.
pub fn read(path: impl AsRef<Path>) -> Result<String> {
    let path = path.as_ref();
    fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()))
}

/// Has a file hold that text, and nothing else.
///
/// # Errors
/// It can't be written.
pub fn write(path: impl AsRef<Path>, text: &str) -> Result<()> {
    let path = path.as_ref();
    fs::write(path, text).with_context(|| format!("can't write {}", path.display()))
}
