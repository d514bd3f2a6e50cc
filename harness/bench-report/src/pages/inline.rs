//! A figure in a sentence: `<!--= quick#/comparisons[server=actix]/cpu/ratio ratio -->0.54 [0.51, 0.56]<!--/-->`, which
//! renders to the figure alone. Before `#` stands an alias of the page, where needed with a file of the run behind it
//! (`quick/duets/summary.json#…`); then a pointer and a format ([`super::pointer`]). A figure of a cell whose trials
//! are all invalid is `invalid`.

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Aliases, Difference, Sources, Spliced, line_of, pointer};

pub(super) const BEGIN: &str = "<!--=";
const END_OF_EXPRESSION: &str = "-->";
pub(super) const END: &str = "<!--/-->";

/// The alias and the pointer of each figure in a text's sentences; of an expression that is none, nothing.
pub(super) fn quoted(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut before = "";
    for part in text.split(BEGIN) {
        // The first part stands before any figure, and code shows how one is written.
        let is_figure = part.as_ptr() != text.as_ptr() && !before.ends_with('`');
        let expression = part.split(END_OF_EXPRESSION).next().unwrap_or_default().trim();
        let (path, _) = expression.rsplit_once(' ').unwrap_or_default();
        if let Some((source, pointer)) = path.split_once('#').filter(|_| is_figure) {
            let alias = source.split('/').next().unwrap_or_default();
            found.push((alias.to_owned(), pointer.to_owned()));
        }
        before = part;
    }
    found
}

/// Works out again each figure in a text's sentences.
pub(super) fn splice(text: &str, aliases: &Aliases, sources: &Sources) -> Result<Spliced> {
    let mut out = String::with_capacity(text.len());
    let mut differences = Vec::new();
    let mut rest = text;
    while let Some((before, marked)) = rest.split_once(BEGIN) {
        let at = text.len() - marked.len();
        if before.ends_with('`') {
            // Code that shows how a figure is written.
            out.push_str(before);
            out.push_str(BEGIN);
            rest = marked;
            continue;
        }
        let line = || format!("line {}", line_of(text, at));
        let (expression, after) = marked
            .split_once(END_OF_EXPRESSION)
            .with_context(|| format!("{}: {BEGIN} has no end", line()))?;
        let (printed, after) =
            after.split_once(END).with_context(|| format!("{}: the figure lacks its {END}", line()))?;
        let recomputed = value(expression.trim(), aliases, sources).with_context(line)?;
        if printed != recomputed {
            let printed = printed.to_owned();
            differences.push(Difference { line: line_of(text, at), printed, recomputed: recomputed.clone() });
        }
        out.push_str(before);
        out.push_str(BEGIN);
        out.push_str(expression);
        out.push_str(END_OF_EXPRESSION);
        out.push_str(&recomputed);
        out.push_str(END);
        rest = after;
    }
    out.push_str(rest);
    Ok(Spliced { text: out, differences })
}

fn value(expression: &str, aliases: &Aliases, sources: &Sources) -> Result<String> {
    let shape = "a figure is ALIAS#/POINTER FORMAT";
    let (path, format) = expression.rsplit_once(' ').context(shape)?;
    let (source, pointer) = path.trim().split_once('#').context(shape)?;
    let (alias, file) = match source.split_once('/') {
        Some((alias, file)) => (alias, Some(file)),
        None => (source, None),
    };
    let json = sources.json(aliases.get(alias)?, file)?;
    if pointer.split_once("/figures/").is_some_and(|(cell, _)| is_invalid(&json, cell)) {
        return Ok("invalid".to_owned());
    }
    pointer::print(pointer::find(&json, pointer)?, format)
}

/// Whether a pointer's cell was measured and each of its trials is invalid.
fn is_invalid(json: &Value, cell: &str) -> bool {
    let cell = pointer::find(json, cell).ok();
    cell.is_some_and(|cell| cell.get("completed") == Some(&Value::from(0)) && cell.get("invalid").is_some())
}
