//! Which runs behind a page's sentences and charts are of other servers than today's: those of its figures, and those
//! that it links to. Tables say so themselves; for the rest one block says it, `<!-- servers of this page -->`, near
//! the page's beginning or wherever the page has it.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;

use super::{Aliases, Difference, Page, Quoted, Sources, Spliced, blocks, line_of, pointer};
use crate::format::{joined, list};

const BEGIN: &str = "<!-- servers of this page -->";
const END: &str = "<!-- end of servers -->";

/// The page with such a block where it needs one and has none: behind its first aliases.
pub(super) fn with_block(page: &Page, aliases: &Aliases, sources: &Sources) -> Result<Spliced> {
    let mut spliced = Spliced { page: page.clone(), differences: Vec::new() };
    let text = &page.text;
    if text.contains(BEGIN) || content(page, aliases, sources)?.is_empty() {
        return Ok(spliced);
    }
    let is_alias = |line: &str| line.starts_with('[') && line.contains("]: ");
    let lines = || text.split_inclusive('\n');
    let first = lines().take_while(|line| !is_alias(line)).count();
    let aliases = lines().skip(first).take_while(|line| is_alias(line)).count();
    let at = lines().take(first + aliases).map(str::len).sum();
    spliced.page.text.insert_str(at, &format!("\n{BEGIN}\n{END}\n"));
    let recomputed = BEGIN.to_owned();
    spliced.differences.push(Difference { line: line_of(text, at), printed: String::new(), recomputed });
    Ok(spliced)
}

/// What the block says; nothing where all is of today's servers.
pub(super) fn content(page: &Page, aliases: &Aliases, sources: &Sources) -> Result<String> {
    let mut by_day: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let figures = page.figures.iter().map(|figure| (figure.run.clone(), figure.pointer.clone()));
    let charts = blocks::charts(&page.text)?;
    let linked = aliases.linked(&without_block(&page.text)).map(str::to_owned).collect();
    let whole = [charts, linked].concat().into_iter().map(|alias| (alias, String::new()));
    for (alias, pointer) in figures.chain(whole) {
        // An alias that the page lacks is named with its line elsewhere.
        let runs = match aliases.get(&alias) {
            Ok(Quoted::Run(run)) => vec![run.clone()],
            Ok(Quoted::Pooled) => pooled(&pointer, sources),
            Err(_) => continue,
        };
        for run in runs {
            if let Some(day) = sources.older(&run)? {
                let of_day = by_day.entry((run.get(..10).unwrap_or_default().to_owned(), day)).or_default();
                if !of_day.contains(&alias) {
                    of_day.push(alias.clone());
                }
            }
        }
    }
    if by_day.is_empty() {
        return Ok(String::new());
    }
    let links = |aliases: &[String]| list(aliases.iter().map(|alias| format!("[{alias}]")));
    let days = by_day.into_iter().map(|((_, day), aliases)| format!("{day} ({})", links(&aliases)));
    let days = joined(days, "; of ");
    Ok(format!("Sentences and charts here use runs of **servers of {days}**, not today's.\n"))
}

/// A page without this block, whose links are no use of a run.
fn without_block(text: &str) -> String {
    match text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1))) {
        Some((before, after)) => [before, after].concat(),
        None => text.to_owned(),
    }
}

/// The runs behind a figure that was pooled; none where the pointer fits nothing, which is named elsewhere.
fn pooled(pointer: &str, sources: &Sources) -> Vec<String> {
    let group = joined(pointer.split('/').take(2), "/");
    let Ok(all) = sources.json(&Quoted::Pooled, None) else { return Vec::new() };
    let Ok(group) = pointer::find(&all, &group) else { return Vec::new() };
    let list = |of: &Value, field: &str| of.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    let runs = list(group, "models").into_iter().flat_map(|model| list(&model, "runs"));
    let names = runs.filter_map(|run| run.get("run").and_then(Value::as_str).map(str::to_owned));
    names.map(|name| name.split('/').next().unwrap_or_default().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_a_use_of_a_run_and_neither_its_definition_nor_the_block_is() {
        let text = "[a]: ../results/x-a/report.md\n[b]: ../results/x-b/report.md\n[pooled]: ../results/pooled.md\n\
            <!-- servers of this page -->\n[b]\n<!-- end of servers -->\nSee [a] and [pooled].\n";
        let aliases = Aliases::of(text).unwrap();
        assert_eq!(aliases.linked(&without_block(text)).collect::<Vec<_>>(), ["a"]);
        assert_eq!(aliases.linked(text).collect::<Vec<_>>(), ["a", "b"]);
    }
}
