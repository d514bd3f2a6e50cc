//! Pages that quote runs: README.md and docs/*.md. What they quote is worked out again from the runs, so that a page
//! can be renewed, or checked, as a whole.
//!
//! A page names its runs once, by Markdown's own link definitions, which render to nothing: `[quick]:
//! results/2026-…-quick/report.md`. To quote a newer run is to edit that line. Figures stand in blocks ([`blocks`]) or
//! in a sentence ([`inline`]); what stands outside of both may hold no figure ([`prose`]).

mod blocks;
mod inline;
mod older;
mod pointer;
mod prose;
mod reflow;
mod sources;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

pub use prose::{Unbound, unbound};
pub use sources::Sources;

use super::pooled;

/// What an alias of a page stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quoted {
    /// A run, by the name of its folder.
    Run(String),
    /// All kept runs, pooled.
    Pooled,
}

/// A page's aliases, and the way from it to the folder of runs.
#[derive(Debug)]
pub struct Aliases {
    by_name: BTreeMap<String, Quoted>,
    /// `results/` or `../results/`.
    to_results: &'static str,
}

impl Aliases {
    /// The aliases that a page defines.
    ///
    /// # Errors
    /// An alias is defined twice.
    pub fn of(text: &str) -> Result<Self> {
        let mut aliases = Self { by_name: BTreeMap::new(), to_results: "results/" };
        let mut in_code = false;
        for (number, line) in text.lines().enumerate() {
            in_code ^= line.starts_with("```");
            if in_code {
                continue;
            }
            let Some((name, target)) = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")) else {
                continue;
            };
            let (to_results, path) =
                match (target.strip_prefix("results/"), target.strip_prefix("../results/")) {
                    (Some(path), _) => ("results/", path),
                    (_, Some(path)) => ("../results/", path),
                    _ => continue,
                };
            let quoted = match path.strip_suffix("/report.md") {
                Some(run) => Quoted::Run(run.to_owned()),
                None if path == pooled::PAGE => Quoted::Pooled,
                None => continue,
            };
            aliases.to_results = to_results;
            let earlier = aliases.by_name.insert(name.to_owned(), quoted);
            ensure!(earlier.is_none(), "line {}: [{name}] is defined twice", number + 1);
        }
        Ok(aliases)
    }

    /// What an alias stands for.
    ///
    /// # Errors
    /// The page does not define it.
    pub fn get(&self, name: &str) -> Result<&Quoted> {
        self.by_name.get(name).with_context(|| {
            let known: Vec<&str> = self.by_name.keys().map(String::as_str).collect();
            format!("[{name}] is not defined; the page defines: {}", known.join(", "))
        })
    }

    /// The run that an alias stands for.
    ///
    /// # Errors
    /// The page does not define it, or it is no run.
    pub fn run(&self, name: &str) -> Result<&str> {
        match self.get(name)? {
            Quoted::Run(run) => Ok(run),
            Quoted::Pooled => bail!("[{name}] is no run but all of them"),
        }
    }
}

/// A place where a page does not say what its runs say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The line, from 1.
    pub line: usize,
    /// What is printed.
    pub printed: String,
    /// What the runs give.
    pub recomputed: String,
}

/// A page with all that it quotes renewed.
#[derive(Debug, PartialEq, Eq)]
pub struct Spliced {
    /// The whole text.
    pub text: String,
    /// What was not as the runs have it.
    pub differences: Vec<Difference>,
}

/// Works out again all that a page quotes.
///
/// # Errors
/// One line with the page's line number: an alias, a marker or a pointer is wrong, or a run can't be read.
pub fn splice(text: &str, sources: &Sources) -> Result<Spliced> {
    let aliases = Aliases::of(text)?;
    let marked = older::with_block(text, &aliases, sources)?;
    let blocks = blocks::splice(&marked.text, &aliases, sources)?;
    let reflowed = reflow::reflow(&blocks.text)?;
    let inline = inline::splice(&reflowed.text, &aliases, sources)?;
    // Blocks may have grown or shrunk, so an inline figure's line is that of the new text.
    let differences =
        [marked.differences, blocks.differences, reflowed.differences, inline.differences].concat();
    Ok(Spliced { text: inline.text, differences })
}

/// The runs behind the answers of a page, which are its first screen.
///
/// # Errors
/// A marker or an alias is wrong.
pub fn answered_by(text: &str) -> Result<Vec<String>> {
    let aliases = Aliases::of(text)?;
    blocks::answers(text)?.iter().map(|alias| aliases.run(alias).map(str::to_owned)).collect()
}

/// The pages of a repository that may quote runs: README.md and docs/*.md.
///
/// # Errors
/// The folder `docs` can't be read.
pub fn paths(root: &Path) -> Result<Vec<PathBuf>> {
    let docs = root.join("docs");
    let entries = fs::read_dir(&docs).with_context(|| format!("can't read {}", docs.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    paths.push(root.join("README.md"));
    paths.sort();
    Ok(paths)
}

/// The line of a text in which a byte stands, from 1.
fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}
