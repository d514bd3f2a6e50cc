//! Text in files, read and written whole, with errors that name the file.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// What editors of Windows write before a text in UTF-8. It is no part of the text.
pub const BYTE_ORDER_MARK: char = '\u{feff}';

/// What a file holds, without a byte order mark.
///
/// # Errors
/// It can't be read, or is no text.
pub fn read(path: impl AsRef<Path>) -> Result<String> {
    let path = path.as_ref();
    let text = fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()))?;
    Ok(text.strip_prefix(BYTE_ORDER_MARK).map(str::to_owned).unwrap_or(text))
}

/// Has a file hold that text, and nothing else.
///
/// # Errors
/// It can't be written.
pub fn write(path: impl AsRef<Path>, text: &str) -> Result<()> {
    let path = path.as_ref();
    fs::write(path, text).with_context(|| format!("can't write {}", path.display()))
}
