//! Files in which the kernel says what it counts.

use std::fs;
use std::path::Path;

/// What a file says; `None` where it says nothing or can't be read.
pub(crate) fn text(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// A number of a file with a name and a number on each line.
pub(crate) fn value(text: &str, name: &str) -> Option<u64> {
    let line = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok();
    text.lines().find_map(line)
}
