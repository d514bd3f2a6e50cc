//! Checks of a configuration field: each fails with the field, what is wrong with it, and what to give.

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;

use anyhow::{Result, bail, ensure};

/// At least one value, and none twice.
pub fn distinct<T: Hash + Eq + Debug>(field: &str, values: &[T]) -> Result<()> {
    ensure!(!values.is_empty(), "field {field}: is empty; name at least one");
    let mut seen = HashSet::new();
    if let Some(twice) = values.iter().find(|value| !seen.insert(*value)) {
        bail!("field {field}: {twice:?} stands twice");
    }
    Ok(())
}

/// Whether a text can be a name: letters, digits, - and _.
pub fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !text.is_empty() && text.chars().all(is_part)
}

/// A number within a range, ends included.
pub fn within(field: &str, value: u64, least: u64, most: u64) -> Result<()> {
    let is_within = (least..=most).contains(&value);
    ensure!(is_within, "field {field}: {value} is out of range; give {least} to {most}");
    Ok(())
}

/// A subset of the campaign's names, each once; none stands for all.
pub fn known<T: Hash + Eq + Debug>(field: &str, subset: &[T], of: &str, all: &[T]) -> Result<()> {
    if subset.is_empty() {
        return Ok(());
    }
    distinct(field, subset)?;
    for name in subset {
        ensure!(all.contains(name), "field {field}: {name:?} is not among {of}");
    }
    Ok(())
}
