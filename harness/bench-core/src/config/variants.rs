//! Servers in another build or with other arguments, as values of an axis: each `[[variant]]` in `servers.toml` gives
//! some servers an entry more, and campaigns choose among them in `[axes]`.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::along::Along;
use super::{cargo, read_value};

/// Which variant of which server an entry is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The server, by its name in `servers.toml`.
    pub of: String,
    /// Its value on each axis of variants.
    pub values: BTreeMap<String, String>,
}

/// A `[[variant]]`.
#[derive(Debug, Deserialize)]
pub(super) struct Variant {
    /// The axis, as campaigns name it.
    axis: String,
    /// The value that the servers have without it.
    usual: String,
    /// The value that it gives them.
    value: String,
    /// The servers, by their names.
    of: Vec<String>,
    /// What stands behind their titles and labels.
    words: String,
    /// Its entry's other fields.
    #[serde(flatten)]
    fields: Table,
}

/// All variants, and the entry of each choice.
#[derive(Debug, Clone, Default)]
pub(super) struct Variants {
    axes: BTreeMap<String, Axis>,
    entries: Vec<(String, Choice)>,
}

#[derive(Debug, Clone)]
struct Axis {
    usual: String,
    values: Vec<String>,
}

impl Variant {
    /// # Errors
    /// One line with the field.
    pub(super) fn read(table: Value) -> Result<Self> {
        let variant: Self = read_value(table)?;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        for (field, text) in [("axis", &variant.axis), ("value", &variant.value), ("usual", &variant.usual)] {
            let is_name = !text.is_empty() && text.chars().all(plain);
            ensure!(is_name, "field {field}: {text:?} is no name; give lower-case letters, digits, - and _");
        }
        let axis = &variant.axis;
        let is_free = Along::named(axis).is_none();
        ensure!(is_free, "field axis: {axis:?} is an axis or a figure already; choose another name");
        Ok(variant)
    }

    /// The entry of this variant of a server; `server` is its entry.
    fn entry(&self, server: &Table) -> Result<Table> {
        let text = |field: &str| text(server, field);
        let name = text("name");
        let label = if text("label").is_empty() { name } else { text("label") };
        let mut entry = self.fields.clone();
        for field in ["name", "title", "label", "like"] {
            ensure!(!entry.contains_key(field), "field {field}: a variant has the server's; leave it out");
        }
        let own = [
            ("name", format!("{name}-{}", self.value)),
            ("like", name.to_owned()),
            ("title", format!("{}, {}", text("title"), self.words)),
            ("label", format!("{label}, {}", self.words)),
        ];
        entry.extend(own.map(|(field, text)| (field.to_owned(), Value::String(text))));
        cargo::separate(&mut entry, server);
        Ok(entry)
    }
}

/// The text of a field; an empty one where it has none.
pub(super) fn text<'a>(entry: &'a Table, field: &str) -> &'a str {
    entry.get(field).and_then(Value::as_str).unwrap_or_default()
}

impl Variants {
    /// Takes a variant in: the entries that it gives, of servers and of their variants on other axes. `whole` are the
    /// entries so far.
    ///
    /// # Errors
    /// One line with the field.
    pub(super) fn add(&mut self, variant: &Variant, whole: &[Table]) -> Result<Vec<Table>> {
        let Variant { axis, usual, value, of, .. } = variant;
        for name in of {
            let is_known = whole.iter().any(|entry| text(entry, "name") == name);
            ensure!(is_known, "field of: no server {name:?} stands before it");
        }
        let known =
            self.axes.entry(axis.clone()).or_insert(Axis { usual: usual.clone(), values: Vec::new() });
        ensure!(known.usual == *usual, "field usual: the axis {axis} has {:?} elsewhere", known.usual);
        if !known.values.contains(value) {
            known.values.push(value.clone());
        }
        let mut given = Vec::new();
        for server in whole {
            let name = text(server, "name");
            let plain = || Choice { of: name.to_owned(), values: BTreeMap::new() };
            let mut choice = self.choice(name).cloned().unwrap_or_else(plain);
            if !of.contains(&choice.of) || choice.values.contains_key(axis) {
                continue;
            }
            choice.values.insert(axis.clone(), value.clone());
            let entry = variant.entry(server)?;
            self.entries.push((text(&entry, "name").to_owned(), choice));
            given.push(entry);
        }
        Ok(given)
    }

    fn choice(&self, entry: &str) -> Option<&Choice> {
        self.entries.iter().find(|(name, _)| name == entry).map(|(_, choice)| choice)
    }

    /// Whether the entry is a variant of another one.
    pub(super) fn has_entry(&self, name: &str) -> bool {
        self.choice(name).is_some()
    }

    /// Whether there is such an axis.
    pub(super) fn has(&self, axis: &str) -> bool {
        self.axes.contains_key(axis)
    }

    /// The axes' names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.axes.keys().map(String::as_str)
    }

    /// The entry of a choice: the server's own where each value is the usual one.
    ///
    /// # Errors
    /// The server has no such variant.
    pub(super) fn entry(&self, choice: &Choice) -> Result<String> {
        let Choice { of, values } = choice;
        for (axis, value) in values {
            let Some(Axis { usual, values }) = self.axes.get(axis) else { continue };
            let has_axis = |choice: &Choice| choice.of == *of && choice.values.contains_key(axis);
            ensure!(
                self.entries.iter().any(|(_, choice)| has_axis(choice)),
                "field axes.{axis}: server {of:?} has no variant on this axis; give it a [[variant]] in servers.toml"
            );
            if value != usual && !values.contains(value) {
                bail!("field axes.{axis}: there is no {value:?}; there are {usual}, {}", values.join(", "));
            }
        }
        let mut changed = choice.clone();
        changed.values.retain(|axis, value| self.axes.get(axis).is_none_or(|of| of.usual != *value));
        if changed.values.is_empty() {
            return Ok(of.clone());
        }
        let found = self.entries.iter().find(|(_, choice)| *choice == changed);
        let found = found.with_context(|| {
            let words = changed.values.iter().map(|(axis, value)| format!("{axis} = {value:?}"));
            let words = words.collect::<Vec<_>>().join(", ");
            format!("table [axes]: server {of:?} has no variant {words}")
        })?;
        Ok(found.0.clone())
    }
}
