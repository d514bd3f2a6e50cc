//! Text in files, read and written whole, with errors that name the file.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};

/// What editors of Windows write before a text in UTF-8. It is no part of the text.
pub const BYTE_ORDER_MARK: char = '\u{feff}';

/// What a file holds, without a byte order mark.
///
/// # Errors
/// It can't be read, or is no text: in which line.
pub fn read(path: impl AsRef<Path>) -> Result<String> {
    let path = path.as_ref();
    let bytes = fs::read(path).with_context(|| format!("can't read {}", path.display()))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        anyhow!("{}:{line}: is no text in UTF-8; write it as UTF-8", path.display())
    })?;
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
